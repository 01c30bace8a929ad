// RUN: invalid

// expected-error: value has type tensor<2x3xbf16>, expected the result's type tensor<3x2xbf16>
func.func @constant_splat() -> tensor<3x2xbf16> {
  %0 = "ttir.constant"() <{value = dense<1.500000e+00> : tensor<2x3xbf16>}> : () -> tensor<3x2xbf16>
  func.return %0 : tensor<3x2xbf16>
}

// -----

// expected-error: value has type tensor<2x3xbf16>, expected the result's type tensor<2x3xf32>
func.func @constant_splat() -> tensor<2x3xf32> {
  %0 = "ttir.constant"() <{value = dense<1.500000e+00> : tensor<2x3xbf16>}> : () -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// expected-error: expected dense elements, got 1 : i8
func.func @constant_splat() -> tensor<2x3xbf16> {
  %0 = "ttir.constant"() <{value = 1 : i8}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @full() -> tensor<3x2xbf16> {
  %0 = "ttir.full"() <{shape = array<i32: 2, 3>, fill_value = 5.000000e-01 : f32}> : () -> tensor<3x2xbf16>
  func.return %0 : tensor<3x2xbf16>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
func.func @full() -> tensor<2x3xbf16> {
  %0 = "ttir.full"() <{shape = 1 : i8, fill_value = 5.000000e-01 : f32}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// -----

// expected-error: expected an f32 float or i32 integer, got 1 : i8
func.func @full() -> tensor<2x3xbf16> {
  %0 = "ttir.full"() <{shape = array<i32: 2, 3>, fill_value = 1 : i8}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 2 : si64, arange_dimension = 3 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}

// -----

// expected-error: step is 0, expected another number
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 0 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}

// -----

// expected-error: result has shape (2, 4, 3), expected 5 elements along dimension 1
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 11 : si64, step = 2 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}

// -----

// expected-error: expected an si64 integer, got 1 : i8
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : i8, end = 9 : si64, step = 2 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}

// -----

// expected-error: expected an si64 integer, got 1 : i8
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 1 : i8, step = 2 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}

// -----

// expected-error: expected an si64 integer, got 1 : i8
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 1 : i8, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}

// -----

// expected-error: expected an i64 integer, got 1 : i8
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 2 : si64, arange_dimension = 1 : i8}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}
