// RUN: roundtrip

// CHECK-LABEL: func.func @constant_splat(
// CHECK: "ttir.constant"() <{value = dense<1.500000e+00> : tensor<2x3xbf16>}> : () -> tensor<2x3xbf16>
func.func @constant_splat() -> tensor<2x3xbf16> {
  %0 = "ttir.constant"() <{value = dense<1.500000e+00> : tensor<2x3xbf16>}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @constant_dense(
// CHECK: "ttir.constant"() <{value = dense<{{\[\[}}1, 2], [3, -4]]> : tensor<2x2xsi32>}> : () -> tensor<2x2xsi32>
func.func @constant_dense() -> tensor<2x2xsi32> {
  %0 = "ttir.constant"() <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xsi32>}> : () -> tensor<2x2xsi32>
  func.return %0 : tensor<2x2xsi32>
}

// CHECK-LABEL: func.func @constant_not_finite(
// CHECK: "ttir.constant"() <{value = dense<[0xff80, 1.500000e+00, 0x7fc0]> : tensor<3xbf16>}> : () -> tensor<3xbf16>
func.func @constant_not_finite() -> tensor<3xbf16> {
  %0 = "ttir.constant"() <{value = dense<[0xff80, 1.500000e+00, 0x7fc0]> : tensor<3xbf16>}> : () -> tensor<3xbf16>
  func.return %0 : tensor<3xbf16>
}

// CHECK-LABEL: func.func @full(
// CHECK: "ttir.full"() <{shape = array<i32: 2, 3>, fill_value = 5.000000e-01 : f32}> : () -> tensor<2x3xbf16>
func.func @full() -> tensor<2x3xbf16> {
  %0 = "ttir.full"() <{shape = array<i32: 2, 3>, fill_value = 5.000000e-01 : f32}> : () -> tensor<2x3xbf16>
  func.return %0 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @full_of_integers(
// CHECK: "ttir.full"() <{shape = array<i32: 2, 3>, fill_value = 7 : i32}> : () -> tensor<2x3xsi32>
func.func @full_of_integers() -> tensor<2x3xsi32> {
  %0 = "ttir.full"() <{shape = array<i32: 2, 3>, fill_value = 7 : i32}> : () -> tensor<2x3xsi32>
  func.return %0 : tensor<2x3xsi32>
}

// CHECK-LABEL: func.func @arange(
// CHECK: "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 2 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
func.func @arange() -> tensor<2x4x3xf32> {
  %0 = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 2 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}
