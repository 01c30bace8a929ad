// RUN: invalid

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 1 : i8, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 1 : i8, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 1 : i8, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 1 : i8, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 1 : i8, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = 1 : i8, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = 1 : i8, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = 1 : i8, dilation = array<i32: 1, 2>, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = 1 : i8, groups = 2 : i32}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d_of_host_weights(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x2xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 1 : i8}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x2xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: result has shape (1, 1, 57, 6), expected (1, 1, 56, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x57x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x57x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x57x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: input has shape (1, 1, 110, 4), expected (1, 1, 112, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x110x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x110x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: weight has shape (1, 1, 12, 6), expected (6, 2, 3, 2) or (1, 1, 24, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x12x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x12x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: bias has shape (1, 1, 1, 7), expected (1, 1, 1, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x7xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x7xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: kernel 3, stride 0 and dilation 1 must be 1 or more
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 0, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: a window of 19 does not fit in 7 + 1 + 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 9, 1>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: kernel_size (3,) has 1 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: stride (2,) has 1 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: padding (1, 1, 1) has 3 entries, expected 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 1, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: padding (1, 0, -2, 1) has a negative entry
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 0, -2, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: dilation (1, 1, 1) has 3 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 1, 1>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: 0 groups do not divide 4 input and 6 output channels
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 0 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: 4 groups do not divide 4 input and 6 output channels
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 4 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected #ttnn.conv2d_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<1x1x24x6xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout1>, %3: !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2> {
  %4 = "ttnn.conv2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, compute_config = 1 : i8}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<1x1x24x6xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x56x6xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x1x56x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: result has shape (1, 1, 12, 6), expected (1, 1, 24, 6)
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x12x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x12x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x12x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: weight_tensor has shape (6, 4, 3, 2), expected (6, 2, 3, 2)
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 12 + d1 * 3 + d2, d3), <1x1>, memref<72x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x4x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x4x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: 0 groups do not divide 4 input and 6 output channels
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 0 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: kernel_size (3,) has 1 entries, expected 2
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 1 : i8, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 1 : i8, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 1 : i8, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 1 : i8, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 1 : i8, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = 1 : i8, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = 1 : i8, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = 1 : i8, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = 1 : i8, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 1 : i8, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.conv2d_config<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = 1 : i8, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.layout<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = 1 : i8, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttcore.supportedDataTypes<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = 1 : i8, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttcore.supportedDataTypes<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = 1 : i8, weights_format = "OIHW", has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a string, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = 1 : i8, has_bias = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x2xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_weights(%0: tensor<6x2x3x2xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, weights_format = "OIHW", has_bias = true, compute_config = 1 : i8}> : (tensor<6x2x3x2xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x24x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x24x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (1, 1, 1, 7), expected (1, 1, 1, 6)
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x7xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x7xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x7xbf16, #ttnn_layout1>
}

// -----

// expected-error: bias_tensor has shape (1, 1, 1, 7), expected (1, 1, 1, 6)
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x7xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x7xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x7xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: 0 groups do not divide 4 input and 6 output channels
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 0 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: kernel_size (3,) has 1 entries, expected 2
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 1 : i8, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 1 : i8, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 1 : i8, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 1 : i8, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 1 : i8, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = 1 : i8, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = 1 : i8, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = 1 : i8, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = 1 : i8, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an i32 integer, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 1 : i8, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.conv2d_config<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = 1 : i8, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.layout<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = 1 : i8, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttcore.supportedDataTypes<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = 1 : i8, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttcore.supportedDataTypes<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 1>, padding = array<i32: 1, 2, 0, 1>, dilation = array<i32: 1, 2>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_dtype = #ttcore.supportedDataTypes<bf16>, compute_config = 1 : i8}> : (tensor<1x1x1x6xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (1, 1, 33, 3), expected (1, 1, 32, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 33 + d1 * 33 + d2, d3), <1x1>, memref<33x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x33x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x33x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x33x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: input has shape (1, 1, 110, 3), expected (1, 1, 112, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 110 + d1 * 110 + d2, d3), <1x1>, memref<110x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x110x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x110x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: kernel 0, stride 2 and dilation 1 must be 1 or more
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 0, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: a window of 10 does not fit in 7 + 1 + 1
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 10, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: kernel_size (3,) has 1 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: stride (2, 2, 2) has 3 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: dilation () has 0 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: padding (1, 0, 0) has 3 entries, expected 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: padding (-1, 1, 0, 0) has a negative entry
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: -1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 1 : i8, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 1 : i8, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 1 : i8, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 1 : i8, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = 1 : i8, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = 1 : i8, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = 1 : i8, dilation = array<i32: 1, 1>, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = 1 : i8, ceil_mode = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @max_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = 1 : i8}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (1, 1, 33, 3), expected (1, 1, 32, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 33 + d1 * 33 + d2, d3), <1x1>, memref<33x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x33x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x33x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x33x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: input has shape (1, 1, 110, 3), expected (1, 1, 112, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 110 + d1 * 110 + d2, d3), <1x1>, memref<110x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x110x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x110x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: kernel 0, stride 2 and dilation 1 must be 1 or more
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 0, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: a window of 10 does not fit in 7 + 1 + 1
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 10, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: kernel_size (3,) has 1 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: stride (2, 2, 2) has 3 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: dilation () has 0 entries, expected 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: padding (1, 0, 0) has 3 entries, expected 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: padding (-1, 1, 0, 0) has a negative entry
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: -1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 1 : i8, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 1 : i8, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 1 : i8, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 1 : i8, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = 1 : i8, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = 1 : i8, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = 1 : i8, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = 1 : i8, ceil_mode = false, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = 1 : i8, count_include_pad = false}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 112 + d1 * 112 + d2, d3), <1x1>, memref<112x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<32x3xbf16, #dram>, <interleaved>>
func.func @avg_pool2d(%0: tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.avg_pool2d"(%0) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, count_include_pad = 1 : i8}> : (tensor<1x1x112x3xbf16, #ttnn_layout>) -> tensor<1x1x32x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x32x3xbf16, #ttnn_layout1>
}
