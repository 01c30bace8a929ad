// RUN: roundtrip

// Each data type, in tiles.
// CHECK: #l1 = #ttnn.buffer_type<l1>
// CHECK: #dram = #ttnn.buffer_type<dram>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, bfp_bf4>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, u8>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#dram = #ttnn.buffer_type<dram>
#l1 = #ttnn.buffer_type<l1>
#host = #ttnn.buffer_type<system_memory>
#bf16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#f32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#bfp8 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#bfp4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bfp_bf4>, #dram>, <interleaved>>
#u32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#u16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#u8 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, u8>, #dram>, <interleaved>>
#si32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
// Places and forms.
// CHECK-DAG: (d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #dram>, <interleaved>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #system_memory>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <8x8>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <4x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <1x2>, memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <2x2>, memref<2x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>>
// CHECK-DAG: (d0, d1, d2, d3) -> (d0 * 832 + d1 * 32 + d2, d3), <1x1>, memref<1664x1x!ttcore.tile<32x32, bf16>
// CHECK-DAG: (d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#row = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #dram>, <interleaved>>
#hostrow = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #host>>
#l1all = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
#height = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <4x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>>
#width = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x2>, memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>>
#block = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x2>, memref<2x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>>
#deep = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 832 + d1 * 32 + d2, d3), <1x1>, memref<1664x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#flat = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @data_types(
func.func @data_types(%0: tensor<3x40xbf16, #bf16>) -> tensor<3x40xf32, #f32> {
  // CHECK: "ttnn.typecast"(%{{.*}}) : (tensor<3x40xbf16, #ttnn_layout{{[0-9]*}}>) -> tensor<3x40xf32, #ttnn_layout
  %1 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xf32, #f32>
  // CHECK-NEXT: -> tensor<3x40xbf16, #ttnn_layout
  %2 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #bfp8>
  // CHECK-NEXT: -> tensor<3x40xbf16, #ttnn_layout
  %3 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #bfp4>
  // CHECK-NEXT: -> tensor<3x40xui32, #ttnn_layout
  %4 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xui32, #u32>
  // CHECK-NEXT: -> tensor<3x40xui16, #ttnn_layout
  %5 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xui16, #u16>
  // CHECK-NEXT: -> tensor<3x40xui8, #ttnn_layout
  %6 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xui8, #u8>
  // CHECK-NEXT: -> tensor<3x40xsi32, #ttnn_layout
  %7 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xsi32, #si32>
  func.return %1 : tensor<3x40xf32, #f32>
}

// CHECK-LABEL: func.func @places(
func.func @places(%0: tensor<3x40xbf16, #bf16>, %1: tensor<128x64xbf16, #height>, %2: tensor<40xbf16, #flat>) -> tensor<64x26x26x32xbf16, #deep> {
  %3 = "ttnn.to_layout"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #row>
  %4 = "ttnn.from_device"(%3) : (tensor<3x40xbf16, #row>) -> tensor<3x40xbf16, #hostrow>
  %5 = "ttnn.to_memory_config"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #l1all>
  %6 = "ttnn.to_memory_config"(%1) : (tensor<128x64xbf16, #height>) -> tensor<128x64xbf16, #width>
  %7 = "ttnn.to_memory_config"(%6) : (tensor<128x64xbf16, #width>) -> tensor<128x64xbf16, #block>
  %8 = "ttnn.get_device"() : () -> !ttnn.device
  // CHECK: "ttnn.full"(%{{.*}}) <{shape = #ttnn.shape<64x26x26x32>, fill_value = 5.000000e-01 : f32}> : (!ttnn.device) ->
  %9 = "ttnn.full"(%8) <{shape = #ttnn.shape<64x26x26x32>, fill_value = 0.5 : f32}> : (!ttnn.device) -> tensor<64x26x26x32xbf16, #deep>
  func.return %9 : tensor<64x26x26x32xbf16, #deep>
}

// CHECK-LABEL: func.func @others(
// CHECK-SAME: bits = [#ttnn.device_compute_kernel_config<>, #ttnn.device_compute_kernel_config<math_fidelity = lofi, math_approx_mode = true, fp32_dest_acc_en = false, packer_l1_acc = true>, #ttnn.device_compute_kernel_config<math_fidelity = hifi3>]
// CHECK-SAME: conv = [#ttnn.conv2d_config<>, #ttnn.conv2d_config<weights_dtype = bfp_bf8, activation = relu6, deallocate_activation = true, reallocate_halo_output = false, act_block_h_override = 64, enable_kernel_stride_folding = false, config_tensors_in_dram = true>]
// CHECK-SAME: layouts = [#ttnn.layout<tile>, #ttnn.layout<row_major>]
// CHECK-SAME: shapes = [#ttnn.shape<>, #ttnn.shape<7>, #ttnn.shape<1x32x1x4>]
func.func @others() attributes {
  bits = [#ttnn.device_compute_kernel_config<>, #ttnn.device_compute_kernel_config<fp32_dest_acc_en = false, math_fidelity = lofi, packer_l1_acc = true, math_approx_mode = true>, #ttnn.device_compute_kernel_config<math_fidelity = hifi3>],
  conv = [#ttnn.conv2d_config<>, #ttnn.conv2d_config<activation = relu6, weights_dtype = bfp_bf8, deallocate_activation = true, reallocate_halo_output = false, act_block_h_override = 64, enable_kernel_stride_folding = false, config_tensors_in_dram = true>],
  layouts = [#ttnn.layout<tile>, #ttnn.layout<row_major>],
  shapes = [#ttnn.shape<>, #ttnn.shape<7>, #ttnn.shape<1x32x1x4>]
} {
  func.return
}
