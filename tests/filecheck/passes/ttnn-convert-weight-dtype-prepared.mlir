// RUN: pass=ttnn-convert-weight-dtype dtype=bfp_bf8

#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 36 + d1 * 6 + d2, d3), <1x1>, memref<36x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK: memref<1x1x!ttcore.tile<32x32, bfp_bf8>
// CHECK-LABEL: func.func public @convolution(
// CHECK: %[[W:.*]] = "ttnn.prepare_conv2d_weights"(%w, {{.*}}weights_dtype = bfp_bf8
// CHECK: "ttnn.conv2d"(%{{.*}}, %[[W]], %{{.*}}weights_dtype = bfp_bf8
func.func public @convolution(%x: tensor<1x6x6x3xbf16, #ttnn_layout>, %w: tensor<4x3x3x3xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x4x4x4xbf16, #ttnn_layout5> {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x6x6x3xbf16, #ttnn_layout>) -> tensor<1x6x6x3xbf16, #ttnn_layout2>
  %1 = "ttnn.reshape"(%0) <{shape = [1 : i32, 1 : i32, 36 : i32, 3 : i32]}> : (tensor<1x6x6x3xbf16, #ttnn_layout2>) -> tensor<1x1x36x3xbf16, #ttnn_layout3>
  %2 = "ttnn.get_device"() : () -> !ttnn.device
  %3 = "ttnn.prepare_conv2d_weights"(%w, %2) <{weights_format = "OIHW", has_bias = false, in_channels = 3 : i32, out_channels = 4 : i32, batch_size = 1 : i32, input_height = 6 : i32, input_width = 6 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>}> : (tensor<4x3x3x3xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x27x4xbf16, #ttnn_layout4>
  %4 = "ttnn.conv2d"(%1, %3, %2) <{in_channels = 3 : i32, out_channels = 4 : i32, batch_size = 1 : i32, input_height = 6 : i32, input_width = 6 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>}> : (tensor<1x1x36x3xbf16, #ttnn_layout3>, tensor<1x1x27x4xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x16x4xbf16, #ttnn_layout4>
  %5 = "ttnn.reshape"(%4) <{shape = [1 : i32, 4 : i32, 4 : i32, 4 : i32]}> : (tensor<1x1x16x4xbf16, #ttnn_layout4>) -> tensor<1x4x4x4xbf16, #ttnn_layout5>
  func.return %5 : tensor<1x4x4x4xbf16, #ttnn_layout5>
}
