// RUN: roundtrip

// CHECK-LABEL: func.func @conv2d(
// CHECK: "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// CHECK-LABEL: func.func @conv2d_channels_first(
// CHECK: "ttir.conv2d"(%0, %1) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<2x4x7x8xbf16>, tensor<6x2x3x2xbf16>) -> tensor<2x6x4x7xbf16>
func.func @conv2d_channels_first(%0: tensor<2x4x7x8xbf16>, %1: tensor<6x2x3x2xbf16>) -> tensor<2x6x4x7xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<2x4x7x8xbf16>, tensor<6x2x3x2xbf16>) -> tensor<2x6x4x7xbf16>
  func.return %2 : tensor<2x6x4x7xbf16>
}

// CHECK-LABEL: func.func @max_pool2d(
// CHECK: "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// CHECK-LABEL: func.func @max_pool2d_ceil(
// CHECK: "ttir.max_pool2d"(%0) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
func.func @max_pool2d_ceil(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// CHECK-LABEL: func.func @avg_pool2d(
// CHECK: "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}
