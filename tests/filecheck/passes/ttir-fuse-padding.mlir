// RUN: pass=ttir-fuse

// padded_conv. The pad may differ by side, and the convolution may have a padding of its own. Here channels come first.
// CHECK-LABEL: func.func @pad_before_conv(
func.func @pad_before_conv(%x: tensor<1x4x6x6xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x3x5xf32> {
  // CHECK-NEXT: "ttir.conv2d"(%x, %w) <{stride = array<i32: 2, 2>, padding = array<i32: 1, 3, 1, 2>
  // CHECK-NEXT: func.return
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 0, 0, 0, 0, 2, 1>, value = 0.0 : f32}> : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x9xf32>
  %b = "ttir.conv2d"(%a, %w) <{stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<1x4x6x9xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x3x5xf32>
  func.return %b : tensor<1x4x3x5xf32>
}

// CHECK-LABEL: func.func @pad_with_another_value_stays(
func.func @pad_with_another_value_stays(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.pad"(%x)
  // CHECK-NEXT: "ttir.conv2d"(%[[A]], %w)
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 1, 1, 1, 1, 0, 0>, value = 1.0 : f32}> : (tensor<1x6x6x4xf32>) -> tensor<1x8x8x4xf32>
  %b = "ttir.conv2d"(%a, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x8x8x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return %b : tensor<1x6x6x4xf32>
}

// CHECK-LABEL: func.func @pad_of_channels_stays(
func.func @pad_of_channels_stays(%x: tensor<1x6x6x3xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.pad"(%x)
  // CHECK-NEXT: "ttir.conv2d"(%[[A]], %w)
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 1, 1, 1, 1, 0, 1>, value = 0.0 : f32}> : (tensor<1x6x6x3xf32>) -> tensor<1x8x8x4xf32>
  %b = "ttir.conv2d"(%a, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x8x8x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  func.return %b : tensor<1x6x6x4xf32>
}

// padded_pool.
// CHECK-LABEL: func.func @pad_before_maximum(
func.func @pad_before_maximum(%x: tensor<1x6x6x4xf32>) -> tensor<1x3x3x4xf32> {
  // CHECK-NEXT: "ttir.max_pool2d"(%x) <{{.*}}padding = array<i32: 0, 0, 1, 1>
  // CHECK-NEXT: func.return
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 0, 1, 0, 1, 0, 0>, value = 0xFF800000 : f32}> : (tensor<1x6x6x4xf32>) -> tensor<1x7x7x4xf32>
  %b = "ttir.max_pool2d"(%a) <{kernel = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x7x7x4xf32>) -> tensor<1x3x3x4xf32>
  func.return %b : tensor<1x3x3x4xf32>
}

// A maximum over zeros differs from one that leaves the padding out.
// CHECK-LABEL: func.func @zeros_before_maximum_stay(
func.func @zeros_before_maximum_stay(%x: tensor<1x6x6x4xf32>) -> tensor<1x3x3x4xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.pad"(%x)
  // CHECK-NEXT: "ttir.max_pool2d"(%[[A]])
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 0, 1, 0, 1, 0, 0>, value = 0.0 : f32}> : (tensor<1x6x6x4xf32>) -> tensor<1x7x7x4xf32>
  %b = "ttir.max_pool2d"(%a) <{kernel = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x7x7x4xf32>) -> tensor<1x3x3x4xf32>
  func.return %b : tensor<1x3x3x4xf32>
}

// CHECK-LABEL: func.func @pads_before_means(
func.func @pads_before_means(%x: tensor<1x6x6x4xf32>) -> (tensor<1x3x3x4xf32>, tensor<1x3x3x4xf32>) {
  // CHECK-NEXT: "ttir.avg_pool2d"(%x) <{{.*}}padding = array<i32: 0, 0, 1, 1>
  // CHECK-NEXT: %[[A:.*]] = "ttir.pad"(%x)
  // CHECK-NEXT: "ttir.avg_pool2d"(%[[A]])
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 0, 1, 0, 1, 0, 0>, value = 0.0 : f32}> : (tensor<1x6x6x4xf32>) -> tensor<1x7x7x4xf32>
  %b = "ttir.avg_pool2d"(%a) <{kernel = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = true}> : (tensor<1x7x7x4xf32>) -> tensor<1x3x3x4xf32>
  %c = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 0, 1, 0, 1, 0, 0>, value = 0.0 : f32}> : (tensor<1x6x6x4xf32>) -> tensor<1x7x7x4xf32>
  %d = "ttir.avg_pool2d"(%c) <{kernel = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x7x7x4xf32>) -> tensor<1x3x3x4xf32>
  func.return %b, %d : tensor<1x3x3x4xf32>, tensor<1x3x3x4xf32>
}

// A last window that begins in the padding is left out, so the pad, which makes elements of it, stays.
// CHECK-LABEL: func.func @pads_before_windows_that_are_cut_stay(
func.func @pads_before_windows_that_are_cut_stay(%x: tensor<1x6x6x4xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.pad"(%x)
  // CHECK-NEXT: "ttir.max_pool2d"(%[[A]])
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 0, 1, 0, 1, 0, 0>, value = 0xFF800000 : f32}> : (tensor<1x6x6x4xf32>) -> tensor<1x7x7x4xf32>
  %b = "ttir.max_pool2d"(%a) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = true}> : (tensor<1x7x7x4xf32>) -> tensor<1x4x4x4xf32>
  func.return %b : tensor<1x4x4x4xf32>
}
