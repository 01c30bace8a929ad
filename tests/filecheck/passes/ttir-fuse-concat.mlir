// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @neighbours(
func.func @neighbours(%x: tensor<2x8xf32>, %y: tensor<2x1xf32>) -> tensor<2x6xf32> {
  // CHECK-NEXT: %[[S:.*]] = "ttir.slice_static"(%x) <{begins = [0 : i32, 1 : i32], ends = [2 : i32, 6 : i32]
  // CHECK-NEXT: "ttir.concat"(%[[S]], %y)
  %a = "ttir.slice_static"(%x) <{begins = [0 : i32, 1 : i32], ends = [2 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<2x2xf32>
  %b = "ttir.slice_static"(%x) <{begins = [0 : i32, 3 : i32], ends = [2 : i32, 6 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<2x3xf32>
  %c = "ttir.concat"(%a, %b, %y) <{dim = 1 : si32}> : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x6xf32>
  func.return %c : tensor<2x6xf32>
}

// Not fused: slices of other rows, and slices in the other order.
// CHECK-LABEL: func.func @strangers(
func.func @strangers(%x: tensor<2x8xf32>) -> (tensor<1x8xf32>, tensor<2x8xf32>) {
  // CHECK: "ttir.concat"
  // CHECK: "ttir.concat"
  %a = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32], ends = [1 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<1x4xf32>
  %b = "ttir.slice_static"(%x) <{begins = [1 : i32, 4 : i32], ends = [2 : i32, 8 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<1x4xf32>
  %c = "ttir.concat"(%a, %b) <{dim = 1 : si32}> : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
  %d = "ttir.slice_static"(%x) <{begins = [0 : i32, 4 : i32], ends = [2 : i32, 8 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %e = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32], ends = [2 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %f = "ttir.concat"(%d, %e) <{dim = 1 : si32}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  func.return %c, %f : tensor<1x8xf32>, tensor<2x8xf32>
}
