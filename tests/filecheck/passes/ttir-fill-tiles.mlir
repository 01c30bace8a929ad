// RUN: pass=ttir-fill-tiles

// An update of a convolution's weights, with their norm: all in matrices of full tiles, between reshapes.
// CHECK-LABEL: func.func @update(
func.func @update(%w: tensor<64x32x3x3xf32>, %g: tensor<64x32x3x3xf32>, %s: tensor<1x1x1x1xf32>) -> (tensor<64x32x3x3xf32>, tensor<f32>) {
  // CHECK-DAG: %[[G:.*]] = "ttir.reshape"(%g) <{shape = [64 : i32, 288 : i32]}>
  // CHECK-DAG: %[[S:.*]] = "ttir.reshape"(%s) <{shape = [1 : i32, 1 : i32]}>
  // CHECK: %[[M:.*]] = "ttir.multiply"(%[[G]], %[[S]]) : {{.*}} -> tensor<64x288xf32>
  // CHECK: %[[W:.*]] = "ttir.reshape"(%w) <{shape = [64 : i32, 288 : i32]}>
  // CHECK: %[[U:.*]] = "ttir.subtract"(%[[W]], %[[M]]) : {{.*}} -> tensor<64x288xf32>
  // CHECK: %[[R:.*]] = "ttir.reshape"(%[[U]]) <{shape = [64 : i32, 32 : i32, 3 : i32, 3 : i32]}>
  // CHECK: "ttir.sum"(%[[M]]) <{dim_arg = [0 : i32, 1 : i32], keep_dim = true}>
  // CHECK: func.return %[[R]]
  %m = "ttir.multiply"(%g, %s) : (tensor<64x32x3x3xf32>, tensor<1x1x1x1xf32>) -> tensor<64x32x3x3xf32>
  %u = "ttir.subtract"(%w, %m) : (tensor<64x32x3x3xf32>, tensor<64x32x3x3xf32>) -> tensor<64x32x3x3xf32>
  %n = "ttir.sum"(%m) <{dim_arg = [0 : i32, 1 : i32, 2 : i32, 3 : i32], keep_dim = false}> : (tensor<64x32x3x3xf32>) -> tensor<f32>
  func.return %u, %n : tensor<64x32x3x3xf32>, tensor<f32>
}

// A vector becomes rows, also one that is filled with a number.
// CHECK-LABEL: func.func @vector(
func.func @vector(%x: tensor<1048576xf32>, %n: tensor<1xf32>) -> tensor<1048576xf32> {
  // CHECK-DAG: %[[X:.*]] = "ttir.reshape"(%x) <{shape = [1024 : i32, 1024 : i32]}>
  // CHECK-DAG: %[[B:.*]] = "ttir.broadcast"(%{{.*}}) <{broadcast_dimensions = array<i64: 1024, 1024>}>
  // CHECK: "ttir.add"(%[[X]], %[[B]])
  %b = "ttir.broadcast"(%n) <{broadcast_dimensions = array<i64: 1048576>}> : (tensor<1xf32>) -> tensor<1048576xf32>
  %a = "ttir.add"(%x, %b) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  func.return %a : tensor<1048576xf32>
}

// A group norm needs its dimensions, so the square between its ops keeps them.
// CHECK-LABEL: func.func @norm(
func.func @norm(%x: tensor<2x256x8x4xf32>) -> tensor<2x256x8x4xf32> {
  // CHECK-NEXT: "ttir.mean"(%x)
  // CHECK-NEXT: %[[D:.*]] = "ttir.subtract"(%x, %{{.*}}) : {{.*}} -> tensor<2x256x8x4xf32>
  // CHECK-NEXT: "ttir.multiply"(%[[D]], %[[D]]) : {{.*}} -> tensor<2x256x8x4xf32>
  // CHECK-NEXT: func.return
  %m = "ttir.mean"(%x) <{dim_arg = [1 : i32, 3 : i32], keep_dim = true}> : (tensor<2x256x8x4xf32>) -> tensor<2x1x8x1xf32>
  %d = "ttir.subtract"(%x, %m) : (tensor<2x256x8x4xf32>, tensor<2x1x8x1xf32>) -> tensor<2x256x8x4xf32>
  %q = "ttir.multiply"(%d, %d) : (tensor<2x256x8x4xf32>, tensor<2x256x8x4xf32>) -> tensor<2x256x8x4xf32>
  func.return %q : tensor<2x256x8x4xf32>
}

// Small tensors stay.
// CHECK-LABEL: func.func @small(
func.func @small(%x: tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32> {
  // CHECK-NEXT: "ttir.exp"(%x)
  // CHECK-NEXT: func.return
  %a = "ttir.exp"(%x) : (tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
  func.return %a : tensor<8x4x3x3xf32>
}
