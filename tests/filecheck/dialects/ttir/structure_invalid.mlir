// RUN: invalid

// expected-error: result has shape (6,), expected (3, 2)
func.func @reshape(%0: tensor<2x3xbf16>) -> tensor<6xbf16> {
  %1 = "ttir.reshape"(%0) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16>) -> tensor<6xbf16>
  func.return %1 : tensor<6xbf16>
}

// -----

// expected-error: shape (3, 3) has 9 elements, expected 6, as in the operand of shape (2, 3)
func.func @reshape(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.reshape"(%0) <{shape = [3 : i32, 3 : i32]}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @reshape(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.reshape"(%0) <{shape = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 4, 2), expected (4, 2, 3)
func.func @permute(%0: tensor<2x3x4xbf16>) -> tensor<3x4x2xbf16> {
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<3x4x2xbf16>
  func.return %1 : tensor<3x4x2xbf16>
}

// -----

// expected-error: [0, 0, 1] is not a permutation of the 3 dimensions of (2, 3, 4)
func.func @permute(%0: tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16> {
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 0, 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
  func.return %1 : tensor<4x2x3xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @permute(%0: tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16> {
  %1 = "ttir.permute"(%0) <{permutation = 1 : i8}> : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
  func.return %1 : tensor<4x2x3xbf16>
}

// -----

// expected-error: result has shape (4, 3), expected (2, 7)
func.func @concat(%0: tensor<2x3xbf16>, %1: tensor<2x4xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: shapes (2, 3), (2, 4) differ outside dimension 0
func.func @concat(%0: tensor<2x3xbf16>, %1: tensor<2x4xbf16>) -> tensor<2x7xbf16> {
  %2 = "ttir.concat"(%0, %1) <{dim = 0 : si32}> : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<2x7xbf16>
  func.return %2 : tensor<2x7xbf16>
}

// -----

// expected-error: shapes (2, 3), (2,) differ outside dimension 1
func.func @concat(%0: tensor<2x3xbf16>, %1: tensor<2xbf16>) -> tensor<2x7xbf16> {
  %2 = "ttir.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16>, tensor<2xbf16>) -> tensor<2x7xbf16>
  func.return %2 : tensor<2x7xbf16>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @concat(%0: tensor<2x3xbf16>, %1: tensor<2x4xbf16>) -> tensor<2x7xbf16> {
  %2 = "ttir.concat"(%0, %1) <{dim = 2 : si32}> : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<2x7xbf16>
  func.return %2 : tensor<2x7xbf16>
}

// -----

// expected-error: expected at least one input, got none
func.func @concat() -> tensor<2x7xbf16> {
  %0 = "ttir.concat"() <{dim = 1 : si32}> : () -> tensor<2x7xbf16>
  func.return %0 : tensor<2x7xbf16>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
func.func @concat(%0: tensor<2x3xbf16>, %1: tensor<2x4xbf16>) -> tensor<2x7xbf16> {
  %2 = "ttir.concat"(%0, %1) <{dim = 1 : i8}> : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<2x7xbf16>
  func.return %2 : tensor<2x7xbf16>
}

// -----

// expected-error: result has shape (2, 6), expected (2, 3)
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x6xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x6xbf16>
  func.return %1 : tensor<2x6xbf16>
}

// -----

// expected-error: begins, ends and step need one entry for each of the 2 dimensions
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: slice 1:5:1 does not lie in a dimension of size 4
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [5 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: slice -1:3:1 does not lie in a dimension of size 4
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [-1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: slice 1:3:0 does not lie in a dimension of size 4
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [0 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = 1 : i8, ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = 1 : i8, step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = 1 : i8}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (3, 3), expected (3, 5)
func.func @pad(%0: tensor<2x3xbf16>) -> tensor<3x3xbf16> {
  %1 = "ttir.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x3xbf16>
  func.return %1 : tensor<3x3xbf16>
}

// -----

// expected-error: padding [0, 1] does not fit shape (2, 3): expected two counts for each dimension
func.func @pad(%0: tensor<2x3xbf16>) -> tensor<3x5xbf16> {
  %1 = "ttir.pad"(%0) <{padding = array<i32: 0, 1>, value = 5.000000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
  func.return %1 : tensor<3x5xbf16>
}

// -----

// expected-error: padding [0, 1, -2, 0] does not fit shape (2, 3): expected two counts for each dimension
func.func @pad(%0: tensor<2x3xbf16>) -> tensor<3x5xbf16> {
  %1 = "ttir.pad"(%0) <{padding = array<i32: 0, 1, -2, 0>, value = 5.000000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
  func.return %1 : tensor<3x5xbf16>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
func.func @pad(%0: tensor<2x3xbf16>) -> tensor<3x5xbf16> {
  %1 = "ttir.pad"(%0) <{padding = 1 : i8, value = 5.000000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
  func.return %1 : tensor<3x5xbf16>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
func.func @pad(%0: tensor<2x3xbf16>) -> tensor<3x5xbf16> {
  %1 = "ttir.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
  func.return %1 : tensor<3x5xbf16>
}

// -----

// expected-error: result has shape (2, 4), expected (2, 5, 4)
func.func @embedding(%0: tensor<2x5xui32>, %1: tensor<9x4xbf16>) -> tensor<2x4xbf16> {
  %2 = "ttir.embedding"(%0, %1) : (tensor<2x5xui32>, tensor<9x4xbf16>) -> tensor<2x4xbf16>
  func.return %2 : tensor<2x4xbf16>
}

// -----

// expected-error: weight has shape (9, 4, 1), expected rank 2
func.func @embedding(%0: tensor<2x5xui32>, %1: tensor<9x4x1xbf16>) -> tensor<2x5x4xbf16> {
  %2 = "ttir.embedding"(%0, %1) : (tensor<2x5xui32>, tensor<9x4x1xbf16>) -> tensor<2x5x4xbf16>
  func.return %2 : tensor<2x5x4xbf16>
}

// -----

// expected-error: result has shape (4, 3), expected (3, 4)
func.func @gather(%0: tensor<5x4xf32>, %1: tensor<3x4xui32>) -> tensor<4x3xf32> {
  %2 = "ttir.gather"(%0, %1) <{dim = 0 : i32}> : (tensor<5x4xf32>, tensor<3x4xui32>) -> tensor<4x3xf32>
  func.return %2 : tensor<4x3xf32>
}

// -----

// expected-error: index of shape (3, 5) does not lie in an operand of shape (5, 4) along 0
func.func @gather(%0: tensor<5x4xf32>, %1: tensor<3x5xui32>) -> tensor<3x4xf32> {
  %2 = "ttir.gather"(%0, %1) <{dim = 0 : i32}> : (tensor<5x4xf32>, tensor<3x5xui32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @gather(%0: tensor<5x4xf32>, %1: tensor<3x4xui32>) -> tensor<3x4xf32> {
  %2 = "ttir.gather"(%0, %1) <{dim = 2 : i32}> : (tensor<5x4xf32>, tensor<3x4xui32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
func.func @gather(%0: tensor<5x4xf32>, %1: tensor<3x4xui32>) -> tensor<3x4xf32> {
  %2 = "ttir.gather"(%0, %1) <{dim = 1 : i8}> : (tensor<5x4xf32>, tensor<3x4xui32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// -----

// expected-error: result has shape (2, 1), expected (2, 3)
func.func @where(%0: tensor<2x1xbf16>, %1: tensor<2x3xbf16>, %2: tensor<3xbf16>) -> tensor<2x1xbf16> {
  %3 = "ttir.where"(%0, %1, %2) : (tensor<2x1xbf16>, tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x1xbf16>
  func.return %3 : tensor<2x1xbf16>
}

// -----

// expected-error: do not broadcast together
func.func @where(%0: tensor<2x2xbf16>, %1: tensor<2x3xbf16>, %2: tensor<3xbf16>) -> tensor<2x3xbf16> {
  %3 = "ttir.where"(%0, %1, %2) : (tensor<2x2xbf16>, tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @clamp_scalar(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: expected an f32 float or i32 integer, got 1 : i8
func.func @clamp_scalar(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.clamp_scalar"(%0) <{min = 1 : i8, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected an f32 float or i32 integer, got 1 : i8
func.func @clamp_scalar(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @clamp_tensor(%0: tensor<2x3xbf16>, %1: tensor<3xbf16>, %2: tensor<2x1xbf16>) -> tensor<3x2xbf16> {
  %3 = "ttir.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16>, tensor<3xbf16>, tensor<2x1xbf16>) -> tensor<3x2xbf16>
  func.return %3 : tensor<3x2xbf16>
}

// -----

// expected-error: do not broadcast together
func.func @clamp_tensor(%0: tensor<2x3xbf16>, %1: tensor<2xbf16>, %2: tensor<2x1xbf16>) -> tensor<2x3xbf16> {
  %3 = "ttir.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @leaky_relu(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.leaky_relu"(%0) <{parameter = 2.500000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
func.func @leaky_relu(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.leaky_relu"(%0) <{parameter = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (2, 4, 6), expected (2, 4, 3)
func.func @broadcast(%0: tensor<2x1x3xbf16>) -> tensor<2x4x6xbf16> {
  %1 = "ttir.broadcast"(%0) <{broadcast_dimensions = array<i64: 1, 4, 1>}> : (tensor<2x1x3xbf16>) -> tensor<2x4x6xbf16>
  func.return %1 : tensor<2x4x6xbf16>
}

// -----

// expected-error: broadcast_dimensions (1, 4) do not fit shape (2, 1, 3): only a size of 1 is repeated
func.func @broadcast(%0: tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16> {
  %1 = "ttir.broadcast"(%0) <{broadcast_dimensions = array<i64: 1, 4>}> : (tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16>
  func.return %1 : tensor<2x4x3xbf16>
}

// -----

// expected-error: broadcast_dimensions (1, 4, 2) do not fit shape (2, 1, 3): only a size of 1 is repeated
func.func @broadcast(%0: tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16> {
  %1 = "ttir.broadcast"(%0) <{broadcast_dimensions = array<i64: 1, 4, 2>}> : (tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16>
  func.return %1 : tensor<2x4x3xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @broadcast(%0: tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16> {
  %1 = "ttir.broadcast"(%0) <{broadcast_dimensions = 1 : i8}> : (tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16>
  func.return %1 : tensor<2x4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @reverse(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.reverse"(%0) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @reverse(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.reverse"(%0) <{dimensions = array<i64: 2>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: dimensions [1, 1] are not distinct dimensions of rank 2
func.func @reverse(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.reverse"(%0) <{dimensions = array<i64: 1, 1>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @reverse(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.reverse"(%0) <{dimensions = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @typecast(%0: tensor<2x3xbf16>) -> tensor<3x2xf32> {
  %1 = "ttir.typecast"(%0) <{conservative_folding = false}> : (tensor<2x3xbf16>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @typecast(%0: tensor<2x3xbf16>) -> tensor<2x3xf32> {
  %1 = "ttir.typecast"(%0) <{conservative_folding = 1 : i8}> : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
