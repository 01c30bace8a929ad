// RUN: roundtrip

// CHECK-LABEL: func.func @transpose(
// CHECK: "ttir.transpose"({{.*}}) <{dim0 = 0 : si32, dim1 = -1 : si32}> :
func.func @transpose(%0: tensor<2x3x4xbf16>) -> tensor<4x3x2xbf16> {
  %1 = "ttir.transpose"(%0) <{dim0 = 0 : si32, dim1 = -1 : si32}> : (tensor<2x3x4xbf16>) -> tensor<4x3x2xbf16>
  func.return %1 : tensor<4x3x2xbf16>
}

// CHECK-LABEL: func.func @repeat(
// CHECK: "ttir.repeat"({{.*}}) <{repeat_dimensions = array<i64: 2, 4>}> :
func.func @repeat(%0: tensor<2x3xbf16>) -> tensor<4x12xbf16> {
  %1 = "ttir.repeat"(%0) <{repeat_dimensions = array<i64: 2, 4>}> : (tensor<2x3xbf16>) -> tensor<4x12xbf16>
  func.return %1 : tensor<4x12xbf16>
}

// CHECK-LABEL: func.func @repeat_interleave(
// CHECK: "ttir.repeat_interleave"({{.*}}) <{repeats = 2 : ui32, dim = 0 : si32}> :
func.func @repeat_interleave(%0: tensor<2x3xbf16>) -> tensor<4x3xbf16> {
  %1 = "ttir.repeat_interleave"(%0) <{repeats = 2 : ui32, dim = 0 : si32}> : (tensor<2x3xbf16>) -> tensor<4x3xbf16>
  func.return %1 : tensor<4x3xbf16>
}

// CHECK-LABEL: func.func @rearrange(
// CHECK: "ttir.rearrange"({{.*}}) <{pattern = "b h s d -> b s (h d)"}> :
func.func @rearrange(%0: tensor<2x4x8x16xbf16>) -> tensor<2x8x64xbf16> {
  %1 = "ttir.rearrange"(%0) <{pattern = "b h s d -> b s (h d)"}> : (tensor<2x4x8x16xbf16>) -> tensor<2x8x64xbf16>
  func.return %1 : tensor<2x8x64xbf16>
}

// CHECK-LABEL: func.func @slice_dynamic(
// CHECK: "ttir.slice_dynamic"({{.*}}) <{step = [1 : i32, 2 : i32]}> :
func.func @slice_dynamic(%0: tensor<4x8xbf16>, %1: tensor<2xsi32>, %2: tensor<2xsi32>) -> tensor<2x3xbf16> {
  %3 = "ttir.slice_dynamic"(%0, %1, %2) <{step = [1 : i32, 2 : i32]}> : (tensor<4x8xbf16>, tensor<2xsi32>, tensor<2xsi32>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @index(
// CHECK: "ttir.index"({{.*}}) <{dim = 1 : i32, begin = 1 : i32, end = 8 : i32, step = 3 : i32}> :
func.func @index(%0: tensor<4x8xbf16>) -> tensor<4x3xbf16> {
  %1 = "ttir.index"(%0) <{dim = 1 : i32, begin = 1 : i32, end = 8 : i32, step = 3 : i32}> : (tensor<4x8xbf16>) -> tensor<4x3xbf16>
  func.return %1 : tensor<4x3xbf16>
}

// CHECK-LABEL: func.func @index_select(
// CHECK: "ttir.index_select"({{.*}}) <{dim = 1 : si32, begin = 1 : si32, length = 2 : si32, stride = 4 : si32}> :
func.func @index_select(%0: tensor<4x8xbf16>) -> tensor<4x4xbf16> {
  %1 = "ttir.index_select"(%0) <{dim = 1 : si32, begin = 1 : si32, length = 2 : si32, stride = 4 : si32}> : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
  func.return %1 : tensor<4x4xbf16>
}

// CHECK-LABEL: func.func @squeeze(
// CHECK: "ttir.squeeze"({{.*}}) <{dim = 1 : si32}> :
func.func @squeeze(%0: tensor<4x1x8xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.squeeze"(%0) <{dim = 1 : si32}> : (tensor<4x1x8xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @unsqueeze(
// CHECK: "ttir.unsqueeze"({{.*}}) <{dim = -1 : si32}> :
func.func @unsqueeze(%0: tensor<4x8xbf16>) -> tensor<4x8x1xbf16> {
  %1 = "ttir.unsqueeze"(%0) <{dim = -1 : si32}> : (tensor<4x8xbf16>) -> tensor<4x8x1xbf16>
  func.return %1 : tensor<4x8x1xbf16>
}

// CHECK-LABEL: func.func @to_layout(
// CHECK: "ttir.to_layout"({{.*}}) :
func.func @to_layout(%0: tensor<4x8xbf16>, %1: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %2 = "ttir.to_layout"(%0, %1) : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @get_dimension_size(
// CHECK: "ttir.get_dimension_size"({{.*}}) <{dimension = 1 : i32}> :
func.func @get_dimension_size(%0: tensor<4x8xbf16>) -> tensor<1xsi32> {
  %1 = "ttir.get_dimension_size"(%0) <{dimension = 1 : i32}> : (tensor<4x8xbf16>) -> tensor<1xsi32>
  func.return %1 : tensor<1xsi32>
}

// CHECK-LABEL: func.func @selu(
// CHECK: "ttir.selu"({{.*}}) <{scale = 1.000000e+00 : f32, alpha = 1.500000e+00 : f32}> :
func.func @selu(%0: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.selu"(%0) <{scale = 1.000000e+00 : f32, alpha = 1.500000e+00 : f32}> : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @gelu_bw(
// CHECK: "ttir.gelu_bw"({{.*}}) <{approximate = "tanh"}> :
func.func @gelu_bw(%0: tensor<4x8xbf16>, %1: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %2 = "ttir.gelu_bw"(%0, %1) <{approximate = "tanh"}> : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return %2 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @reduce_and(
// CHECK: "ttir.reduce_and"({{.*}}) <{dim_arg = [1 : i32], keep_dim = false}> :
func.func @reduce_and(%0: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %1 = "ttir.reduce_and"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  func.return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @reduce_or(
// CHECK: "ttir.reduce_or"({{.*}}) <{keep_dim = true}> :
func.func @reduce_or(%0: tensor<2x3x4xbf16>) -> tensor<1x1x1xbf16> {
  %1 = "ttir.reduce_or"(%0) <{keep_dim = true}> : (tensor<2x3x4xbf16>) -> tensor<1x1x1xbf16>
  func.return %1 : tensor<1x1x1xbf16>
}

// CHECK-LABEL: func.func @cumprod(
// CHECK: "ttir.cumprod"({{.*}}) <{dim = 1 : i64}> :
func.func @cumprod(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cumprod"(%0) <{dim = 1 : i64}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @zeros(
// CHECK: "ttir.zeros"({{.*}}) <{shape = array<i32: 2, 3>}> :
func.func @zeros() -> tensor<2x3xbf16> {
  %0 = "ttir.zeros"() <{shape = array<i32: 2, 3>}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @ones(
// CHECK: "ttir.ones"({{.*}}) <{shape = array<i32: 2, 3>}> :
func.func @ones() -> tensor<2x3xbf16> {
  %0 = "ttir.ones"() <{shape = array<i32: 2, 3>}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @rand(
// CHECK: "ttir.rand"({{.*}}) <{size = [2 : i32, 3 : i32], low = -1.000000e+00 : f32, high = 1.000000e+00 : f32, seed = 7 : ui32}> :
func.func @rand() -> tensor<2x3xbf16> {
  %0 = "ttir.rand"() <{size = [2 : i32, 3 : i32], low = -1.000000e+00 : f32, high = 1.000000e+00 : f32, seed = 7 : ui32}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @exp2(
// CHECK: "ttir.exp2"({{.*}}) :
func.func @exp2(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.exp2"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @frac(
// CHECK: "ttir.frac"({{.*}}) :
func.func @frac(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.frac"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @signbit(
// CHECK: "ttir.signbit"({{.*}}) :
func.func @signbit(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.signbit"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @softsign(
// CHECK: "ttir.softsign"({{.*}}) :
func.func @softsign(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.softsign"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @square(
// CHECK: "ttir.square"({{.*}}) :
func.func @square(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.square"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @trunc(
// CHECK: "ttir.trunc"({{.*}}) :
func.func @trunc(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.trunc"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @bitcast_convert(
// CHECK: "ttir.bitcast_convert"({{.*}}) :
func.func @bitcast_convert(%0: tensor<2x3xf32>) -> tensor<2x3xsi32> {
  %1 = "ttir.bitcast_convert"(%0) : (tensor<2x3xf32>) -> tensor<2x3xsi32>
  func.return %1 : tensor<2x3xsi32>
}

// CHECK-LABEL: func.func @right_shift(
// CHECK: "ttir.right_shift"({{.*}}) :
func.func @right_shift(%0: tensor<2x3xsi32>, %1: tensor<3xsi32>) -> tensor<2x3xsi32> {
  %2 = "ttir.right_shift"(%0, %1) : (tensor<2x3xsi32>, tensor<3xsi32>) -> tensor<2x3xsi32>
  func.return %2 : tensor<2x3xsi32>
}

// CHECK-LABEL: func.func @empty(
// CHECK: ttir.empty() : tensor<2x3xbf16>
func.func @empty() -> tensor<2x3xbf16> {
  %0 = ttir.empty() : tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}
