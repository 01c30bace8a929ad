// RUN: invalid

// expected-error: has shape (4, 3, 3), expected (4, 3, 2)
func.func @transpose(%0: tensor<2x3x4xbf16>) -> tensor<4x3x3xbf16> {
  %1 = "ttir.transpose"(%0) <{dim0 = 0 : si32, dim1 = -1 : si32}> : (tensor<2x3x4xbf16>) -> tensor<4x3x3xbf16>
  func.return %1 : tensor<4x3x3xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @transpose(%0: tensor<2x3x4xbf16>) -> tensor<4x3x2xbf16> {
  %1 = "ttir.transpose"(%0) <{dim0 = 3 : si32, dim1 = 0 : si32}> : (tensor<2x3x4xbf16>) -> tensor<4x3x2xbf16>
  func.return %1 : tensor<4x3x2xbf16>
}

// -----

// expected-error: has shape (4, 13), expected (4, 12)
func.func @repeat(%0: tensor<2x3xbf16>) -> tensor<4x13xbf16> {
  %1 = "ttir.repeat"(%0) <{repeat_dimensions = array<i64: 2, 4>}> : (tensor<2x3xbf16>) -> tensor<4x13xbf16>
  func.return %1 : tensor<4x13xbf16>
}

// -----

// expected-error: repeat_dimensions (2,) do not fit shape (2, 3), expected 2 factors
func.func @repeat(%0: tensor<2x3xbf16>) -> tensor<4x12xbf16> {
  %1 = "ttir.repeat"(%0) <{repeat_dimensions = array<i64: 2>}> : (tensor<2x3xbf16>) -> tensor<4x12xbf16>
  func.return %1 : tensor<4x12xbf16>
}

// -----

// expected-error: has shape (4, 4), expected (4, 3)
func.func @repeat_interleave(%0: tensor<2x3xbf16>) -> tensor<4x4xbf16> {
  %1 = "ttir.repeat_interleave"(%0) <{repeats = 2 : ui32, dim = 0 : si32}> : (tensor<2x3xbf16>) -> tensor<4x4xbf16>
  func.return %1 : tensor<4x4xbf16>
}

// -----

// expected-error: result has shape (2, 8, 65), expected as many elements as in shape (2, 4, 8, 16)
func.func @rearrange(%0: tensor<2x4x8x16xbf16>) -> tensor<2x8x65xbf16> {
  %1 = "ttir.rearrange"(%0) <{pattern = "b h s d -> b s (h d)"}> : (tensor<2x4x8x16xbf16>) -> tensor<2x8x65xbf16>
  func.return %1 : tensor<2x8x65xbf16>
}

// -----

// expected-error: pattern 'b s' has 0 '->', expected one
func.func @rearrange(%0: tensor<2x4x8x16xbf16>) -> tensor<2x8x64xbf16> {
  %1 = "ttir.rearrange"(%0) <{pattern = "b s"}> : (tensor<2x4x8x16xbf16>) -> tensor<2x8x64xbf16>
  func.return %1 : tensor<2x8x64xbf16>
}

// -----

// expected-error: begins has shape (3,), expected (2,)
func.func @slice_dynamic(%0: tensor<4x8xbf16>, %1: tensor<3xsi32>, %2: tensor<2xsi32>) -> tensor<2x3xbf16> {
  %3 = "ttir.slice_dynamic"(%0, %1, %2) <{step = [1 : i32, 2 : i32]}> : (tensor<4x8xbf16>, tensor<3xsi32>, tensor<2xsi32>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// -----

// expected-error: step (1,) has 1 entries, expected 2, one for each dimension
func.func @slice_dynamic(%0: tensor<4x8xbf16>, %1: tensor<2xsi32>, %2: tensor<2xsi32>) -> tensor<2x3xbf16> {
  %3 = "ttir.slice_dynamic"(%0, %1, %2) <{step = [1 : i32]}> : (tensor<4x8xbf16>, tensor<2xsi32>, tensor<2xsi32>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// -----

// expected-error: has shape (4, 4), expected (4, 3)
func.func @index(%0: tensor<4x8xbf16>) -> tensor<4x4xbf16> {
  %1 = "ttir.index"(%0) <{dim = 1 : i32, begin = 1 : i32, end = 8 : i32, step = 3 : i32}> : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
  func.return %1 : tensor<4x4xbf16>
}

// -----

// expected-error: slice 1:9:3 does not lie in a dimension of size 8
func.func @index(%0: tensor<4x8xbf16>) -> tensor<4x3xbf16> {
  %1 = "ttir.index"(%0) <{dim = 1 : i32, begin = 1 : i32, end = 9 : i32, step = 3 : i32}> : (tensor<4x8xbf16>) -> tensor<4x3xbf16>
  func.return %1 : tensor<4x3xbf16>
}

// -----

// expected-error: has shape (4, 5), expected (4, 4)
func.func @index_select(%0: tensor<4x8xbf16>) -> tensor<4x5xbf16> {
  %1 = "ttir.index_select"(%0) <{dim = 1 : si32, begin = 1 : si32, length = 2 : si32, stride = 4 : si32}> : (tensor<4x8xbf16>) -> tensor<4x5xbf16>
  func.return %1 : tensor<4x5xbf16>
}

// -----

// expected-error: begin is 1, length 2 and stride 1, expected 0 <= begin and 0 < length <= stride
func.func @index_select(%0: tensor<4x8xbf16>) -> tensor<4x4xbf16> {
  %1 = "ttir.index_select"(%0) <{dim = 1 : si32, begin = 1 : si32, length = 2 : si32, stride = 1 : si32}> : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
  func.return %1 : tensor<4x4xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @squeeze(%0: tensor<4x1x8xbf16>) -> tensor<4x9xbf16> {
  %1 = "ttir.squeeze"(%0) <{dim = 1 : si32}> : (tensor<4x1x8xbf16>) -> tensor<4x9xbf16>
  func.return %1 : tensor<4x9xbf16>
}

// -----

// expected-error: dimension 0 of shape (4, 1, 8) has size 4, expected 1
func.func @squeeze(%0: tensor<4x1x8xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.squeeze"(%0) <{dim = 0 : si32}> : (tensor<4x1x8xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// -----

// expected-error: has shape (4, 8, 2), expected (4, 8, 1)
func.func @unsqueeze(%0: tensor<4x8xbf16>) -> tensor<4x8x2xbf16> {
  %1 = "ttir.unsqueeze"(%0) <{dim = -1 : si32}> : (tensor<4x8xbf16>) -> tensor<4x8x2xbf16>
  func.return %1 : tensor<4x8x2xbf16>
}

// -----

// expected-error: result has type tensor<4x8xbf16>, expected tensor<4x8xf32>
func.func @to_layout(%0: tensor<4x8xbf16>, %1: tensor<4x8xf32>) -> tensor<4x8xbf16> {
  %2 = "ttir.to_layout"(%0, %1) : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<4x8xbf16>
  func.return %2 : tensor<4x8xbf16>
}

// -----

// expected-error: has shape (2,), expected (1,)
func.func @get_dimension_size(%0: tensor<4x8xbf16>) -> tensor<2xsi32> {
  %1 = "ttir.get_dimension_size"(%0) <{dimension = 1 : i32}> : (tensor<4x8xbf16>) -> tensor<2xsi32>
  func.return %1 : tensor<2xsi32>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @get_dimension_size(%0: tensor<4x8xbf16>) -> tensor<1xsi32> {
  %1 = "ttir.get_dimension_size"(%0) <{dimension = 2 : i32}> : (tensor<4x8xbf16>) -> tensor<1xsi32>
  func.return %1 : tensor<1xsi32>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @selu(%0: tensor<4x8xbf16>) -> tensor<4x9xbf16> {
  %1 = "ttir.selu"(%0) <{scale = 1.000000e+00 : f32, alpha = 1.500000e+00 : f32}> : (tensor<4x8xbf16>) -> tensor<4x9xbf16>
  func.return %1 : tensor<4x9xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @gelu_bw(%0: tensor<4x8xbf16>, %1: tensor<4x8xbf16>) -> tensor<4x9xbf16> {
  %2 = "ttir.gelu_bw"(%0, %1) <{approximate = "tanh"}> : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x9xbf16>
  func.return %2 : tensor<4x9xbf16>
}

// -----

// expected-error: has shape (2, 5), expected (2, 4)
func.func @reduce_and(%0: tensor<2x3x4xbf16>) -> tensor<2x5xbf16> {
  %1 = "ttir.reduce_and"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x5xbf16>
  func.return %1 : tensor<2x5xbf16>
}

// -----

// expected-error: has shape (1, 1, 2), expected (1, 1, 1)
func.func @reduce_or(%0: tensor<2x3x4xbf16>) -> tensor<1x1x2xbf16> {
  %1 = "ttir.reduce_or"(%0) <{keep_dim = true}> : (tensor<2x3x4xbf16>) -> tensor<1x1x2xbf16>
  func.return %1 : tensor<1x1x2xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @cumprod(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.cumprod"(%0) <{dim = 1 : i64}> : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @cumprod(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cumprod"(%0) <{dim = 2 : i64}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @zeros() -> tensor<2x4xbf16> {
  %0 = "ttir.zeros"() <{shape = array<i32: 2, 3>}> : () -> tensor<2x4xbf16>
  func.return %0 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @ones() -> tensor<2x4xbf16> {
  %0 = "ttir.ones"() <{shape = array<i32: 2, 3>}> : () -> tensor<2x4xbf16>
  func.return %0 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @rand() -> tensor<2x4xbf16> {
  %0 = "ttir.rand"() <{size = [2 : i32, 3 : i32], low = -1.000000e+00 : f32, high = 1.000000e+00 : f32, seed = 7 : ui32}> : () -> tensor<2x4xbf16>
  func.return %0 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @exp2(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.exp2"(%0) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @frac(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.frac"(%0) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @signbit(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.signbit"(%0) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @softsign(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.softsign"(%0) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @square(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.square"(%0) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @trunc(%0: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.trunc"(%0) : (tensor<2x3xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @bitcast_convert(%0: tensor<2x3xf32>) -> tensor<2x4xsi32> {
  %1 = "ttir.bitcast_convert"(%0) : (tensor<2x3xf32>) -> tensor<2x4xsi32>
  func.return %1 : tensor<2x4xsi32>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
func.func @right_shift(%0: tensor<2x3xsi32>, %1: tensor<3xsi32>) -> tensor<2x4xsi32> {
  %2 = "ttir.right_shift"(%0, %1) : (tensor<2x3xsi32>, tensor<3xsi32>) -> tensor<2x4xsi32>
  func.return %2 : tensor<2x4xsi32>
}

// -----

// expected-error: Expected ':'
func.func @empty() -> tensor<2x3xbf16> {
  %0 = ttir.empty() tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}
