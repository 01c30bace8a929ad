// RUN: invalid

// expected-error: has shape (1, 1, 64, 33), expected (1, 1, 64, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @group_norm(%0: tensor<1x1x64x32xbf16, #ttnn_layout>, %1: tensor<32xbf16, #ttnn_layout1>, %2: tensor<32xbf16, #ttnn_layout1>) -> tensor<1x1x64x33xbf16, #ttnn_layout2> {
  %3 = "ttnn.group_norm"(%0, %1, %2) <{num_groups = 8 : i64, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (tensor<1x1x64x32xbf16, #ttnn_layout>, tensor<32xbf16, #ttnn_layout1>, tensor<32xbf16, #ttnn_layout1>) -> tensor<1x1x64x33xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x64x33xbf16, #ttnn_layout2>
}

// -----

// expected-error: 32 channels do not split into 7 groups
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @group_norm(%0: tensor<1x1x64x32xbf16, #ttnn_layout>, %1: tensor<32xbf16, #ttnn_layout1>, %2: tensor<32xbf16, #ttnn_layout1>) -> tensor<1x1x64x32xbf16, #ttnn_layout> {
  %3 = "ttnn.group_norm"(%0, %1, %2) <{num_groups = 7 : i64, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (tensor<1x1x64x32xbf16, #ttnn_layout>, tensor<32xbf16, #ttnn_layout1>, tensor<32xbf16, #ttnn_layout1>) -> tensor<1x1x64x32xbf16, #ttnn_layout>
  func.return %3 : tensor<1x1x64x32xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 1, 32, 65), expected (1, 1, 32, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @distributed_rms_norm(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<64xbf16, #ttnn_layout1>, %2: tensor<1x1x32x64xbf16, #ttnn_layout>, %3: !ttnn.device) -> tensor<1x1x32x65xbf16, #ttnn_layout2> {
  %4 = "ttnn.distributed_rms_norm"(%0, %1, %2, %3) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>, tensor<1x1x32x64xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x32x65xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x32x65xbf16, #ttnn_layout2>
}

// -----

// expected-error: residual has shape (1, 1, 32, 32), expected (1, 1, 32, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @distributed_rms_norm(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<64xbf16, #ttnn_layout1>, %2: tensor<1x1x32x32xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout> {
  %4 = "ttnn.distributed_rms_norm"(%0, %1, %2, %3) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>, tensor<1x1x32x32xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout>
  func.return %4 : tensor<1x1x32x64xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 1, 32, 65), expected (1, 1, 32, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @distributed_layer_norm(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<64xbf16, #ttnn_layout1>, %2: tensor<64xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x32x65xbf16, #ttnn_layout2> {
  %4 = "ttnn.distributed_layer_norm"(%0, %1, %2, %3) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>, tensor<64xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x32x65xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x32x65xbf16, #ttnn_layout2>
}

// -----

// expected-error: grad has shape (4, 7), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @adamw(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<4x7xbf16, #ttnn_layout>, %2: tensor<4x8xbf16, #ttnn_layout>, %3: tensor<4x8xbf16, #ttnn_layout>) {
  "ttnn.adamw"(%0, %1, %2, %3) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<4x7xbf16, #ttnn_layout>, tensor<4x8xbf16, #ttnn_layout>, tensor<4x8xbf16, #ttnn_layout>) -> ()
  func.return
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @dropout(%0: tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x9xbf16, #ttnn_layout> {
  %1 = "ttnn.dropout"(%0) <{prob = 5.000000e-01 : f32, scale = 2.000000e+00 : f32, seed = 7 : ui32}> : (tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x9xbf16, #ttnn_layout>
  func.return %1 : tensor<4x9xbf16, #ttnn_layout>
}

// -----

// expected-error: prob is 1.5, expected 0 to 1
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @dropout(%0: tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout> {
  %1 = "ttnn.dropout"(%0) <{prob = 1.500000e+00 : f32}> : (tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout>
  func.return %1 : tensor<4x8xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @quantize(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<8xbf16, #ttnn_layout1>, %2: tensor<8xsi32, #ttnn_layout2>) -> tensor<4x9xsi32, #ttnn_layout3> {
  %3 = "ttnn.quantize"(%0, %1, %2) <{axis = 1 : i32, output_dtype = #ttcore.supportedDataTypes<si32>}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<8xbf16, #ttnn_layout1>, tensor<8xsi32, #ttnn_layout2>) -> tensor<4x9xsi32, #ttnn_layout3>
  func.return %3 : tensor<4x9xsi32, #ttnn_layout3>
}

// -----

// expected-error: scale has shape (7,), expected 8 elements
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @quantize(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<7xbf16, #ttnn_layout1>, %2: tensor<8xsi32, #ttnn_layout2>) -> tensor<4x8xsi32, #ttnn_layout3> {
  %3 = "ttnn.quantize"(%0, %1, %2) <{axis = 1 : i32, output_dtype = #ttcore.supportedDataTypes<si32>}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<7xbf16, #ttnn_layout1>, tensor<8xsi32, #ttnn_layout2>) -> tensor<4x8xsi32, #ttnn_layout3>
  func.return %3 : tensor<4x8xsi32, #ttnn_layout3>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @dequantize(%0: tensor<4x8xsi32, #ttnn_layout>, %1: tensor<1xbf16, #ttnn_layout1>, %2: tensor<1xsi32, #ttnn_layout2>) -> tensor<4x9xbf16, #ttnn_layout3> {
  %3 = "ttnn.dequantize"(%0, %1, %2) : (tensor<4x8xsi32, #ttnn_layout>, tensor<1xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout2>) -> tensor<4x9xbf16, #ttnn_layout3>
  func.return %3 : tensor<4x9xbf16, #ttnn_layout3>
}

// -----

// expected-error: zero_point has shape (2,), expected 1 elements
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @dequantize(%0: tensor<4x8xsi32, #ttnn_layout>, %1: tensor<1xbf16, #ttnn_layout1>, %2: tensor<2xsi32, #ttnn_layout2>) -> tensor<4x8xbf16, #ttnn_layout3> {
  %3 = "ttnn.dequantize"(%0, %1, %2) : (tensor<4x8xsi32, #ttnn_layout>, tensor<1xbf16, #ttnn_layout1>, tensor<2xsi32, #ttnn_layout2>) -> tensor<4x8xbf16, #ttnn_layout3>
  func.return %3 : tensor<4x8xbf16, #ttnn_layout3>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @requantize(%0: tensor<4x8xsi32, #ttnn_layout>, %1: tensor<1xbf16, #ttnn_layout1>, %2: tensor<1xsi32, #ttnn_layout2>, %3: tensor<1xbf16, #ttnn_layout1>, %4: tensor<1xsi32, #ttnn_layout2>) -> tensor<4x9xsi32, #ttnn_layout> {
  %5 = "ttnn.requantize"(%0, %1, %2, %3, %4) : (tensor<4x8xsi32, #ttnn_layout>, tensor<1xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout2>, tensor<1xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout2>) -> tensor<4x9xsi32, #ttnn_layout>
  func.return %5 : tensor<4x9xsi32, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 3, 4, 9), expected (2, 3, 4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @batch_norm_inference(%0: tensor<2x3x4x8xbf16, #ttnn_layout>, %1: tensor<1x3x1x1xbf16, #ttnn_layout1>, %2: tensor<1x3x1x1xbf16, #ttnn_layout1>) -> tensor<2x3x4x9xbf16, #ttnn_layout> {
  %3 = "ttnn.batch_norm_inference"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x3x4x8xbf16, #ttnn_layout>, tensor<1x3x1x1xbf16, #ttnn_layout1>, tensor<1x3x1x1xbf16, #ttnn_layout1>) -> tensor<2x3x4x9xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4x9xbf16, #ttnn_layout>
}

// -----

// expected-error: running_mean has shape (1, 4, 1, 1), expected (1, 3, 1, 1)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @batch_norm_inference(%0: tensor<2x3x4x8xbf16, #ttnn_layout>, %1: tensor<1x4x1x1xbf16, #ttnn_layout1>, %2: tensor<1x3x1x1xbf16, #ttnn_layout2>) -> tensor<2x3x4x8xbf16, #ttnn_layout> {
  %3 = "ttnn.batch_norm_inference"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x3x4x8xbf16, #ttnn_layout>, tensor<1x4x1x1xbf16, #ttnn_layout1>, tensor<1x3x1x1xbf16, #ttnn_layout2>) -> tensor<2x3x4x8xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4x8xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 3, 4, 9), expected (2, 3, 4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @batch_norm_training(%0: tensor<2x3x4x8xbf16, #ttnn_layout>) -> tensor<2x3x4x9xbf16, #ttnn_layout> {
  %1 = "ttnn.batch_norm_training"(%0) <{epsilon = 1.000000e-05 : f32, momentum = 1.000000e-01 : f32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<2x3x4x8xbf16, #ttnn_layout>) -> tensor<2x3x4x9xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4x9xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (4, 65), expected (4, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @dit_rms_norm_unary_fused(%0: tensor<4x64xbf16, #ttnn_layout>, %1: tensor<64xbf16, #ttnn_layout1>) -> tensor<4x65xbf16, #ttnn_layout2> {
  %2 = "ttnn.dit_rms_norm_unary_fused"(%0, %1) <{epsilon = 1.000000e-05 : f32, activation = "silu", memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<4x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>) -> tensor<4x65xbf16, #ttnn_layout2>
  func.return %2 : tensor<4x65xbf16, #ttnn_layout2>
}

// -----

// expected-error: result has shape (1, 1, 31, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm_pre_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>) -> tensor<1x1x31x32xbf16, #ttnn_layout1> {
  %1 = "ttnn.rms_norm_pre_all_gather"(%0) <{use_2d_core_grid = false, program_config = #ttnn.layernorm_sharded_multicore_program_config<compute_with_storage_grid_size = <8, 1>, subblock_w = 1, block_h = 1, block_w = 2, inplace = false>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>) -> tensor<1x1x31x32xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x31x32xbf16, #ttnn_layout1>
}

// -----

// expected-error: ttnn.layernorm_sharded_multicore_program_config lacks the required field 'block_w'
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm_pre_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>) -> tensor<1x1x32x32xbf16, #ttnn_layout1> {
  %1 = "ttnn.rms_norm_pre_all_gather"(%0) <{program_config = #ttnn.layernorm_sharded_multicore_program_config<block_h = 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>) -> tensor<1x1x32x32xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x32xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (1, 1, 31, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @layer_norm_pre_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>) -> tensor<1x1x31x64xbf16, #ttnn_layout> {
  %1 = "ttnn.layer_norm_pre_all_gather"(%0) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>) -> tensor<1x1x31x64xbf16, #ttnn_layout>
  func.return %1 : tensor<1x1x31x64xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 1, 32, 65), expected (1, 1, 32, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @layer_norm_post_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<1x1x32x64xbf16, #ttnn_layout>, %2: tensor<64xbf16, #ttnn_layout1>) -> tensor<1x1x32x65xbf16, #ttnn_layout2> {
  %3 = "ttnn.layer_norm_post_all_gather"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>) -> tensor<1x1x32x65xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x32x65xbf16, #ttnn_layout2>
}

// -----

// expected-error: weight has shape (63,), expected (64,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @layer_norm_post_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<1x1x32x64xbf16, #ttnn_layout>, %2: tensor<63xbf16, #ttnn_layout1>) -> tensor<1x1x32x64xbf16, #ttnn_layout> {
  %3 = "ttnn.layer_norm_post_all_gather"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<63xbf16, #ttnn_layout1>) -> tensor<1x1x32x64xbf16, #ttnn_layout>
  func.return %3 : tensor<1x1x32x64xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 1, 32, 65), expected (1, 1, 32, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm_post_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<1x1x32x64xbf16, #ttnn_layout>, %2: tensor<64xbf16, #ttnn_layout1>) -> tensor<1x1x32x65xbf16, #ttnn_layout2> {
  %3 = "ttnn.rms_norm_post_all_gather"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>) -> tensor<1x1x32x65xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x32x65xbf16, #ttnn_layout2>
}

// -----

// expected-error: weight has shape (63,), expected (64,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm_post_all_gather(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<1x1x32x64xbf16, #ttnn_layout>, %2: tensor<63xbf16, #ttnn_layout1>) -> tensor<1x1x32x64xbf16, #ttnn_layout> {
  %3 = "ttnn.rms_norm_post_all_gather"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<63xbf16, #ttnn_layout1>) -> tensor<1x1x32x64xbf16, #ttnn_layout>
  func.return %3 : tensor<1x1x32x64xbf16, #ttnn_layout>
}

// -----

// expected-error: residual has shape (1, 1, 32, 32), expected (1, 1, 32, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @distributed_layer_norm(%0: tensor<1x1x32x64xbf16, #ttnn_layout>, %1: tensor<64xbf16, #ttnn_layout1>, %2: tensor<1x1x32x32xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout> {
  %4 = "ttnn.distributed_layer_norm"(%0, %1, %2, %3) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}> : (tensor<1x1x32x64xbf16, #ttnn_layout>, tensor<64xbf16, #ttnn_layout1>, tensor<1x1x32x32xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x32x64xbf16, #ttnn_layout>
  func.return %4 : tensor<1x1x32x64xbf16, #ttnn_layout>
}
