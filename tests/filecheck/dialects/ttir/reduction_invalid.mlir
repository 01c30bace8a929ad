// RUN: invalid

// expected-error: result has shape (2, 1, 4), expected (2, 4)
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16>
  func.return %1 : tensor<2x1x4xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = [3 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: keep_dim
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32]}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = 1 : i8, keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @sum(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16>
  func.return %1 : tensor<2x1x4xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = [3 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: keep_dim
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = [1 : i32]}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = 1 : i8, keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @mean(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.mean"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16>
  func.return %1 : tensor<2x1x4xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = [3 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: keep_dim
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = [1 : i32]}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = 1 : i8, keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @max(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.max"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16>
  func.return %1 : tensor<2x1x4xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = [3 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: keep_dim
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = [1 : i32]}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = 1 : i8, keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @min(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.min"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16>
  func.return %1 : tensor<2x1x4xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = [3 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: keep_dim
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = [1 : i32]}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = 1 : i8, keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @prod(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.prod"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: result has shape (2,), expected (2, 1)
func.func @argmax(%0: tensor<2x3xbf16>) -> tensor<2xsi32> {
  %1 = "ttir.argmax"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<2x3xbf16>) -> tensor<2xsi32>
  func.return %1 : tensor<2xsi32>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @argmax(%0: tensor<2x3xbf16>) -> tensor<2x1xsi32> {
  %1 = "ttir.argmax"(%0) <{dim_arg = [2 : i32], keep_dim = true}> : (tensor<2x3xbf16>) -> tensor<2x1xsi32>
  func.return %1 : tensor<2x1xsi32>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @argmax(%0: tensor<2x3xbf16>) -> tensor<2x1xsi32> {
  %1 = "ttir.argmax"(%0) <{dim_arg = 1 : i8, keep_dim = true}> : (tensor<2x3xbf16>) -> tensor<2x1xsi32>
  func.return %1 : tensor<2x1xsi32>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @argmax(%0: tensor<2x3xbf16>) -> tensor<2x1xsi32> {
  %1 = "ttir.argmax"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<2x1xsi32>
  func.return %1 : tensor<2x1xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @cumsum(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.cumsum"(%0) <{dim = 1 : i64}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @cumsum(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cumsum"(%0) <{dim = 2 : i64}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected an i64 integer, got 1 : i8
func.func @cumsum(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cumsum"(%0) <{dim = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 3, 4)
func.func @softmax(%0: tensor<2x3x4xbf16>) -> tensor<2x4x3xbf16> {
  %1 = "ttir.softmax"(%0) <{dimension = 1 : si32, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x4x3xbf16>
  func.return %1 : tensor<2x4x3xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @softmax(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.softmax"(%0) <{dimension = 3 : si32, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
func.func @softmax(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.softmax"(%0) <{dimension = 1 : i8, numericStable = true}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @softmax(%0: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  %1 = "ttir.softmax"(%0) <{dimension = 1 : si32, numericStable = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %1 : tensor<2x3x4xbf16>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 3, 4)
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x4x3xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x4x3xbf16>
  func.return %3 : tensor<2x4x3xbf16>
}

// -----

// expected-error: normalized_shape is (2, 3), expected the last dimensions of the operand's shape (2, 3, 4)
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 2, 3>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: weight has shape (4, 3), expected (3, 4)
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<4x3xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<4x3xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: bias has shape (12,), expected (3, 4)
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<12xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<12xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = 1 : i8, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
func.func @layer_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.layer_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1 : i8, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 3, 4)
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x4x3xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x4x3xbf16>
  func.return %3 : tensor<2x4x3xbf16>
}

// -----

// expected-error: normalized_shape is (2, 3), expected the last dimensions of the operand's shape (2, 3, 4)
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 2, 3>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: weight has shape (4, 3), expected (3, 4)
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<4x3xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<4x3xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: bias has shape (12,), expected (3, 4)
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<12xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<12xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = 1 : i8, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
func.func @rms_norm(%0: tensor<2x3x4xbf16>, %1: tensor<3x4xbf16>, %2: tensor<3x4xbf16>) -> tensor<2x3x4xbf16> {
  %3 = "ttir.rms_norm"(%0, %1, %2) <{normalized_shape = array<i64: 3, 4>, epsilon = 1 : i8, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %3 : tensor<2x3x4xbf16>
}
