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

// A fully masked row gives 0, as in torch's safe softmax.
// CHECK-LABEL: func.func @guarded(
func.func @guarded(%q: !q, %k: !q, %v: !q, %hidden: tensor<1x1x64x64xbf16>) -> !q {
  // CHECK: %[[M:.*]] = "ttir.where"(%hidden, %{{.*}}, %{{.*}}) : (tensor<1x1x64x64xbf16>, tensor<1xbf16>, tensor<1xbf16>)
  // CHECK: %[[A:.*]] = "ttir.scaled_dot_product_attention"(%q, %k, %v, %[[M]])
  // CHECK: %[[G:.*]] = "ttir.max"(%[[M]])
  // CHECK: %[[S:.*]] = "ttir.ne"(%[[G]], %{{.*}})
  // CHECK: %[[R:.*]] = "ttir.where"(%[[S]], %[[A]], %{{.*}})
  // CHECK-NEXT: func.return %[[R]]
  %t = "ttir.permute"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (!q) -> !kt
  %0 = "ttir.matmul"(%q, %t) <{transpose_a = false, transpose_b = false}> : (!q, !kt) -> !s
  %i = "ttir.constant"() <{value = dense<0xFF80> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %z = "ttir.constant"() <{value = dense<0.0> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %1 = "ttir.where"(%hidden, %i, %0) : (tensor<1x1x64x64xbf16>, tensor<1xbf16>, !s) -> !s
  %2 = "ttir.softmax"(%1) <{dimension = 3 : si32, numericStable = true}> : (!s) -> !s
  %3 = "ttir.max"(%1) <{dim_arg = [3 : i32], keep_dim = true}> : (!s) -> tensor<2x4x64x1xbf16>
  %4 = "ttir.eq"(%3, %i) : (tensor<2x4x64x1xbf16>, tensor<1xbf16>) -> tensor<2x4x64x1xbf16>
  %5 = "ttir.where"(%4, %z, %2) : (tensor<2x4x64x1xbf16>, tensor<1xbf16>, !s) -> !s
  %6 = "ttir.matmul"(%5, %v) <{transpose_a = false, transpose_b = false}> : (!s, !q) -> !q
  func.return %6 : !q
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
