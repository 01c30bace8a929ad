// RUN: roundtrip

// CHECK-LABEL: func.func @conv1d(
// CHECK: "ttir.conv1d"({{.*}}) <{stride = 2 : i32, padding = array<i32: 1, 1>, dilation = array<i32: 1>, groups = 2 : i32}> :
func.func @conv1d(%0: tensor<2x16x4xbf16>, %1: tensor<8x2x3xbf16>, %2: tensor<1x1x8xbf16>) -> tensor<2x8x8xbf16> {
  %3 = "ttir.conv1d"(%0, %1, %2) <{stride = 2 : i32, padding = array<i32: 1, 1>, dilation = array<i32: 1>, groups = 2 : i32}> : (tensor<2x16x4xbf16>, tensor<8x2x3xbf16>, tensor<1x1x8xbf16>) -> tensor<2x8x8xbf16>
  func.return %3 : tensor<2x8x8xbf16>
}

// CHECK-LABEL: func.func @conv2d(
// CHECK: "ttir.conv2d"({{.*}}) <{stride = 1 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 1 : i32}> :
func.func @conv2d(%0: tensor<2x8x8x4xbf16>, %1: tensor<6x4x3x3xbf16>) -> tensor<2x8x8x6xbf16> {
  %2 = "ttir.conv2d"(%0, %1) <{stride = 1 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 1 : i32}> : (tensor<2x8x8x4xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x8x8x6xbf16>
  func.return %2 : tensor<2x8x8x6xbf16>
}

// CHECK-LABEL: func.func @conv_transpose2d(
// CHECK: "ttir.conv_transpose2d"({{.*}}) <{stride = array<i32: 2, 2>, padding = 1 : i32, output_padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> :
func.func @conv_transpose2d(%0: tensor<2x8x8x4xbf16>, %1: tensor<4x3x3x3xbf16>, %2: tensor<1x1x1x6xbf16>) -> tensor<2x16x16x6xbf16> {
  %3 = "ttir.conv_transpose2d"(%0, %1, %2) <{stride = array<i32: 2, 2>, padding = 1 : i32, output_padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x8x8x4xbf16>, tensor<4x3x3x3xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x16x16x6xbf16>
  func.return %3 : tensor<2x16x16x6xbf16>
}

// CHECK-LABEL: func.func @conv3d(
// CHECK: "ttir.conv3d"({{.*}}) <{stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32}> :
func.func @conv3d(%0: tensor<2x4x8x8x3xbf16>, %1: tensor<6x3x3x3x3xbf16>, %2: tensor<1x1x1x1x6xbf16>) -> tensor<2x4x4x4x6xbf16> {
  %3 = "ttir.conv3d"(%0, %1, %2) <{stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32}> : (tensor<2x4x8x8x3xbf16>, tensor<6x3x3x3x3xbf16>, tensor<1x1x1x1x6xbf16>) -> tensor<2x4x4x4x6xbf16>
  func.return %3 : tensor<2x4x4x4x6xbf16>
}

// CHECK-LABEL: func.func @max_pool2d_with_indices(
// CHECK: "ttir.max_pool2d_with_indices"({{.*}}) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = false}> :
func.func @max_pool2d_with_indices(%0: tensor<2x8x8x4xbf16>) -> (tensor<2x4x4x4xbf16>, tensor<2x4x4x4xsi32>) {
  %1:2 = "ttir.max_pool2d_with_indices"(%0) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = false}> : (tensor<2x8x8x4xbf16>) -> (tensor<2x4x4x4xbf16>, tensor<2x4x4x4xsi32>)
  func.return %1#0, %1#1 : tensor<2x4x4x4xbf16>, tensor<2x4x4x4xsi32>
}

// CHECK-LABEL: func.func @upsample2d(
// CHECK: "ttir.upsample2d"({{.*}}) <{scale_factor = array<i32: 2, 3>, mode = "bilinear"}> :
func.func @upsample2d(%0: tensor<2x4x4x8xbf16>) -> tensor<2x8x12x8xbf16> {
  %1 = "ttir.upsample2d"(%0) <{scale_factor = array<i32: 2, 3>, mode = "bilinear"}> : (tensor<2x4x4x8xbf16>) -> tensor<2x8x12x8xbf16>
  func.return %1 : tensor<2x8x12x8xbf16>
}

// CHECK-LABEL: func.func @global_avg_pool2d(
// CHECK: "ttir.global_avg_pool2d"({{.*}}) :
func.func @global_avg_pool2d(%0: tensor<2x4x4x8xbf16>) -> tensor<2x1x1x8xbf16> {
  %1 = "ttir.global_avg_pool2d"(%0) : (tensor<2x4x4x8xbf16>) -> tensor<2x1x1x8xbf16>
  func.return %1 : tensor<2x1x1x8xbf16>
}
