// RUN: roundtrip

// CHECK-LABEL: func.func @sum(
// CHECK: "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @sum_of_all(
// CHECK: "ttir.sum"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
func.func @sum_of_all(%0: tensor<2x3x4xf32>) -> tensor<1x1x1xf32> {
  %1 = "ttir.sum"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
  func.return %1 : tensor<1x1x1xf32>
}

// CHECK-LABEL: func.func @mean(
// CHECK: "ttir.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @mean_of_all(
// CHECK: "ttir.mean"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
func.func @mean_of_all(%0: tensor<2x3x4xf32>) -> tensor<1x1x1xf32> {
  %1 = "ttir.mean"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
  func.return %1 : tensor<1x1x1xf32>
}

// CHECK-LABEL: func.func @max(
// CHECK: "ttir.max"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @max_of_all(
// CHECK: "ttir.max"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
func.func @max_of_all(%0: tensor<2x3x4xf32>) -> tensor<1x1x1xf32> {
  %1 = "ttir.max"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
  func.return %1 : tensor<1x1x1xf32>
}

// CHECK-LABEL: func.func @min(
// CHECK: "ttir.min"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @min_of_all(
// CHECK: "ttir.min"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
func.func @min_of_all(%0: tensor<2x3x4xf32>) -> tensor<1x1x1xf32> {
  %1 = "ttir.min"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
  func.return %1 : tensor<1x1x1xf32>
}

// CHECK-LABEL: func.func @prod(
// CHECK: "ttir.prod"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @prod_of_all(
// CHECK: "ttir.prod"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
func.func @prod_of_all(%0: tensor<2x3x4xf32>) -> tensor<1x1x1xf32> {
  %1 = "ttir.prod"(%0) <{keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
  func.return %1 : tensor<1x1x1xf32>
}

// CHECK-LABEL: func.func @argmax(
// CHECK: "ttir.argmax"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<2x3xbf16>) -> tensor<2x1xsi32>
func.func @argmax(%0: tensor<2x3xbf16>) -> tensor<2x1xsi32> {
  %1 = "ttir.argmax"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<2x3xbf16>) -> tensor<2x1xsi32>
  func.return %1 : tensor<2x1xsi32>
}

// CHECK-LABEL: func.func @cumsum(
// CHECK: "ttir.cumsum"(%0) <{dim = 1 : i64}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @cumsum(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cumsum"(%0) <{dim = 1 : i64}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @softmax(
// CHECK: "ttir.softmax"(%0) <{dimension = 1 : si32, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
func.func @softmax(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.softmax"(%0) <{dimension = 1 : si32, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @softmax_of_last(
// CHECK: "ttir.softmax"(%0) <{dimension = -1 : si32, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
func.func @softmax_of_last(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.softmax"(%0) <{dimension = -1 : si32, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @layer_norm(
// CHECK: "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @layer_norm_of_bias_alone(
// CHECK: "ttir.layer_norm"(%0, %1) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16>, tensor<4xbf16>) -> tensor<2x3x4xbf16>
func.func @layer_norm_of_bias_alone(%0: tensor<2x3x4xbf16>, %1: tensor<4xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.layer_norm"(%0, %1) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16>, tensor<4xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @layer_norm_plain(
// CHECK: "ttir.layer_norm"(%0) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
func.func @layer_norm_plain(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.layer_norm"(%0) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK: "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @rms_norm_of_bias_alone(
// CHECK: "ttir.rms_norm"(%0, %1) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16>, tensor<4xbf16>) -> tensor<2x3x4xbf16>
func.func @rms_norm_of_bias_alone(%0: tensor<2x3x4xbf16>, %1: tensor<4xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.rms_norm"(%0, %1) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x3x4xbf16>, tensor<4xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @rms_norm_plain(
// CHECK: "ttir.rms_norm"(%0) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
func.func @rms_norm_plain(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.rms_norm"(%0) <{normalized_shape = array<i64: 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}
