// RUN: pass=ttir-to-ttnn prepare_weights=true

// CHECK-LABEL: func.func public @conv(
// CHECK: %[[W:.*]] = "ttnn.prepare_conv2d_weights"(%w, %{{.*}}) <{weights_format = "OIHW", has_bias = true,
// CHECK-SAME: -> tensor<1x1x36x6xbf16,
// CHECK-NEXT: %[[B:.*]] = "ttnn.prepare_conv2d_bias"(
// CHECK-NEXT: "ttnn.conv2d"(%{{.*}}, %[[W]], %[[B]], %{{.*}})
func.func @conv(%x: tensor<2x7x8x4xbf16>, %w: tensor<6x4x3x3xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %b: tensor<1x1x1x6xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x8x5x6xbf16> {
  %a = "ttir.conv2d"(%x, %w, %b) <{stride = array<i32: 1, 2>, padding = array<i32: 1, 0, 2, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x4x3x3xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x8x5x6xbf16>
  func.return %a : tensor<2x8x5x6xbf16>
}
