// RUN: invalid

// expected-error: has shape (2, 8, 7), expected (2, 8, 6)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 2 + d1, d2), <1x1>, memref<12x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
func.func @conv1d(%0: tensor<2x16x4xbf16, #ttnn_layout>, %1: tensor<6x2x3xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<2x8x7xbf16, #ttnn_layout> {
  %4 = "ttnn.conv1d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_length = 16 : i32, kernel_size = 3 : i32, stride = 2 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x16x4xbf16, #ttnn_layout>, tensor<6x2x3xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<2x8x7xbf16, #ttnn_layout>
  func.return %4 : tensor<2x8x7xbf16, #ttnn_layout>
}

// -----

// expected-error: weight has shape (6, 4, 3), expected (6, 2, 3)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 4 + d1, d2), <1x1>, memref<24x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
func.func @conv1d(%0: tensor<2x16x4xbf16, #ttnn_layout>, %1: tensor<6x4x3xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<2x8x6xbf16, #ttnn_layout> {
  %4 = "ttnn.conv1d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_length = 16 : i32, kernel_size = 3 : i32, stride = 2 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x16x4xbf16, #ttnn_layout>, tensor<6x4x3xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<2x8x6xbf16, #ttnn_layout>
  func.return %4 : tensor<2x8x6xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 1, 32, 7), expected (1, 1, 32, 6)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<6x2x3x3xbf16, #ttnn_layout1>, %2: !ttnn.device) -> tensor<1x1x32x7xbf16, #ttnn_layout2> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<activation = <op_type = relu>, shard_layout = height_sharded, core_grid = <[#ttnn.core_range<(0,0), (7,7)>]>, output_layout = tile, enable_act_double_buffer = true>, conv2d_slice_config = #ttnn.conv2d_slice_config<dram_height, 2>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<6x2x3x3xbf16, #ttnn_layout1>, !ttnn.device) -> tensor<1x1x32x7xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x1x32x7xbf16, #ttnn_layout2>
}

// -----

// expected-error: has shape (1, 1, 420, 7), expected (1, 1, 420, 6)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 448 + d1 * 448 + d2, d3), <1x1>, memref<14x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv_transpose2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<4x3x3x3xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<1x1x420x7xbf16, #ttnn_layout3> {
  %4 = "ttnn.conv_transpose2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, output_padding = array<i32: 1, 0>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<4x3x3x3xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x420x7xbf16, #ttnn_layout3>
  func.return %4 : tensor<1x1x420x7xbf16, #ttnn_layout3>
}

// -----

// expected-error: weight has shape (4, 6, 3, 3), expected (4, 3, 3, 3)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 18 + d1 * 3 + d2, d3), <1x1>, memref<72x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 448 + d1 * 448 + d2, d3), <1x1>, memref<14x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv_transpose2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout>, %1: tensor<4x6x3x3xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<1x1x420x6xbf16, #ttnn_layout3> {
  %4 = "ttnn.conv_transpose2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, output_padding = array<i32: 1, 0>}> : (tensor<1x1x112x4xbf16, #ttnn_layout>, tensor<4x6x3x3xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x420x6xbf16, #ttnn_layout3>
  func.return %4 : tensor<1x1x420x6xbf16, #ttnn_layout3>
}

// -----

// expected-error: has shape (2, 4, 4, 4, 7), expected (2, 4, 4, 4, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 1024 + d1 * 256 + d2 * 32 + d3, d4), <1x1>, memref<64x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 512 + d1 * 128 + d2 * 32 + d3, d4), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv3d(%0: tensor<2x4x8x8x4xbf16, #ttnn_layout>, %1: tensor<108x6xbf16, #ttnn_layout1>, %2: tensor<1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<2x4x4x4x7xbf16, #ttnn_layout3> {
  %4 = "ttnn.conv3d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_depth = 4 : i32, input_height = 8 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3, 3>, stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32, conv3d_config = #ttnn.conv3d_config<c_out_block = 32, c_in_block = 32>}> : (tensor<2x4x8x8x4xbf16, #ttnn_layout>, tensor<108x6xbf16, #ttnn_layout1>, tensor<1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<2x4x4x4x7xbf16, #ttnn_layout3>
  func.return %4 : tensor<2x4x4x4x7xbf16, #ttnn_layout3>
}

// -----

// expected-error: weight has shape (100, 6), expected (108, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 1024 + d1 * 256 + d2 * 32 + d3, d4), <1x1>, memref<64x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 512 + d1 * 128 + d2 * 32 + d3, d4), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @conv3d(%0: tensor<2x4x8x8x4xbf16, #ttnn_layout>, %1: tensor<100x6xbf16, #ttnn_layout1>, %2: tensor<1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<2x4x4x4x6xbf16, #ttnn_layout3> {
  %4 = "ttnn.conv3d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_depth = 4 : i32, input_height = 8 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3, 3>, stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32, conv3d_config = #ttnn.conv3d_config<c_out_block = 32, c_in_block = 32>}> : (tensor<2x4x8x8x4xbf16, #ttnn_layout>, tensor<100x6xbf16, #ttnn_layout1>, tensor<1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<2x4x4x4x6xbf16, #ttnn_layout3>
  func.return %4 : tensor<2x4x4x4x6xbf16, #ttnn_layout3>
}

// -----

// expected-error: result has shape (1, 1, 17, 6), expected (1, 1, 36, 6)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv_transpose2d_weights(%0: tensor<4x3x3x3xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x17x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv_transpose2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_padding = array<i32: 1, 0>, weights_format = "IOHW", has_bias = true}> : (tensor<4x3x3x3xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x17x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x17x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: bias_tensor has shape (1, 1, 1, 7), expected (1, 1, 1, 6)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x7xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv_transpose2d_bias(%0: tensor<1x1x1x7xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv_transpose2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>}> : (tensor<1x1x1x7xbf16, #ttnn_layout>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: has shape (864, 7), expected (864, 6)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 36 + d1 * 9 + d2 * 3 + d3, d4), <1x1>, memref<216x3xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<27x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv3d_weights(%0: tensor<6x4x3x3x3xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<864x7xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv3d_weights"(%0, %1) <{groups = 1 : i32, c_in_block = 32 : i32, alignment = 32 : i32}> : (tensor<6x4x3x3x3xbf16, #ttnn_layout>, !ttnn.device) -> tensor<864x7xbf16, #ttnn_layout1>
  func.return %2 : tensor<864x7xbf16, #ttnn_layout1>
}

// -----

// expected-error: alignment is 0, expected a positive number
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 36 + d1 * 9 + d2 * 3 + d3, d4), <1x1>, memref<216x3xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<27x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prepare_conv3d_weights(%0: tensor<6x4x3x3x3xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<864x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.prepare_conv3d_weights"(%0, %1) <{groups = 1 : i32, c_in_block = 32 : i32, alignment = 0 : i32}> : (tensor<6x4x3x3x3xbf16, #ttnn_layout>, !ttnn.device) -> tensor<864x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<864x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: result_indices has shape (1, 1, 32, 5), expected (1, 1, 32, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
func.func @max_pool2d_with_indices(%0: tensor<1x1x128x4xbf16, #ttnn_layout>) -> (tensor<1x1x32x4xbf16, #ttnn_layout1>, tensor<1x1x32x5xui16, #ttnn_layout2>) {
  %1:2 = "ttnn.max_pool2d_with_indices"(%0) <{batch_size = 2 : si32, input_height = 8 : si32, input_width = 8 : si32, channels = 4 : si32, kernel_size = array<i32: 2, 2>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0>, dilation = array<i32: 1, 1>, applied_shard_scheme = #ttnn.tensor_memory_layout<height_sharded>, ceil_mode = false, reallocate_halo_output = false, config_tensors_in_dram = true}> : (tensor<1x1x128x4xbf16, #ttnn_layout>) -> (tensor<1x1x32x4xbf16, #ttnn_layout1>, tensor<1x1x32x5xui16, #ttnn_layout2>)
  func.return %1#0, %1#1 : tensor<1x1x32x4xbf16, #ttnn_layout1>, tensor<1x1x32x5xui16, #ttnn_layout2>
}

// -----

// expected-error: has shape (2, 8, 8, 9), expected (2, 8, 8, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @upsample(%0: tensor<2x4x4x8xbf16, #ttnn_layout>) -> tensor<2x8x8x9xbf16, #ttnn_layout1> {
  %1 = "ttnn.upsample"(%0) <{scale_factor = 2 : si32, mode = "nearest"}> : (tensor<2x4x4x8xbf16, #ttnn_layout>) -> tensor<2x8x8x9xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x8x8x9xbf16, #ttnn_layout1>
}

// -----

// expected-error: has shape (2, 1, 1, 9), expected (2, 1, 1, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @global_avg_pool2d(%0: tensor<2x4x4x8xbf16, #ttnn_layout>) -> tensor<2x1x1x9xbf16, #ttnn_layout1> {
  %1 = "ttnn.global_avg_pool2d"(%0) : (tensor<2x4x4x8xbf16, #ttnn_layout>) -> tensor<2x1x1x9xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x1x1x9xbf16, #ttnn_layout1>
}
