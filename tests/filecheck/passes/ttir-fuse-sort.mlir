// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @downwards(
func.func @downwards(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: %[[V:.*]], %{{.*}} = "ttir.sort"(%x) <{{{.*}}descending = true
  // CHECK-NEXT: %[[K:.*]], %{{.*}} = "ttir.topk"(%x) <{k = 3 : i32, {{.*}}largest = false
  // CHECK-NEXT: func.return %[[V]], %[[K]]
  %v, %i = "ttir.sort"(%x) <{dim = 1 : si32, descending = false}> : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xsi32>)
  %r = "ttir.reverse"(%v) <{dimensions = array<i64: 1>}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %k = "ttir.slice_static"(%v) <{begins = [0 : i32, 0 : i32], ends = [2 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<2x3xf32>
  func.return %r, %k : tensor<2x8xf32>, tensor<2x3xf32>
}

// Positions are used: among equal values, the reversed sort would return other positions first.
// CHECK-LABEL: func.func @positions(
func.func @positions(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x3xf32>, tensor<2x8xsi32>) {
  // CHECK: "ttir.sort"
  // CHECK-NEXT: "ttir.reverse"
  // CHECK-NEXT: "ttir.slice_static"
  %v, %i = "ttir.sort"(%x) <{dim = 1 : si32, descending = false}> : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xsi32>)
  %r = "ttir.reverse"(%v) <{dimensions = array<i64: 1>}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %k = "ttir.slice_static"(%v) <{begins = [0 : i32, 0 : i32], ends = [2 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<2x3xf32>
  func.return %r, %k, %i : tensor<2x8xf32>, tensor<2x3xf32>, tensor<2x8xsi32>
}
