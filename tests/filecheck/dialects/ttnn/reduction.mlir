// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1xui32, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @sum(
// CHECK: "ttnn.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @sum_of_all(
// CHECK: "ttnn.sum"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
func.func @sum_of_all(%0: tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3> {
  %1 = "ttnn.sum"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
  func.return %1 : tensor<1x1x1xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @mean(
// CHECK: "ttnn.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @mean_of_all(
// CHECK: "ttnn.mean"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
func.func @mean_of_all(%0: tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3> {
  %1 = "ttnn.mean"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
  func.return %1 : tensor<1x1x1xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @max(
// CHECK: "ttnn.max"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @max_of_all(
// CHECK: "ttnn.max"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
func.func @max_of_all(%0: tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3> {
  %1 = "ttnn.max"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
  func.return %1 : tensor<1x1x1xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @min(
// CHECK: "ttnn.min"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @min_of_all(
// CHECK: "ttnn.min"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
func.func @min_of_all(%0: tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3> {
  %1 = "ttnn.min"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
  func.return %1 : tensor<1x1x1xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @prod(
// CHECK: "ttnn.prod"(%0) <{dim_arg = 1 : si64, keep_dim = false}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
func.func @prod(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.prod"(%0) <{dim_arg = 1 : si64, keep_dim = false}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @prod_of_all(
// CHECK: "ttnn.prod"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
func.func @prod_of_all(%0: tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3> {
  %1 = "ttnn.prod"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32, #ttnn_layout2>) -> tensor<1x1x1xf32, #ttnn_layout3>
  func.return %1 : tensor<1x1x1xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @argmax(
// CHECK: "ttnn.argmax"(%0) <{dim = 1 : si32, keep_dim = true}> : (tensor<2x3xbf16, #ttnn_layout4>) -> tensor<2x1xui32, #ttnn_layout5>
func.func @argmax(%0: tensor<2x3xbf16, #ttnn_layout4>) -> tensor<2x1xui32, #ttnn_layout5> {
  %1 = "ttnn.argmax"(%0) <{dim = 1 : si32, keep_dim = true}> : (tensor<2x3xbf16, #ttnn_layout4>) -> tensor<2x1xui32, #ttnn_layout5>
  func.return %1 : tensor<2x1xui32, #ttnn_layout5>
}

// CHECK-LABEL: func.func @cumsum(
// CHECK: "ttnn.cumsum"(%0) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout1>
func.func @cumsum(%0: tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.cumsum"(%0) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @softmax(
// CHECK: "ttnn.softmax"(%0) <{dimension = 1 : si32, numericStable = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @softmax(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = 1 : si32, numericStable = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @softmax_of_last(
// CHECK: "ttnn.softmax"(%0) <{dimension = -1 : si32, numericStable = true}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @softmax_of_last(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = -1 : si32, numericStable = true}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @layer_norm(
// CHECK: "ttnn.layer_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @layer_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout6>, %2: tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %3 = "ttnn.layer_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @layer_norm_of_bias_alone(
// CHECK: "ttnn.layer_norm"(%0, %1) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @layer_norm_of_bias_alone(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.layer_norm"(%0, %1) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK: "ttnn.rms_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @rms_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout6>, %2: tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %3 = "ttnn.rms_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @rms_norm_of_bias_alone(
// CHECK: "ttnn.rms_norm"(%0, %1) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @rms_norm_of_bias_alone(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.rms_norm"(%0, %1) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout6>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}
