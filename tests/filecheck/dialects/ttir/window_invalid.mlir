// RUN: invalid

// expected-error: result has shape (2, 4, 8, 6), expected (2, 4, 7, 6)
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x8x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x8x6xbf16>
  func.return %3 : tensor<2x4x8x6xbf16>
}

// -----

// expected-error: input has shape (7, 8, 4) and weight (6, 2, 3, 2), expected rank 4
func.func @conv2d(%0: tensor<7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>) -> tensor<2x4x7x6xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<7x8x4xbf16>, tensor<6x2x3x2xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %2 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: input has shape (2, 7, 8, 4) and weight (6, 2, 3), expected rank 4
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3xbf16>) -> tensor<2x4x7x6xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %2 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: 4 input channels do not fit weight (6, 2, 3, 2) in 1 groups
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: 4 input channels do not fit weight (6, 1, 3, 2) in 4 groups
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x1x3x2xbf16>) -> tensor<2x4x7x6xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 4 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x1x3x2xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %2 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: 4 input channels do not fit weight (6, 2, 3, 2) in 0 groups
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 0 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: bias has shape (6,), expected (1, 1, 1, 6)
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: kernel 3, stride 0 and dilation 1 must be 1 or more
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 0, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: a window of 19 does not fit in 7 + 1 + 2
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 9, 1>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: stride (2,) has 1 entries, expected 2
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: padding (1, 1, 1) has 3 entries, expected 2 or 4
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 1, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: padding (1, 0, -2, 1) has a negative entry
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, -2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: dilation (1, 1, 1) has 3 entries, expected 2
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 1, 1>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: batch_dim, height_dim, width_dim, channel_dim are (0, 1, 2, 4), expected 0 to 3 in some order
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 4 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: batch_dim, height_dim, width_dim, channel_dim are (0, 1, 2, 2), expected 0 to 3 in some order
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 2 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = 1 : i8, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = 1 : i8, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = 1 : i8, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 1 : i8, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i64 integer, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 1 : i8, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i64 integer, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i8, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i64 integer, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 1 : i8, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: expected an i64 integer, got 1 : i8
func.func @conv2d(%0: tensor<2x7x8x4xbf16>, %1: tensor<6x2x3x2xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16> {
  %3 = "ttir.conv2d"(%0, %1, %2) <{stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 1 : i8}> : (tensor<2x7x8x4xbf16>, tensor<6x2x3x2xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x4x7x6xbf16>
  func.return %3 : tensor<2x4x7x6xbf16>
}

// -----

// expected-error: result has shape (2, 4, 5, 3), expected (2, 4, 4, 3)
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x5x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x5x3xbf16>
  func.return %1 : tensor<2x4x5x3xbf16>
}

// -----

// expected-error: input has shape (7, 8, 3), expected [N, H, W, C]
func.func @max_pool2d(%0: tensor<7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: kernel 0, stride 2 and dilation 1 must be 1 or more
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 0, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: a window of 10 does not fit in 7 + 1 + 1
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 10, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: kernel (3,) has 1 entries, expected 2
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: stride (2, 2, 2) has 3 entries, expected 2
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: dilation () has 0 entries, expected 2
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: padding (1, 0, 0) has 3 entries, expected 2 or 4
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: padding (-1, 0, 1, 0) has a negative entry
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: -1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = 1 : i8, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = 1 : i8, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = 1 : i8, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = 1 : i8, ceil_mode = false}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @max_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.max_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = 1 : i8}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: result has shape (2, 4, 5, 3), expected (2, 4, 4, 3)
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x5x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x5x3xbf16>
  func.return %1 : tensor<2x4x5x3xbf16>
}

// -----

// expected-error: input has shape (7, 8, 3), expected [N, H, W, C]
func.func @avg_pool2d(%0: tensor<7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: kernel 0, stride 2 and dilation 1 must be 1 or more
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 0, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: a window of 10 does not fit in 7 + 1 + 1
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 10, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: kernel (3,) has 1 entries, expected 2
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: stride (2, 2, 2) has 3 entries, expected 2
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: dilation () has 0 entries, expected 2
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: padding (1, 0, 0) has 3 entries, expected 2 or 4
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: padding (-1, 0, 1, 0) has a negative entry
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: -1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = 1 : i8, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = 1 : i8, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = 1 : i8, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected an i32 integer or array<i32: ...>, got 1 : i8
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = 1 : i8, ceil_mode = false, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = 1 : i8, count_include_pad = true}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @avg_pool2d(%0: tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16> {
  %1 = "ttir.avg_pool2d"(%0) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false, count_include_pad = 1 : i8}> : (tensor<2x7x8x3xbf16>) -> tensor<2x4x4x3xbf16>
  func.return %1 : tensor<2x4x4x3xbf16>
}
