// RUN: pass=ttir-fuse

!x = tensor<1x64x64xbf16>
!w = tensor<64x64xbf16>
!r = tensor<1x64x2x32xbf16>
!h = tensor<1x2x64x32xbf16>
!t = tensor<1x2x32x64xbf16>

// CHECK-LABEL: func.func @three_projections(
func.func @three_projections(%x: !x, %q: !w, %k: !w, %v: !w) -> (!h, !h, !h) {
  // CHECK-NEXT: %[[W:.*]] = "ttir.concat"(%q, %k, %v) <{dim = 1 : si32}>
  // CHECK-NEXT: %[[P:.*]] = "ttir.matmul"(%x, %[[W]])
  // CHECK-NEXT: "ttir.split_query_key_value_and_split_heads"(%[[P]])
  // CHECK-SAME: num_heads = 2
  // CHECK-NEXT: func.return
  %m0 = "ttir.matmul"(%x, %q) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r0 = "ttir.reshape"(%m0) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h0 = "ttir.permute"(%r0) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %m1 = "ttir.matmul"(%x, %k) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r1 = "ttir.reshape"(%m1) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h1 = "ttir.permute"(%r1) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %m2 = "ttir.matmul"(%x, %v) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r2 = "ttir.reshape"(%m2) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h2 = "ttir.permute"(%r2) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  func.return %h0, %h1, %h2 : !h, !h, !h
}

// Heads with their last two dimensions exchanged are permuted behind the split, which comes after the first product.
// CHECK-LABEL: func.func @turned_before_the_others(
func.func @turned_before_the_others(%x: !x, %q: !w, %k: !w, %v: !w) -> (!t, !h, !h) {
  // CHECK: %[[H:.*]], %{{.*}}, %{{.*}} = "ttir.split_query_key_value_and_split_heads"
  // CHECK-NEXT: %[[T:.*]] = "ttir.permute"(%[[H]]) <{permutation = array<i64: 0, 1, 3, 2>}>
  // CHECK-NEXT: func.return %[[T]]
  %m0 = "ttir.matmul"(%x, %q) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r0 = "ttir.reshape"(%m0) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h0 = "ttir.permute"(%r0) <{permutation = array<i64: 0, 2, 3, 1>}> : (!r) -> !t
  %m1 = "ttir.matmul"(%x, %k) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r1 = "ttir.reshape"(%m1) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h1 = "ttir.permute"(%r1) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %m2 = "ttir.matmul"(%x, %v) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r2 = "ttir.reshape"(%m2) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h2 = "ttir.permute"(%r2) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  func.return %h0, %h1, %h2 : !t, !h, !h
}

// The query is scaled before the other products, so the split is inserted before the scale.
// CHECK-LABEL: func.func @used_between(
func.func @used_between(%x: !x, %q: !w, %k: !w, %v: !w) -> (!h, !h, !h) {
  // CHECK: %[[H:.*]], %[[K:.*]], %[[V:.*]] = "ttir.split_query_key_value_and_split_heads"
  // CHECK-NEXT: %[[S:.*]] = "ttir.add"(%[[H]], %[[H]])
  // CHECK-NEXT: func.return %[[S]], %[[K]], %[[V]]
  %m0 = "ttir.matmul"(%x, %q) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r0 = "ttir.reshape"(%m0) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h0 = "ttir.permute"(%r0) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %s0 = "ttir.add"(%h0, %h0) : (!h, !h) -> !h
  %m1 = "ttir.matmul"(%x, %k) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r1 = "ttir.reshape"(%m1) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h1 = "ttir.permute"(%r1) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %m2 = "ttir.matmul"(%x, %v) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r2 = "ttir.reshape"(%m2) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h2 = "ttir.permute"(%r2) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  func.return %s0, %h1, %h2 : !h, !h, !h
}

// The weight of the value depends on the scaled query, so the three products cannot be merged.
// CHECK-LABEL: func.func @made_between(
func.func @made_between(%x: tensor<64x64xbf16>, %q: !w, %k: !w) -> (!h, !h) {
  // CHECK-NOT: "ttir.split_query_key_value_and_split_heads"
  // CHECK: func.return
  %m0 = "ttir.matmul"(%x, %q) <{transpose_a = false, transpose_b = false}> : (!w, !w) -> !w
  %r0 = "ttir.reshape"(%m0) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!w) -> !r
  %h0 = "ttir.permute"(%r0) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %s0 = "ttir.exp"(%h0) : (!h) -> !h
  %m1 = "ttir.matmul"(%x, %k) <{transpose_a = false, transpose_b = false}> : (!w, !w) -> !w
  %r1 = "ttir.reshape"(%m1) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!w) -> !r
  %h1 = "ttir.permute"(%r1) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %v = "ttir.reshape"(%s0) <{shape = [64 : i32, 64 : i32]}> : (!h) -> !w
  %m2 = "ttir.matmul"(%x, %v) <{transpose_a = false, transpose_b = false}> : (!w, !w) -> !w
  %r2 = "ttir.reshape"(%m2) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!w) -> !r
  %h2 = "ttir.permute"(%r2) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  func.return %h1, %h2 : !h, !h
}

// CHECK-LABEL: func.func @two_projections(
func.func @two_projections(%x: !x, %q: !w, %k: !w) -> (!h, !h) {
  // CHECK-NOT: "ttir.split_query_key_value_and_split_heads"
  // CHECK: func.return
  %m0 = "ttir.matmul"(%x, %q) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r0 = "ttir.reshape"(%m0) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h0 = "ttir.permute"(%r0) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  %m1 = "ttir.matmul"(%x, %k) <{transpose_a = false, transpose_b = false}> : (!x, !w) -> !x
  %r1 = "ttir.reshape"(%m1) <{shape = [1 : i32, 64 : i32, 2 : i32, 32 : i32]}> : (!x) -> !r
  %h1 = "ttir.permute"(%r1) <{permutation = array<i64: 0, 2, 1, 3>}> : (!r) -> !h
  func.return %h0, %h1 : !h, !h
}

// The weights are larger than the input and change between runs.
// CHECK-LABEL: func.func @few_rows(
func.func @few_rows(%x: tensor<1x8x64xbf16>, %q: !w, %k: !w, %v: !w)
    -> (tensor<1x2x8x32xbf16>, tensor<1x2x8x32xbf16>, tensor<1x2x8x32xbf16>) {
  // CHECK-NOT: "ttir.concat"
  // CHECK: func.return
  %m0 = "ttir.matmul"(%x, %q) <{transpose_a = false, transpose_b = false}> : (tensor<1x8x64xbf16>, !w) -> tensor<1x8x64xbf16>
  %r0 = "ttir.reshape"(%m0) <{shape = [1 : i32, 8 : i32, 2 : i32, 32 : i32]}> : (tensor<1x8x64xbf16>) -> tensor<1x8x2x32xbf16>
  %h0 = "ttir.permute"(%r0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<1x8x2x32xbf16>) -> tensor<1x2x8x32xbf16>
  %m1 = "ttir.matmul"(%x, %k) <{transpose_a = false, transpose_b = false}> : (tensor<1x8x64xbf16>, !w) -> tensor<1x8x64xbf16>
  %r1 = "ttir.reshape"(%m1) <{shape = [1 : i32, 8 : i32, 2 : i32, 32 : i32]}> : (tensor<1x8x64xbf16>) -> tensor<1x8x2x32xbf16>
  %h1 = "ttir.permute"(%r1) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<1x8x2x32xbf16>) -> tensor<1x2x8x32xbf16>
  %m2 = "ttir.matmul"(%x, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x8x64xbf16>, !w) -> tensor<1x8x64xbf16>
  %r2 = "ttir.reshape"(%m2) <{shape = [1 : i32, 8 : i32, 2 : i32, 32 : i32]}> : (tensor<1x8x64xbf16>) -> tensor<1x8x2x32xbf16>
  %h2 = "ttir.permute"(%r2) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<1x8x2x32xbf16>) -> tensor<1x2x8x32xbf16>
  func.return %h0, %h1, %h2 : tensor<1x2x8x32xbf16>, tensor<1x2x8x32xbf16>, tensor<1x2x8x32xbf16>
}

// CHECK-LABEL: func.func @joined(
func.func @joined(%x: !h) -> !x {
  // CHECK-NEXT: %[[J:.*]] = "ttir.concatenate_heads"(%x)
  // CHECK-NEXT: func.return %[[J]]
  %0 = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 1, 3>}> : (!h) -> !r
  %1 = "ttir.reshape"(%0) <{shape = [1 : i32, 64 : i32, 64 : i32]}> : (!r) -> !x
  func.return %1 : !x
}

// CHECK-LABEL: func.func @joined_otherwise(
func.func @joined_otherwise(%x: !h) -> tensor<1x128x32xbf16> {
  // CHECK-NOT: "ttir.concatenate_heads"
  // CHECK: func.return
  %0 = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 1, 3>}> : (!h) -> !r
  %1 = "ttir.reshape"(%0) <{shape = [1 : i32, 128 : i32, 32 : i32]}> : (!r) -> tensor<1x128x32xbf16>
  func.return %1 : tensor<1x128x32xbf16>
}
