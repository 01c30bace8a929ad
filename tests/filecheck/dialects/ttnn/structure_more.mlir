// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @matmul(
// CHECK: "ttnn.matmul"({{.*}}) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>, in0_block_w = 1, out_subblock_h = 1, out_subblock_w = 1, per_core_m = 1, per_core_n = 1>}> :
func.func @matmul(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>, in0_block_w = 1, out_subblock_h = 1, out_subblock_w = 1, per_core_m = 1, per_core_n = 1>}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2>
  func.return %2 : tensor<32x32xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @matmul_2(
// CHECK: "ttnn.matmul"({{.*}}) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>, in0_block_w = 1, out_subblock_h = 1, out_subblock_w = 1, out_block_h = 1, out_block_w = 1, per_core_m = 1, per_core_n = 1, transpose_mcast = false, fused_activation = #ttnn.unary_with_param<op_type = relu>, fuse_batch = true>}> :
func.func @matmul_2(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>, in0_block_w = 1, out_subblock_h = 1, out_subblock_w = 1, out_block_h = 1, out_block_w = 1, per_core_m = 1, per_core_n = 1, transpose_mcast = false, fused_activation = #ttnn.unary_with_param<op_type = relu>, fuse_batch = true>}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2>
  func.return %2 : tensor<32x32xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @matmul_3(
// CHECK: "ttnn.matmul"({{.*}}) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_1d_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>, in0_block_w = 1, out_subblock_h = 1, out_subblock_w = 1, out_block_h = 1, out_block_w = 1, per_core_m = 1, per_core_n = 1, fuse_batch = false, mcast_in0 = true, gather_in0 = false, hop_cores = #ttnn.core_range_set<>, num_global_cb_receivers = 0, untilize_out = false>}> :
func.func @matmul_3(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_1d_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>, in0_block_w = 1, out_subblock_h = 1, out_subblock_w = 1, out_block_h = 1, out_block_w = 1, per_core_m = 1, per_core_n = 1, fuse_batch = false, mcast_in0 = true, gather_in0 = false, hop_cores = #ttnn.core_range_set<>, num_global_cb_receivers = 0, untilize_out = false>}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2>
  func.return %2 : tensor<32x32xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @matmul_4(
// CHECK: "ttnn.matmul"({{.*}}) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_dram_sharded_program_config<in0_block_w = 1, per_core_m = 1, per_core_n = 1>}> :
func.func @matmul_4(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_dram_sharded_program_config<in0_block_w = 1, per_core_m = 1, per_core_n = 1>}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2>
  func.return %2 : tensor<32x32xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: "ttnn.transpose"({{.*}}) <{dim0 = 0 : si32, dim1 = -1 : si32}> :
func.func @transpose(%0: tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<4x3x2xbf16, #ttnn_layout4> {
  %1 = "ttnn.transpose"(%0) <{dim0 = 0 : si32, dim1 = -1 : si32}> : (tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<4x3x2xbf16, #ttnn_layout4>
  func.return %1 : tensor<4x3x2xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @repeat_interleave(
// CHECK: "ttnn.repeat_interleave"({{.*}}) <{repeats = 2 : ui32, dim = 0 : si32}> :
func.func @repeat_interleave(%0: tensor<2x3xbf16, #ttnn_layout2>) -> tensor<4x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.repeat_interleave"(%0) <{repeats = 2 : ui32, dim = 0 : si32}> : (tensor<2x3xbf16, #ttnn_layout2>) -> tensor<4x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<4x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @slice_dynamic(
// CHECK: "ttnn.slice_dynamic"({{.*}}) :
func.func @slice_dynamic(%0: tensor<4x8xbf16, #ttnn_layout2>, %1: tensor<2xsi32, #ttnn_layout5>, %2: tensor<2xsi32, #ttnn_layout5>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %3 = "ttnn.slice_dynamic"(%0, %1, %2) : (tensor<4x8xbf16, #ttnn_layout2>, tensor<2xsi32, #ttnn_layout5>, tensor<2xsi32, #ttnn_layout5>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @pow_scalar(
// CHECK: "ttnn.pow_scalar"({{.*}}) <{rhs = 2.000000e+00 : f32}> :
func.func @pow_scalar(%0: tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.pow_scalar"(%0) <{rhs = 2.000000e+00 : f32}> : (tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @gelu_bw(
// CHECK: "ttnn.gelu_bw"({{.*}}) <{approximate = "none"}> :
func.func @gelu_bw(%0: tensor<4x8xbf16, #ttnn_layout2>, %1: tensor<4x8xbf16, #ttnn_layout2>) -> tensor<4x8xbf16, #ttnn_layout2> {
  %2 = "ttnn.gelu_bw"(%0, %1) <{approximate = "none"}> : (tensor<4x8xbf16, #ttnn_layout2>, tensor<4x8xbf16, #ttnn_layout2>) -> tensor<4x8xbf16, #ttnn_layout2>
  func.return %2 : tensor<4x8xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @cumprod(
// CHECK: "ttnn.cumprod"({{.*}}) <{dim = 1 : si32}> :
func.func @cumprod(%0: tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.cumprod"(%0) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @prod(
// CHECK: "ttnn.prod"({{.*}}) <{dim_arg = 1 : si64, keep_dim = true}> :
func.func @prod(%0: tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<2x1x4xbf16, #ttnn_layout3> {
  %1 = "ttnn.prod"(%0) <{dim_arg = 1 : si64, keep_dim = true}> : (tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<2x1x4xbf16, #ttnn_layout3>
  func.return %1 : tensor<2x1x4xbf16, #ttnn_layout3>
}

// CHECK-LABEL: func.func @bitcast_convert(
// CHECK: "ttnn.bitcast_convert"({{.*}}) :
func.func @bitcast_convert(%0: tensor<2x3xf32, #ttnn_layout6>) -> tensor<2x3xsi32, #ttnn_layout7> {
  %1 = "ttnn.bitcast_convert"(%0) : (tensor<2x3xf32, #ttnn_layout6>) -> tensor<2x3xsi32, #ttnn_layout7>
  func.return %1 : tensor<2x3xsi32, #ttnn_layout7>
}

// CHECK-LABEL: func.func @zeros(
// CHECK: "ttnn.zeros"({{.*}}) <{shape = #ttnn.shape<2x3>}> :
func.func @zeros(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.zeros"(%0) <{shape = #ttnn.shape<2x3>}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @ones(
// CHECK: "ttnn.ones"({{.*}}) <{shape = #ttnn.shape<2x3>}> :
func.func @ones(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.ones"(%0) <{shape = #ttnn.shape<2x3>}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @empty(
// CHECK: "ttnn.empty"({{.*}}) <{shape = #ttnn.shape<2x3>}> :
func.func @empty(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.empty"(%0) <{shape = #ttnn.shape<2x3>}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @rand(
// CHECK: "ttnn.rand"({{.*}}) <{size = #ttnn.shape<2x3>, seed = 7 : ui32}> :
func.func @rand(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.rand"(%0) <{size = #ttnn.shape<2x3>, seed = 7 : ui32}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @to_tensor_spec(
// CHECK: "ttnn.to_tensor_spec"({{.*}}) :
func.func @to_tensor_spec(%0: tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.to_tensor_spec"(%0) : (tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @assign(
// CHECK: "ttnn.assign"({{.*}}) :
func.func @assign(%0: tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.assign"(%0) : (tensor<2x3xbf16, #ttnn_layout2>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @dump_tensor(
// CHECK: "ttnn.dump_tensor"({{.*}}) <{file_path = "x.tensorbin"}> :
func.func @dump_tensor(%0: tensor<2x3xbf16, #ttnn_layout2>) {
  "ttnn.dump_tensor"(%0) <{file_path = "x.tensorbin"}> : (tensor<2x3xbf16, #ttnn_layout2>) -> ()
  func.return
}

// CHECK-LABEL: func.func @load_tensor(
// CHECK: "ttnn.load_tensor"({{.*}}) <{file_path = "x.tensorbin"}> :
func.func @load_tensor(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.load_tensor"(%0) <{file_path = "x.tensorbin"}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @multiply(
// CHECK: "ttnn.multiply"({{.*}}) <{activations = [#ttnn.unary_with_param<op_type = leaky_relu, params = [1.000000e-02 : f32]>], input_tensor_a_activations = [#ttnn.unary_with_param<op_type = exp>], input_tensor_b_activations = []}> :
func.func @multiply(%0: tensor<2x3xbf16, #ttnn_layout2>, %1: tensor<3xbf16, #ttnn_layout8>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %2 = "ttnn.multiply"(%0, %1) <{activations = [#ttnn.unary_with_param<op_type = leaky_relu, params = [1.000000e-02 : f32]>], input_tensor_a_activations = [#ttnn.unary_with_param<op_type = exp>], input_tensor_b_activations = []}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3xbf16, #ttnn_layout8>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %2 : tensor<2x3xbf16, #ttnn_layout2>
}

#images = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 16 + d1 * 8 + d2, d3), <1x1>, memref<16x1024xbf16, #dram>, <interleaved>>
#sticks = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 2048 + d1 * 2048 + d2, d3), <1x1>, memref<2048x8xbf16, #dram>, <interleaved>>

// CHECK-LABEL: func.func @convert_to_hwc(
// CHECK: "ttnn.convert_to_hwc"({{.*}}) :
func.func @convert_to_hwc(%0: tensor<1x2x8x1024xbf16, #images>) -> tensor<1x1x2048x8xbf16, #sticks> {
  %1 = "ttnn.convert_to_hwc"(%0) : (tensor<1x2x8x1024xbf16, #images>) -> tensor<1x1x2048x8xbf16, #sticks>
  func.return %1 : tensor<1x1x2048x8xbf16, #sticks>
}
