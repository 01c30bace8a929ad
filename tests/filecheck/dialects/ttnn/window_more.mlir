// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 2 + d1, d2), <1x1>, memref<12x3xbf16, #system_memory>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 + d1 + d2, d3), <1x1>, memref<1x6xbf16, #system_memory>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 6 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#prepared = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 448 + d1 * 448 + d2, d3), <1x1>, memref<14x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 1024 + d1 * 256 + d2 * 32 + d3, d4), <1x1>, memref<64x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout11 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 512 + d1 * 128 + d2 * 32 + d3, d4), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout12 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4) -> (d0 * 36 + d1 * 9 + d2 * 3 + d3, d4), <1x1>, memref<216x3xbf16, #system_memory>>
#ttnn_layout13 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<27x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout14 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout15 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout16 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout17 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @conv1d(
// CHECK: "ttnn.conv1d"({{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_length = 16 : i32, kernel_size = 3 : i32, stride = 2 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> :
func.func @conv1d(%0: tensor<2x16x4xbf16, #ttnn_layout>, %1: tensor<6x2x3xbf16, #ttnn_layout1>, %2: tensor<1x1x1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<2x8x6xbf16, #ttnn_layout> {
  %4 = "ttnn.conv1d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_length = 16 : i32, kernel_size = 3 : i32, stride = 2 : i32, padding = array<i32: 1, 1>, dilation = 1 : i32, groups = 2 : i32}> : (tensor<2x16x4xbf16, #ttnn_layout>, tensor<6x2x3xbf16, #ttnn_layout1>, tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<2x8x6xbf16, #ttnn_layout>
  func.return %4 : tensor<2x8x6xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @conv2d(
// CHECK: "ttnn.conv2d"({{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<activation = <op_type = relu>, shard_layout = height_sharded, core_grid = <[#ttnn.core_range<(0,0), (7,7)>]>, output_layout = tile, enable_act_double_buffer = true>, conv2d_slice_config = #ttnn.conv2d_slice_config<dram_height, 2>}> :
func.func @conv2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout3>, %1: tensor<6x2x3x3xbf16, #ttnn_layout4>, %2: !ttnn.device) -> tensor<1x1x32x6xbf16, #ttnn_layout5> {
  %3 = "ttnn.conv2d"(%0, %1, %2) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, conv2d_config = #ttnn.conv2d_config<activation = <op_type = relu>, shard_layout = height_sharded, core_grid = <[#ttnn.core_range<(0,0), (7,7)>]>, output_layout = tile, enable_act_double_buffer = true>, conv2d_slice_config = #ttnn.conv2d_slice_config<dram_height, 2>}> : (tensor<1x1x112x4xbf16, #ttnn_layout3>, tensor<6x2x3x3xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x32x6xbf16, #ttnn_layout5>
  func.return %3 : tensor<1x1x32x6xbf16, #ttnn_layout5>
}

// CHECK-LABEL: func.func @conv_transpose2d(
// CHECK: "ttnn.conv_transpose2d"({{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, output_padding = array<i32: 1, 0>}> :
func.func @conv_transpose2d(%0: tensor<1x1x112x4xbf16, #ttnn_layout3>, %1: tensor<4x3x3x3xbf16, #ttnn_layout6>, %2: tensor<1x1x1x6xbf16, #ttnn_layout2>, %3: !ttnn.device) -> tensor<1x1x420x6xbf16, #ttnn_layout7> {
  %4 = "ttnn.conv_transpose2d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, output_padding = array<i32: 1, 0>}> : (tensor<1x1x112x4xbf16, #ttnn_layout3>, tensor<4x3x3x3xbf16, #ttnn_layout6>, tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x420x6xbf16, #ttnn_layout7>
  func.return %4 : tensor<1x1x420x6xbf16, #ttnn_layout7>
}

// CHECK-LABEL: func.func @conv3d(
// CHECK: "ttnn.conv3d"({{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_depth = 4 : i32, input_height = 8 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3, 3>, stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32, conv3d_config = #ttnn.conv3d_config<c_out_block = 32, c_in_block = 32>}> :
func.func @conv3d(%0: tensor<2x4x8x8x4xbf16, #ttnn_layout8>, %1: tensor<108x6xbf16, #ttnn_layout9>, %2: tensor<1x6xbf16, #ttnn_layout10>, %3: !ttnn.device) -> tensor<2x4x4x4x6xbf16, #ttnn_layout11> {
  %4 = "ttnn.conv3d"(%0, %1, %2, %3) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_depth = 4 : i32, input_height = 8 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3, 3>, stride = array<i32: 1, 2, 2>, padding = array<i32: 1, 1, 1>, groups = 1 : i32, conv3d_config = #ttnn.conv3d_config<c_out_block = 32, c_in_block = 32>}> : (tensor<2x4x8x8x4xbf16, #ttnn_layout8>, tensor<108x6xbf16, #ttnn_layout9>, tensor<1x6xbf16, #ttnn_layout10>, !ttnn.device) -> tensor<2x4x4x4x6xbf16, #ttnn_layout11>
  func.return %4 : tensor<2x4x4x4x6xbf16, #ttnn_layout11>
}

// CHECK-LABEL: func.func @prepare_conv_transpose2d_weights(
// CHECK: "ttnn.prepare_conv_transpose2d_weights"({{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_padding = array<i32: 1, 0>, weights_format = "IOHW", has_bias = true}> :
func.func @prepare_conv_transpose2d_weights(%0: tensor<4x3x3x3xbf16, #ttnn_layout6>, %1: !ttnn.device) -> tensor<1x1x36x6xbf16, #prepared> {
  %2 = "ttnn.prepare_conv_transpose2d_weights"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>, output_padding = array<i32: 1, 0>, weights_format = "IOHW", has_bias = true}> : (tensor<4x3x3x3xbf16, #ttnn_layout6>, !ttnn.device) -> tensor<1x1x36x6xbf16, #prepared>
  func.return %2 : tensor<1x1x36x6xbf16, #prepared>
}

// CHECK-LABEL: func.func @prepare_conv_transpose2d_bias(
// CHECK: "ttnn.prepare_conv_transpose2d_bias"({{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>}> :
func.func @prepare_conv_transpose2d_bias(%0: tensor<1x1x1x6xbf16, #ttnn_layout2>, %1: !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout5> {
  %2 = "ttnn.prepare_conv_transpose2d_bias"(%0, %1) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 2 : i32, input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, input_tensor_layout = #ttnn.layout<tile>, input_dtype = #ttcore.supportedDataTypes<bf16>}> : (tensor<1x1x1x6xbf16, #ttnn_layout2>, !ttnn.device) -> tensor<1x1x1x6xbf16, #ttnn_layout5>
  func.return %2 : tensor<1x1x1x6xbf16, #ttnn_layout5>
}

// CHECK-LABEL: func.func @prepare_conv3d_weights(
// CHECK: "ttnn.prepare_conv3d_weights"({{.*}}) <{groups = 1 : i32, c_in_block = 32 : i32, alignment = 32 : i32}> :
func.func @prepare_conv3d_weights(%0: tensor<6x4x3x3x3xbf16, #ttnn_layout12>, %1: !ttnn.device) -> tensor<864x6xbf16, #ttnn_layout13> {
  %2 = "ttnn.prepare_conv3d_weights"(%0, %1) <{groups = 1 : i32, c_in_block = 32 : i32, alignment = 32 : i32}> : (tensor<6x4x3x3x3xbf16, #ttnn_layout12>, !ttnn.device) -> tensor<864x6xbf16, #ttnn_layout13>
  func.return %2 : tensor<864x6xbf16, #ttnn_layout13>
}

// CHECK-LABEL: func.func @max_pool2d_with_indices(
// CHECK: "ttnn.max_pool2d_with_indices"({{.*}}) <{batch_size = 2 : si32, input_height = 8 : si32, input_width = 8 : si32, channels = 4 : si32, kernel_size = array<i32: 2, 2>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0>, dilation = array<i32: 1, 1>, applied_shard_scheme = #ttnn.tensor_memory_layout<height_sharded>, ceil_mode = false, reallocate_halo_output = false, config_tensors_in_dram = true}> :
func.func @max_pool2d_with_indices(%0: tensor<1x1x128x4xbf16, #ttnn_layout3>) -> (tensor<1x1x32x4xbf16, #ttnn_layout5>, tensor<1x1x32x4xui16, #ttnn_layout14>) {
  %1:2 = "ttnn.max_pool2d_with_indices"(%0) <{batch_size = 2 : si32, input_height = 8 : si32, input_width = 8 : si32, channels = 4 : si32, kernel_size = array<i32: 2, 2>, stride = array<i32: 2, 2>, padding = array<i32: 0, 0>, dilation = array<i32: 1, 1>, applied_shard_scheme = #ttnn.tensor_memory_layout<height_sharded>, ceil_mode = false, reallocate_halo_output = false, config_tensors_in_dram = true}> : (tensor<1x1x128x4xbf16, #ttnn_layout3>) -> (tensor<1x1x32x4xbf16, #ttnn_layout5>, tensor<1x1x32x4xui16, #ttnn_layout14>)
  func.return %1#0, %1#1 : tensor<1x1x32x4xbf16, #ttnn_layout5>, tensor<1x1x32x4xui16, #ttnn_layout14>
}

// CHECK-LABEL: func.func @upsample(
// CHECK: "ttnn.upsample"({{.*}}) <{scale_factor = 2 : si32, mode = "nearest"}> :
func.func @upsample(%0: tensor<2x4x4x8xbf16, #ttnn_layout15>) -> tensor<2x8x8x8xbf16, #ttnn_layout16> {
  %1 = "ttnn.upsample"(%0) <{scale_factor = 2 : si32, mode = "nearest"}> : (tensor<2x4x4x8xbf16, #ttnn_layout15>) -> tensor<2x8x8x8xbf16, #ttnn_layout16>
  func.return %1 : tensor<2x8x8x8xbf16, #ttnn_layout16>
}

// CHECK-LABEL: func.func @global_avg_pool2d(
// CHECK: "ttnn.global_avg_pool2d"({{.*}}) :
func.func @global_avg_pool2d(%0: tensor<2x4x4x8xbf16, #ttnn_layout15>) -> tensor<2x1x1x8xbf16, #ttnn_layout17> {
  %1 = "ttnn.global_avg_pool2d"(%0) : (tensor<2x4x4x8xbf16, #ttnn_layout15>) -> tensor<2x1x1x8xbf16, #ttnn_layout17>
  func.return %1 : tensor<2x1x1x8xbf16, #ttnn_layout17>
}
