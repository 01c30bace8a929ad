// RUN: pass=ttir-decompose optimization_level=1

// Rows of a patch stay together, so only they move. The weight follows their order, here channels first.
// CHECK-LABEL: func.func @embedding_of_patches(
func.func @embedding_of_patches(%x: tensor<2x3x32x64xf32>, %w: tensor<8x3x16x16xf32>, %b: tensor<1x1x1x8xf32>) -> tensor<2x8x2x4xf32> {
  // CHECK: %[[A:.*]] = "ttir.reshape"(%x) <{shape = [2 : i32, 3 : i32, 2 : i32, 16 : i32, 4 : i32, 16 : i32]}>
  // CHECK-NEXT: %[[P:.*]] = "ttir.permute"(%[[A]]) <{permutation = array<i64: 0, 2, 4, 1, 3, 5>}>
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%[[P]]) {{.*}} -> tensor<2x8x768xf32>
  // CHECK: "ttir.linear"(%[[R]], {{.*}}) {{.*}} -> tensor<2x8x8xf32>
  // CHECK-NOT: "ttir.conv2d"
  %0 = "ttir.conv2d"(%x, %w, %b) <{stride = array<i32: 16, 16>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<2x3x32x64xf32>, tensor<8x3x16x16xf32>, tensor<1x1x1x8xf32>) -> tensor<2x8x2x4xf32>
  func.return %0 : tensor<2x8x2x4xf32>
}

// Windows that overlap, narrow patches, and inputs that patches do not cover stay convolutions.
// CHECK-LABEL: func.func @other_windows(
func.func @other_windows(%x: tensor<2x32x64x3xf32>, %w: tensor<8x3x16x16xf32>, %n: tensor<8x3x4x4xf32>, %y: tensor<2x32x65x3xf32>) -> (tensor<2x3x7x8xf32>, tensor<2x8x16x8xf32>, tensor<2x2x4x8xf32>) {
  // CHECK-NEXT: "ttir.conv2d"(%x, %w)
  // CHECK-NEXT: "ttir.conv2d"(%x, %n)
  // CHECK-NEXT: "ttir.conv2d"(%y, %w)
  %0 = "ttir.conv2d"(%x, %w) <{stride = array<i32: 8, 8>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x32x64x3xf32>, tensor<8x3x16x16xf32>) -> tensor<2x3x7x8xf32>
  %1 = "ttir.conv2d"(%x, %n) <{stride = array<i32: 4, 4>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x32x64x3xf32>, tensor<8x3x4x4xf32>) -> tensor<2x8x16x8xf32>
  %2 = "ttir.conv2d"(%y, %w) <{stride = array<i32: 16, 16>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x32x65x3xf32>, tensor<8x3x16x16xf32>) -> tensor<2x2x4x8xf32>
  func.return %0, %1, %2 : tensor<2x3x7x8xf32>, tensor<2x8x16x8xf32>, tensor<2x2x4x8xf32>
}
