// RUN: pass=ttir-fuse

!q = tensor<2x4x64x32xbf16>
!kt = tensor<2x4x32x64xbf16>
!s = tensor<2x4x64x64xbf16>

// CHECK-LABEL: func.func @heads_first(
func.func @heads_first(%q: !q, %k: !q, %v: !q) -> !q {
  // CHECK-NEXT: %[[A:.*]] = "ttir.scaled_dot_product_attention"(%q, %k, %v)
  // CHECK-SAME: scale = 2.500000e-01
  // CHECK-NEXT: func.return %[[A]]
  %t = "ttir.permute"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (!q) -> !kt
  %0 = "ttir.matmul"(%q, %t) <{transpose_a = false, transpose_b = false}> : (!q, !kt) -> !s
  %c = "ttir.constant"() <{value = dense<2.500000e-01> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %1 = "ttir.multiply"(%0, %c) : (!s, tensor<1xbf16>) -> !s
  %2 = "ttir.softmax"(%1) <{dimension = 3 : si32, numericStable = true}> : (!s) -> !s
  %3 = "ttir.matmul"(%2, %v) <{transpose_a = false, transpose_b = false}> : (!s, !q) -> !q
  func.return %3 : !q
}

// CHECK-LABEL: func.func @masked(
func.func @masked(%q: !q, %k: !q, %v: !q, %m: tensor<1x1x64x64xbf16>) -> !q {
  // CHECK: "ttir.scaled_dot_product_attention"(%q, %k, %v, %m)
  // CHECK-NEXT: func.return
  %t = "ttir.permute"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (!q) -> !kt
  %0 = "ttir.matmul"(%q, %t) <{transpose_a = false, transpose_b = false}> : (!q, !kt) -> !s
  %1 = "ttir.add"(%0, %m) : (!s, tensor<1x1x64x64xbf16>) -> !s
  %2 = "ttir.softmax"(%1) <{dimension = 3 : si32, numericStable = true}> : (!s) -> !s
  %3 = "ttir.matmul"(%2, %v) <{transpose_a = false, transpose_b = false}> : (!s, !q) -> !q
  func.return %3 : !q
}

// CHECK-LABEL: func.func @weights_are_a_result(
func.func @weights_are_a_result(%q: !q, %k: !q, %v: !q) -> (!s, !q) {
  // CHECK-NOT: "ttir.scaled_dot_product_attention"
  // CHECK: func.return
  %t = "ttir.permute"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (!q) -> !kt
  %0 = "ttir.matmul"(%q, %t) <{transpose_a = false, transpose_b = false}> : (!q, !kt) -> !s
  %1 = "ttir.softmax"(%0) <{dimension = 3 : si32, numericStable = true}> : (!s) -> !s
  %2 = "ttir.matmul"(%1, %v) <{transpose_a = false, transpose_b = false}> : (!s, !q) -> !q
  func.return %1, %2 : !s, !q
}

// CHECK-LABEL: func.func @softmax_over_queries(
func.func @softmax_over_queries(%q: !q, %k: !q, %v: !q) -> !q {
  // CHECK-NOT: "ttir.scaled_dot_product_attention"
  // CHECK: func.return
  %t = "ttir.permute"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (!q) -> !kt
  %0 = "ttir.matmul"(%q, %t) <{transpose_a = false, transpose_b = false}> : (!q, !kt) -> !s
  %1 = "ttir.softmax"(%0) <{dimension = 2 : si32, numericStable = true}> : (!s) -> !s
  %2 = "ttir.matmul"(%1, %v) <{transpose_a = false, transpose_b = false}> : (!s, !q) -> !q
  func.return %2 : !q
}
