// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @group_norm(
// CHECK: "ttnn.group_norm"({{.*}}) <{num_groups = 8 : i64, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> :
func.func @group_norm(%0: tensor<1x1x64x32xbf16, #ttnn_layout>, %1: tensor<32xbf16, #ttnn_layout1>, %2: tensor<32xbf16, #ttnn_layout1>) -> tensor<1x1x64x32xbf16, #ttnn_layout> {
  %3 = "ttnn.group_norm"(%0, %1, %2) <{num_groups = 8 : i64, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (tensor<1x1x64x32xbf16, #ttnn_layout>, tensor<32xbf16, #ttnn_layout1>, tensor<32xbf16, #ttnn_layout1>) -> tensor<1x1x64x32xbf16, #ttnn_layout>
  func.return %3 : tensor<1x1x64x32xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @distributed_rms_norm(
// CHECK: "ttnn.distributed_rms_norm"({{.*}}) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> :
func.func @distributed_rms_norm(%0: tensor<1x1x32x64xbf16, #ttnn_layout2>, %1: tensor<64xbf16, #ttnn_layout3>, %2: tensor<1x1x32x64xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout2> {
  %4 = "ttnn.distributed_rms_norm"(%0, %1, %2, %3) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout2>, tensor<64xbf16, #ttnn_layout3>, tensor<1x1x32x64xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x32x64xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @distributed_layer_norm(
// CHECK: "ttnn.distributed_layer_norm"({{.*}}) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> :
func.func @distributed_layer_norm(%0: tensor<1x1x32x64xbf16, #ttnn_layout2>, %1: tensor<64xbf16, #ttnn_layout3>, %2: tensor<64xbf16, #ttnn_layout3>, %3: !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout2> {
  %4 = "ttnn.distributed_layer_norm"(%0, %1, %2, %3) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout2>, tensor<64xbf16, #ttnn_layout3>, tensor<64xbf16, #ttnn_layout3>, !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x32x64xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @adamw(
// CHECK: "ttnn.adamw"({{.*}}) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> :
func.func @adamw(%0: tensor<4x8xbf16, #ttnn_layout4>, %1: tensor<4x8xbf16, #ttnn_layout4>, %2: tensor<4x8xbf16, #ttnn_layout4>, %3: tensor<4x8xbf16, #ttnn_layout4>) {
  "ttnn.adamw"(%0, %1, %2, %3) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> : (tensor<4x8xbf16, #ttnn_layout4>, tensor<4x8xbf16, #ttnn_layout4>, tensor<4x8xbf16, #ttnn_layout4>, tensor<4x8xbf16, #ttnn_layout4>) -> ()
  func.return
}

// CHECK-LABEL: func.func @dropout(
// CHECK: "ttnn.dropout"({{.*}}) <{prob = 5.000000e-01 : f32, scale = 2.000000e+00 : f32, seed = 7 : ui32}> :
func.func @dropout(%0: tensor<4x8xbf16, #ttnn_layout4>) -> tensor<4x8xbf16, #ttnn_layout4> {
  %1 = "ttnn.dropout"(%0) <{prob = 5.000000e-01 : f32, scale = 2.000000e+00 : f32, seed = 7 : ui32}> : (tensor<4x8xbf16, #ttnn_layout4>) -> tensor<4x8xbf16, #ttnn_layout4>
  func.return %1 : tensor<4x8xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @quantize(
// CHECK: "ttnn.quantize"({{.*}}) <{axis = 1 : i32, output_dtype = #ttcore.supportedDataTypes<si32>}> :
func.func @quantize(%0: tensor<4x8xbf16, #ttnn_layout4>, %1: tensor<8xbf16, #ttnn_layout1>, %2: tensor<8xsi32, #ttnn_layout5>) -> tensor<4x8xsi32, #ttnn_layout6> {
  %3 = "ttnn.quantize"(%0, %1, %2) <{axis = 1 : i32, output_dtype = #ttcore.supportedDataTypes<si32>}> : (tensor<4x8xbf16, #ttnn_layout4>, tensor<8xbf16, #ttnn_layout1>, tensor<8xsi32, #ttnn_layout5>) -> tensor<4x8xsi32, #ttnn_layout6>
  func.return %3 : tensor<4x8xsi32, #ttnn_layout6>
}

// CHECK-LABEL: func.func @dequantize(
// CHECK: "ttnn.dequantize"({{.*}}) :
func.func @dequantize(%0: tensor<4x8xsi32, #ttnn_layout6>, %1: tensor<1xbf16, #ttnn_layout1>, %2: tensor<1xsi32, #ttnn_layout5>) -> tensor<4x8xbf16, #ttnn_layout4> {
  %3 = "ttnn.dequantize"(%0, %1, %2) : (tensor<4x8xsi32, #ttnn_layout6>, tensor<1xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout5>) -> tensor<4x8xbf16, #ttnn_layout4>
  func.return %3 : tensor<4x8xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @requantize(
// CHECK: "ttnn.requantize"({{.*}}) :
func.func @requantize(%0: tensor<4x8xsi32, #ttnn_layout6>, %1: tensor<1xbf16, #ttnn_layout1>, %2: tensor<1xsi32, #ttnn_layout5>, %3: tensor<1xbf16, #ttnn_layout1>, %4: tensor<1xsi32, #ttnn_layout5>) -> tensor<4x8xsi32, #ttnn_layout6> {
  %5 = "ttnn.requantize"(%0, %1, %2, %3, %4) : (tensor<4x8xsi32, #ttnn_layout6>, tensor<1xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout5>, tensor<1xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout5>) -> tensor<4x8xsi32, #ttnn_layout6>
  func.return %5 : tensor<4x8xsi32, #ttnn_layout6>
}

// CHECK-LABEL: func.func @batch_norm_inference(
// CHECK: "ttnn.batch_norm_inference"({{.*}}) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> :
func.func @batch_norm_inference(%0: tensor<2x3x4x8xbf16, #ttnn_layout7>, %1: tensor<1x3x1x1xbf16, #ttnn_layout8>, %2: tensor<1x3x1x1xbf16, #ttnn_layout8>) -> tensor<2x3x4x8xbf16, #ttnn_layout7> {
  %3 = "ttnn.batch_norm_inference"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x3x4x8xbf16, #ttnn_layout7>, tensor<1x3x1x1xbf16, #ttnn_layout8>, tensor<1x3x1x1xbf16, #ttnn_layout8>) -> tensor<2x3x4x8xbf16, #ttnn_layout7>
  func.return %3 : tensor<2x3x4x8xbf16, #ttnn_layout7>
}

// CHECK-LABEL: func.func @batch_norm_training(
// CHECK: "ttnn.batch_norm_training"({{.*}}) <{epsilon = 1.000000e-05 : f32, momentum = 1.000000e-01 : f32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> :
func.func @batch_norm_training(%0: tensor<2x3x4x8xbf16, #ttnn_layout7>) -> tensor<2x3x4x8xbf16, #ttnn_layout7> {
  %1 = "ttnn.batch_norm_training"(%0) <{epsilon = 1.000000e-05 : f32, momentum = 1.000000e-01 : f32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<2x3x4x8xbf16, #ttnn_layout7>) -> tensor<2x3x4x8xbf16, #ttnn_layout7>
  func.return %1 : tensor<2x3x4x8xbf16, #ttnn_layout7>
}

// CHECK-LABEL: func.func @dit_rms_norm_unary_fused(
// CHECK: "ttnn.dit_rms_norm_unary_fused"({{.*}}) <{epsilon = 1.000000e-05 : f32, activation = "silu", memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> :
func.func @dit_rms_norm_unary_fused(%0: tensor<4x64xbf16, #ttnn_layout9>, %1: tensor<64xbf16, #ttnn_layout3>) -> tensor<4x64xbf16, #ttnn_layout9> {
  %2 = "ttnn.dit_rms_norm_unary_fused"(%0, %1) <{epsilon = 1.000000e-05 : f32, activation = "silu", memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<4x64xbf16, #ttnn_layout9>, tensor<64xbf16, #ttnn_layout3>) -> tensor<4x64xbf16, #ttnn_layout9>
  func.return %2 : tensor<4x64xbf16, #ttnn_layout9>
}

// CHECK-LABEL: func.func @rms_norm_pre_all_gather(
// CHECK: "ttnn.rms_norm_pre_all_gather"({{.*}}) <{use_2d_core_grid = false, program_config = #ttnn.layernorm_sharded_multicore_program_config<compute_with_storage_grid_size = <8, 1>, subblock_w = 1, block_h = 1, block_w = 2, inplace = false>}> :
func.func @rms_norm_pre_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout2>) -> tensor<1x1x32x32xbf16, #ttnn_layout10> {
  %1 = "ttnn.rms_norm_pre_all_gather"(%0) <{use_2d_core_grid = false, program_config = #ttnn.layernorm_sharded_multicore_program_config<compute_with_storage_grid_size = <8, 1>, subblock_w = 1, block_h = 1, block_w = 2, inplace = false>}> : (tensor<1x1x32x64xbf16, #ttnn_layout2>) -> tensor<1x1x32x32xbf16, #ttnn_layout10>
  func.return %1 : tensor<1x1x32x32xbf16, #ttnn_layout10>
}

// CHECK-LABEL: func.func @layer_norm_pre_all_gather(
// CHECK: "ttnn.layer_norm_pre_all_gather"({{.*}}) <{operandSegmentSizes = array<i32: 1, 0, 0>}> :
func.func @layer_norm_pre_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout2>) -> tensor<1x1x32x64xbf16, #ttnn_layout2> {
  %1 = "ttnn.layer_norm_pre_all_gather"(%0) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout2>) -> tensor<1x1x32x64xbf16, #ttnn_layout2>
  func.return %1 : tensor<1x1x32x64xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @layer_norm_post_all_gather(
// CHECK: "ttnn.layer_norm_post_all_gather"({{.*}}) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> :
func.func @layer_norm_post_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout2>, %1: tensor<1x1x32x64xbf16, #ttnn_layout2>, %2: tensor<64xbf16, #ttnn_layout3>) -> tensor<1x1x32x64xbf16, #ttnn_layout2> {
  %3 = "ttnn.layer_norm_post_all_gather"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout2>, tensor<1x1x32x64xbf16, #ttnn_layout2>, tensor<64xbf16, #ttnn_layout3>) -> tensor<1x1x32x64xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x32x64xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @rms_norm_post_all_gather(
// CHECK: "ttnn.rms_norm_post_all_gather"({{.*}}) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> :
func.func @rms_norm_post_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout2>, %1: tensor<1x1x32x64xbf16, #ttnn_layout2>, %2: tensor<64xbf16, #ttnn_layout3>) -> tensor<1x1x32x64xbf16, #ttnn_layout2> {
  %3 = "ttnn.rms_norm_post_all_gather"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout2>, tensor<1x1x32x64xbf16, #ttnn_layout2>, tensor<64xbf16, #ttnn_layout3>) -> tensor<1x1x32x64xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x32x64xbf16, #ttnn_layout2>
}
