// RUN: roundtrip

#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>

// CHECK-LABEL: func.func @conv2d_of_host_weights(
// CHECK: "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @conv2d(
// CHECK: "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout3>, tensor<1x1x1x6xbf16, #ttnn_layout3>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout3>, %2: tensor<1x1x1x6xbf16, #ttnn_layout3>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout3>, tensor<1x1x1x6xbf16, #ttnn_layout3>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @prepare_conv2d_weights(
// CHECK: "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout3>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout1>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout3> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout3>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout3>
}

// CHECK-LABEL: func.func @prepare_conv2d_bias(
// CHECK: "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout3>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout4>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout3> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout3>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout3>
}

// CHECK-LABEL: func.func @max_pool2d(
// CHECK: "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout5>) -> tensor<1x1x32x3xbf16, #ttnn_layout6>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout5>) -> tensor<1x1x32x3xbf16, #ttnn_layout6> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout5>) -> tensor<1x1x32x3xbf16, #ttnn_layout6>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout6>
}

// CHECK-LABEL: func.func @avg_pool2d(
// CHECK: "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout5>) -> tensor<1x1x32x3xbf16, #ttnn_layout6>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout5>) -> tensor<1x1x32x3xbf16, #ttnn_layout6> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout5>) -> tensor<1x1x32x3xbf16, #ttnn_layout6>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout6>
}
