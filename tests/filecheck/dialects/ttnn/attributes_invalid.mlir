// RUN: invalid

// expected-error: expected one of dram, l1, system_memory, l1_small, trace, got 'sram'
func.func @f() attributes {x = #ttnn.buffer_type<sram>} {
  func.return
}

// -----

// expected-error: expected one of tile, row_major, got 'column_major'
func.func @f() attributes {x = #ttnn.layout<column_major>} {
  func.return
}

// -----

// expected-error: ttnn.device_compute_kernel_config has no field 'fidelity'; its fields are math_fidelity, math_approx_mode, fp32_dest_acc_en, packer_l1_acc, dst_full_sync_en
func.func @f() attributes {x = #ttnn.device_compute_kernel_config<fidelity = lofi>} {
  func.return
}

// -----

// expected-error: expected one of lofi, hifi2, hifi3, hifi4, got 'hifi5'
func.func @f() attributes {x = #ttnn.device_compute_kernel_config<math_fidelity = hifi5>} {
  func.return
}

// -----

// expected-error: Expected boolean literal
func.func @f() attributes {x = #ttnn.device_compute_kernel_config<fp32_dest_acc_en = 1>} {
  func.return
}

// -----

// expected-error: ttnn.conv2d_config has no field 'bias'
func.func @f() attributes {x = #ttnn.conv2d_config<bias = true>} {
  func.return
}

// -----

// expected-error: '<' expected
func.func @f() attributes {x = #ttnn.conv2d_config<activation = mish>} {
  func.return
}

// -----

// expected-error: Expected integer literal
func.func @f() attributes {x = #ttnn.conv2d_config<act_block_h_override = big>} {
  func.return
}

// -----

// expected-error: '>' expected
func.func @f() attributes {x = #ttnn.shape<2x>} {
  func.return
}

// -----

// expected-error: expected a map to rows and columns, got (d0, d1) -> (d1, d0)
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d1, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected a map to rows and columns, got (d0, d1) -> (d0)
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected a map to rows and columns, got (d0, d1) -> ((d0 + 1), d1)
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0 + 1, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected a map to rows and columns
func.func @f() attributes {x = #ttnn.ttnn_layout<() -> (), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: NotImplementedError: Multiplication with non-constant (semi-affine) is not supported yet
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1)[s0] -> (d0 * s0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected a grid such as 8x8, got 8x8x8
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected a memref of the shard, got tensor<2x2xbf16>
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, tensor<2x2xbf16>>} {
  func.return
}

// -----

// expected-error: expected a memref of two dimensions, got 1x2x3
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x3xbf16, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: f64 is no data type of the chip
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2xf64, #ttnn.buffer_type<dram>>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected #ttnn.buffer_type<...>, got none
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2xf32>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected #ttnn.buffer_type<...>, got 1 : i32
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2xf32, 1 : i32>, <interleaved>>} {
  func.return
}

// -----

// expected-error: expected one of interleaved, height_sharded, width_sharded, block_sharded, nd_sharded, got 'sharded'
func.func @f() attributes {x = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2xf32, #ttnn.buffer_type<l1>>, <sharded>>} {
  func.return
}

// -----

// expected-error: '>' expected
func.func @f() attributes {x = #ttnn.layout<tile} {
  func.return
}
