// RUN: pass=ttnn-convert-to-hwc

#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#images = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 384 + d1 * 128 + d2, d3), <1x1>, memref<1536x128xbf16, #dram>, <interleaved>>
#tiles = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 384 + d1 * 128 + d2, d3), <1x1>, memref<48x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#turned = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 16384 + d1 * 128 + d2, d3), <1x1>, memref<2048x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#flat = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 65536 + d1 * 65536 + d2, d3), <1x1>, memref<2048x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#weights = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 21 + d1 * 7 + d2, d3), <1x1>, memref<672x7xbf16, #system_memory>>
#matrix = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 160 + d1 * 160 + d2, d3), <1x1>, memref<5x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#result = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 16384 + d1 * 16384 + d2, d3), <1x1>, memref<512x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Three channels become eight: images and weights get channels of zeros.
// CHECK-LABEL: func.func public @constant(
// CHECK: %[[W:.*]] = "ttnn.pad"({{.*}}) <{padding = array<i32: 0, 0, 0, 5, 0, 0, 0, 0>
// CHECK: %[[H:.*]] = "ttnn.from_device"(%[[W]])
// CHECK: %[[M:.*]] = "ttnn.prepare_conv2d_weights"(%[[H]], {{.*}}in_channels = 8
// CHECK: %[[V:.*]] = "ttnn.reshape"(%x) <{shape = [1 : i32, 4 : i32, 3 : i32, 16384 : i32]}>
// CHECK-NEXT: %[[P:.*]] = "ttnn.pad"(%[[V]]) <{padding = array<i32: 0, 0, 0, 0, 0, 5, 0, 0>
// CHECK-NEXT: %[[R:.*]] = "ttnn.convert_to_hwc"(%[[P]])
// CHECK-NEXT: "ttnn.conv2d"(%[[R]], %[[M]], {{.*}}in_channels = 8
// CHECK-NEXT: func.return
func.func public @constant(%x: tensor<4x3x128x128xbf16, #images> {ttcore.argument_type = #ttcore.argument_type<input>}, %w: tensor<32x3x7x7xbf16, #weights> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x1x16384x32xbf16, #result> {
  %d = "ttnn.get_device"() : () -> !ttnn.device
  %m = "ttnn.prepare_conv2d_weights"(%w, %d) <{input_memory_config = #ttnn.memory_config<#dram, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, weights_format = "OIHW", has_bias = false, input_dtype = #ttcore.supportedDataTypes<bf16>, in_channels = 3 : i32, out_channels = 32 : i32, batch_size = 4 : i32, input_height = 128 : i32, input_width = 128 : i32, kernel_size = array<i32: 7, 7>, stride = array<i32: 2, 2>, padding = array<i32: 3, 3, 3, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32}> : (tensor<32x3x7x7xbf16, #weights>, !ttnn.device) -> tensor<1x1x147x32xbf16, #matrix>
  %0 = "ttnn.to_layout"(%x) : (tensor<4x3x128x128xbf16, #images>) -> tensor<4x3x128x128xbf16, #tiles>
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 0, 2, 3, 1>}> : (tensor<4x3x128x128xbf16, #tiles>) -> tensor<4x128x128x3xbf16, #turned>
  %2 = "ttnn.reshape"(%1) <{shape = [1 : i32, 1 : i32, 65536 : i32, 3 : i32]}> : (tensor<4x128x128x3xbf16, #turned>) -> tensor<1x1x65536x3xbf16, #flat>
  %3 = "ttnn.conv2d"(%2, %m, %d) <{in_channels = 3 : i32, out_channels = 32 : i32, batch_size = 4 : i32, input_height = 128 : i32, input_width = 128 : i32, kernel_size = array<i32: 7, 7>, stride = array<i32: 2, 2>, padding = array<i32: 3, 3, 3, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32}> : (tensor<1x1x65536x3xbf16, #flat>, tensor<1x1x147x32xbf16, #matrix>, !ttnn.device) -> tensor<1x1x16384x32xbf16, #result>
  func.return %3 : tensor<1x1x16384x32xbf16, #result>
}

// Weights that come with each call would be padded in each call.
// CHECK-LABEL: func.func public @computed(
// CHECK-NOT: ttnn.convert_to_hwc
// CHECK: func.return
func.func public @computed(%x: tensor<4x3x128x128xbf16, #images> {ttcore.argument_type = #ttcore.argument_type<input>}, %w: tensor<32x3x7x7xbf16, #weights> {ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<1x1x16384x32xbf16, #result> {
  %d = "ttnn.get_device"() : () -> !ttnn.device
  %m = "ttnn.prepare_conv2d_weights"(%w, %d) <{input_memory_config = #ttnn.memory_config<#dram, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, weights_format = "OIHW", has_bias = false, input_dtype = #ttcore.supportedDataTypes<bf16>, in_channels = 3 : i32, out_channels = 32 : i32, batch_size = 4 : i32, input_height = 128 : i32, input_width = 128 : i32, kernel_size = array<i32: 7, 7>, stride = array<i32: 2, 2>, padding = array<i32: 3, 3, 3, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32}> : (tensor<32x3x7x7xbf16, #weights>, !ttnn.device) -> tensor<1x1x147x32xbf16, #matrix>
  %0 = "ttnn.to_layout"(%x) : (tensor<4x3x128x128xbf16, #images>) -> tensor<4x3x128x128xbf16, #tiles>
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 0, 2, 3, 1>}> : (tensor<4x3x128x128xbf16, #tiles>) -> tensor<4x128x128x3xbf16, #turned>
  %2 = "ttnn.reshape"(%1) <{shape = [1 : i32, 1 : i32, 65536 : i32, 3 : i32]}> : (tensor<4x128x128x3xbf16, #turned>) -> tensor<1x1x65536x3xbf16, #flat>
  %3 = "ttnn.conv2d"(%2, %m, %d) <{in_channels = 3 : i32, out_channels = 32 : i32, batch_size = 4 : i32, input_height = 128 : i32, input_width = 128 : i32, kernel_size = array<i32: 7, 7>, stride = array<i32: 2, 2>, padding = array<i32: 3, 3, 3, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32}> : (tensor<1x1x65536x3xbf16, #flat>, tensor<1x1x147x32xbf16, #matrix>, !ttnn.device) -> tensor<1x1x16384x32xbf16, #result>
  func.return %3 : tensor<1x1x16384x32xbf16, #result>
}
