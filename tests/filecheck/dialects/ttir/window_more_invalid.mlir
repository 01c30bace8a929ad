// RUN: invalid

// expected-error: has shape (2, 8, 9), expected (2, 8, 8)
func.func @conv1d(%0: tensor<2x16x4xbf16>, %1: tensor<8x2x3xbf16>, %2: tensor<1x1x8xbf16>) -> tensor<2x8x9xbf16> {
  %3 = "ttir.conv1d"(%0, %1, %2) <{stride = 2 : i32, padding = array<i32: 1, 1>, dilation = array<i32: 1>, groups = 2 : i32}> : (tensor<2x16x4xbf16>, tensor<8x2x3xbf16>, tensor<1x1x8xbf16>) -> tensor<2x8x9xbf16>
  func.return %3 : tensor<2x8x9xbf16>
}

// -----

// expected-error: stride (2, 2) has 2 entries, expected 1
func.func @conv1d(%0: tensor<2x16x4xbf16>, %1: tensor<8x2x3xbf16>, %2: tensor<1x1x8xbf16>) -> tensor<2x8x8xbf16> {
  %3 = "ttir.conv1d"(%0, %1, %2) <{stride = array<i32: 2, 2>, padding = 1 : i32, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x16x4xbf16>, tensor<8x2x3xbf16>, tensor<1x1x8xbf16>) -> tensor<2x8x8xbf16>
  func.return %3 : tensor<2x8x8xbf16>
}

// -----

// expected-error: has shape (2, 8, 8, 7), expected (2, 8, 8, 6)
func.func @conv2d(%0: tensor<2x8x8x4xbf16>, %1: tensor<6x4x3x3xbf16>) -> tensor<2x8x8x7xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = 1 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 1 : i32}> : (tensor<2x8x8x4xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x8x8x7xbf16>
  func.return %2 : tensor<2x8x8x7xbf16>
}

// -----

// expected-error: padding (1, 1, 1) has 3 entries, expected 2 or 4
func.func @conv2d(%0: tensor<2x8x8x4xbf16>, %1: tensor<6x4x3x3xbf16>) -> tensor<2x8x8x6xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = 1 : i32, padding = array<i32: 1, 1, 1>, dilation = 1 : i32, groups = 1 : i32}> : (tensor<2x8x8x4xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x8x8x6xbf16>
  func.return %2 : tensor<2x8x8x6xbf16>
}

// -----

// expected-error: has shape (2, 16, 16, 7), expected (2, 16, 16, 6)
func.func @conv_transpose2d(%0: tensor<2x8x8x4xbf16>, %1: tensor<4x3x3x3xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x16x16x7xbf16> {
  %3 = "ttir.conv_transpose2d"(%0, %1, %2) <{stride = array<i32: 2, 2>, padding = 1 : i32, output_padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x8x8x4xbf16>, tensor<4x3x3x3xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x16x16x7xbf16>
  func.return %3 : tensor<2x16x16x7xbf16>
}

// -----

// expected-error: 5 input channels do not fit weight (4, 3, 3, 3) in 2 groups
func.func @conv_transpose2d(%0: tensor<2x8x8x5xbf16>, %1: tensor<4x3x3x3xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x16x16x6xbf16> {
  %3 = "ttir.conv_transpose2d"(%0, %1, %2) <{stride = array<i32: 2, 2>, padding = 1 : i32, output_padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x8x8x5xbf16>, tensor<4x3x3x3xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x16x16x6xbf16>
  func.return %3 : tensor<2x16x16x6xbf16>
}

// -----

// expected-error: bias has shape (1, 1, 1, 3), expected (1, 1, 1, 6)
func.func @conv_transpose2d(%0: tensor<2x8x8x4xbf16>, %1: tensor<4x3x3x3xbf16>, %2: tensor<1x1x1x3xbf16>) -> tensor<2x16x16x6xbf16> {
  %3 = "ttir.conv_transpose2d"(%0, %1, %2) <{stride = array<i32: 2, 2>, padding = 1 : i32, output_padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x8x8x4xbf16>, tensor<4x3x3x3xbf16>, tensor<1x1x1x3xbf16>) -> tensor<2x16x16x6xbf16>
  func.return %3 : tensor<2x16x16x6xbf16>
}

// -----

// expected-error: has shape (2, 4, 4, 4, 7), expected (2, 4, 4, 4, 6)
func.func @conv3d(%0: tensor<2x4x8x8x3xbf16>, %1: tensor<6x3x3x3x3xbf16>, %2: tensor<1x1x1x1x6xbf16>) -> tensor<2x4x4x4x7xbf16> {
  %3 = "ttir.conv3d"(%0, %1, %2) <{stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32}> : (tensor<2x4x8x8x3xbf16>, tensor<6x3x3x3x3xbf16>, tensor<1x1x1x1x6xbf16>) -> tensor<2x4x4x4x7xbf16>
  func.return %3 : tensor<2x4x4x4x7xbf16>
}

// -----

// expected-error: stride (1, 2) has 2 entries, expected 3
func.func @conv3d(%0: tensor<2x4x8x8x3xbf16>, %1: tensor<6x3x3x3x3xbf16>, %2: tensor<1x1x1x1x6xbf16>) -> tensor<2x4x4x4x6xbf16> {
  %3 = "ttir.conv3d"(%0, %1, %2) <{stride = array<i32: 1, 2>, padding = 1 : i32, groups = 1 : i32}> : (tensor<2x4x8x8x3xbf16>, tensor<6x3x3x3x3xbf16>, tensor<1x1x1x1x6xbf16>) -> tensor<2x4x4x4x6xbf16>
  func.return %3 : tensor<2x4x4x4x6xbf16>
}

// -----

// expected-error: result_indices has shape (2, 4, 4, 5), expected (2, 4, 4, 4)
func.func @max_pool2d_with_indices(%0: tensor<2x8x8x4xbf16>) -> (tensor<2x4x4x4xbf16>, tensor<2x4x4x5xsi32>) {
  %1:2 = "ttir.max_pool2d_with_indices"(%0) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = false}> : (tensor<2x8x8x4xbf16>) -> (tensor<2x4x4x4xbf16>, tensor<2x4x4x5xsi32>)
  func.return %1#0, %1#1 : tensor<2x4x4x4xbf16>, tensor<2x4x4x5xsi32>
}

// -----

// expected-error: has shape (2, 8, 12, 9), expected (2, 8, 12, 8)
func.func @upsample2d(%0: tensor<2x4x4x8xbf16>) -> tensor<2x8x12x9xbf16> {
  %1 = "ttir.upsample2d"(%0) <{scale_factor = array<i32: 2, 3>, mode = "bilinear"}> : (tensor<2x4x4x8xbf16>) -> tensor<2x8x12x9xbf16>
  func.return %1 : tensor<2x8x12x9xbf16>
}

// -----

// expected-error: mode is 'cubic', expected nearest or bilinear
func.func @upsample2d(%0: tensor<2x4x4x8xbf16>) -> tensor<2x8x12x8xbf16> {
  %1 = "ttir.upsample2d"(%0) <{scale_factor = 2 : si32, mode = "cubic"}> : (tensor<2x4x4x8xbf16>) -> tensor<2x8x12x8xbf16>
  func.return %1 : tensor<2x8x12x8xbf16>
}

// -----

// expected-error: scale_factor (2,) has 1 entries, expected 2
func.func @upsample2d(%0: tensor<2x4x4x8xbf16>) -> tensor<2x8x12x8xbf16> {
  %1 = "ttir.upsample2d"(%0) <{scale_factor = array<i32: 2>}> : (tensor<2x4x4x8xbf16>) -> tensor<2x8x12x8xbf16>
  func.return %1 : tensor<2x8x12x8xbf16>
}

// -----

// expected-error: has shape (2, 1, 1, 9), expected (2, 1, 1, 8)
func.func @global_avg_pool2d(%0: tensor<2x4x4x8xbf16>) -> tensor<2x1x1x9xbf16> {
  %1 = "ttir.global_avg_pool2d"(%0) : (tensor<2x4x4x8xbf16>) -> tensor<2x1x1x9xbf16>
  func.return %1 : tensor<2x1x1x9xbf16>
}
