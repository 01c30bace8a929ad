// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @softmax_in_bf16(
func.func @softmax_in_bf16(%arg0: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // CHECK: "ttir.softmax"(
  // CHECK-NEXT: func.return
  %0 = "ttir.max"(%arg0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xbf16>) -> tensor<4xbf16>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xbf16>) -> tensor<4x1xbf16>
  %2 = "ttir.subtract"(%arg0, %1) : (tensor<4x32xbf16>, tensor<4x1xbf16>) -> tensor<4x32xbf16>
  %3 = "ttir.exp"(%2) : (tensor<4x32xbf16>) -> tensor<4x32xbf16>
  %4 = "ttir.typecast"(%3) : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %5 = "ttir.sum"(%4) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %6 = "ttir.reshape"(%5) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %7 = "ttir.typecast"(%6) : (tensor<4x1xf32>) -> tensor<4x1xbf16>
  %8 = "ttir.div"(%3, %7) : (tensor<4x32xbf16>, tensor<4x1xbf16>) -> tensor<4x32xbf16>
  func.return %8 : tensor<4x32xbf16>
}

// CHECK-LABEL: func.func @softmax_plain(
func.func @softmax_plain(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.softmax"(
  // CHECK-NEXT: func.return
  %0 = "ttir.exp"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %2 = "ttir.reshape"(%1) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %3 = "ttir.div"(%0, %2) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %3 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @softmax_by_reciprocal(
func.func @softmax_by_reciprocal(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.softmax"(
  // CHECK-NEXT: func.return
  %0 = "ttir.exp"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %2 = "ttir.reshape"(%1) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %3 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.div"(%3, %2) : (tensor<1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = "ttir.multiply"(%0, %4) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %5 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @softmax_guarded(
func.func @softmax_guarded(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.softmax"(
  // CHECK-NEXT: func.return
  %0 = "ttir.max"(%arg0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %2 = "ttir.isfinite"(%1) : (tensor<4x1xf32>) -> tensor<4x1xbf16>
  %3 = "ttir.constant"() <{value = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.where"(%2, %1, %3) : (tensor<4x1xbf16>, tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %5 = "ttir.subtract"(%arg0, %4) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %6 = "ttir.exp"(%5) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.sum"(%6) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %8 = "ttir.reshape"(%7) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %9 = "ttir.div"(%6, %8) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %9 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @softmax_over_all(
func.func @softmax_over_all(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK-NOT: "ttir.softmax"(
  // CHECK: func.return
  %0 = "ttir.exp"(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [0 : i32, 1 : i32], keep_dim = false}> : (tensor<32x32xf32>) -> tensor<f32>
  %2 = "ttir.reshape"(%1) <{shape = [1 : i32, 1 : i32]}> : (tensor<f32>) -> tensor<1x1xf32>
  %3 = "ttir.div"(%0, %2) : (tensor<32x32xf32>, tensor<1x1xf32>) -> tensor<32x32xf32>
  func.return %3 : tensor<32x32xf32>
}

// CHECK-LABEL: func.func @softmax_by_rows(
func.func @softmax_by_rows(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK-NOT: "ttir.softmax"(
  // CHECK: func.return
  %0 = "ttir.exp"(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<32x32xf32>) -> tensor<32xf32>
  %2 = "ttir.div"(%0, %1) : (tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32>
  func.return %2 : tensor<32x32xf32>
}

// The quotient has more rows than the exponentials, so it is not their softmax.
// CHECK-LABEL: func.func @softmax_of_one_row_in_four(
func.func @softmax_of_one_row_in_four(%arg0: tensor<1x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.softmax"(
  // CHECK: func.return
  %0 = "ttir.exp"(%arg0) : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<1x32xf32>) -> tensor<1x1xf32>
  %2 = "ttir.broadcast"(%1) <{broadcast_dimensions = array<i64: 4, 32>}> : (tensor<1x1xf32>) -> tensor<4x32xf32>
  %3 = "ttir.div"(%0, %2) : (tensor<1x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %3 : tensor<4x32xf32>
}

// Integers lose digits, the sum is of other numbers, or the maximum is one of another dimension.
// CHECK-LABEL: func.func @no_softmax(
func.func @no_softmax(%x: tensor<32x32xf32>, %y: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  // CHECK: "ttir.sum"
  // CHECK: "ttir.div"
  // CHECK: %[[M:.*]] = "ttir.max"
  // CHECK: %[[S:.*]] = "ttir.subtract"(%x, %[[M]])
  // CHECK: "ttir.softmax"(%[[S]]) <{dimension = 1 : si32, numericStable = false}>
  // CHECK-NEXT: func.return
  %0 = "ttir.exp"(%x) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = "ttir.exp"(%y) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = "ttir.sum"(%1) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<32x32xf32>) -> tensor<32x1xf32>
  %3 = "ttir.div"(%0, %2) : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xf32>
  %4 = "ttir.max"(%x) <{dim_arg = [0 : i32], keep_dim = true}> : (tensor<32x32xf32>) -> tensor<1x32xf32>
  %5 = "ttir.subtract"(%x, %4) : (tensor<32x32xf32>, tensor<1x32xf32>) -> tensor<32x32xf32>
  %6 = "ttir.exp"(%5) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %7 = "ttir.sum"(%6) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<32x32xf32>) -> tensor<32x1xf32>
  %8 = "ttir.div"(%6, %7) : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xf32>
  func.return %3, %8 : tensor<32x32xf32>, tensor<32x32xf32>
}
