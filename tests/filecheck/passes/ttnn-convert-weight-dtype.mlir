// RUN: pass=ttnn-convert-weight-dtype dtype=bfp_bf8

#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 36 + d1 * 6 + d2, d3), <1x1>, memref<36x3xbf16, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 36 + d1 * 36 + d2, d3), <1x1>, memref<36x3xbf16, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>

// Constant right operands are converted, separately for each product; activations are not.
// CHECK-LABEL: func.func public @products(
// CHECK: %[[V:.*]] = "ttnn.typecast"(%w) : {{.*}} -> tensor<4x4xbf16, #ttnn_layout[[B:[0-9]+]]>
// CHECK-NEXT: %[[A:.*]] = "ttnn.matmul"(%{{.*}}, %[[V]])
// CHECK-NEXT: %[[W:.*]] = "ttnn.typecast"(%w)
// CHECK-NEXT: "ttnn.linear"(%[[A]], %[[W]], %b)
// CHECK-NEXT: "ttnn.matmul"(%w, %{{.*}})
// CHECK-NEXT: %[[E:.*]] = "ttnn.add"
// CHECK-NEXT: "ttnn.matmul"(%[[E]], %[[E]])
func.func public @products(%x: tensor<4x4xbf16, #ttnn_layout>, %w: tensor<4x4xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %b: tensor<4xbf16, #ttnn_layout2> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<4x4xbf16, #ttnn_layout1> {
  %0 = "ttnn.to_layout"(%x) : (tensor<4x4xbf16, #ttnn_layout>) -> tensor<4x4xbf16, #ttnn_layout1>
  %1 = "ttnn.matmul"(%0, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %2 = "ttnn.linear"(%1, %w, %b) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>, tensor<4xbf16, #ttnn_layout2>) -> tensor<4x4xbf16, #ttnn_layout1>
  %3 = "ttnn.matmul"(%w, %0) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %4 = "ttnn.add"(%2, %3) : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %5 = "ttnn.matmul"(%4, %4) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  func.return %5 : tensor<4x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @transformed_weight(
// CHECK: %[[E:.*]] = "ttnn.exp"(%w)
// CHECK-NEXT: "ttnn.to_layout"
// CHECK-NEXT: %[[W:.*]] = "ttnn.typecast"(%[[E]])
// CHECK-NEXT: %[[M:.*]] = "ttnn.matmul"(%{{.*}}, %[[W]])
// CHECK-NEXT: "ttnn.add"(%[[M]], %[[E]])
func.func public @transformed_weight(%x: tensor<4x4xbf16, #ttnn_layout>, %w: tensor<4x4xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<4x4xbf16, #ttnn_layout1> {
  %0 = "ttnn.exp"(%w) : (tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %1 = "ttnn.to_layout"(%x) : (tensor<4x4xbf16, #ttnn_layout>) -> tensor<4x4xbf16, #ttnn_layout1>
  %2 = "ttnn.matmul"(%1, %0) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%2, %0) : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  func.return %3 : tensor<4x4xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @convolution(
// CHECK: "ttnn.conv2d"({{.*}}conv2d_config = #ttnn.conv2d_config<weights_dtype = bfp_bf8, config_tensors_in_dram = true>
func.func public @convolution(%x: tensor<1x6x6x3xbf16, #ttnn_layout3>, %w: tensor<4x3x3x3xbf16, #ttnn_layout4> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x4x4x4xbf16, #ttnn_layout9> {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x6x6x3xbf16, #ttnn_layout3>) -> tensor<1x6x6x3xbf16, #ttnn_layout5>
  %1 = "ttnn.reshape"(%0) <{shape = [1 : i32, 1 : i32, 36 : i32, 3 : i32]}> : (tensor<1x6x6x3xbf16, #ttnn_layout5>) -> tensor<1x1x36x3xbf16, #ttnn_layout6>
  %2 = "ttnn.to_layout"(%1) : (tensor<1x1x36x3xbf16, #ttnn_layout6>) -> tensor<1x1x36x3xbf16, #ttnn_layout7>
  %3 = "ttnn.get_device"() : () -> !ttnn.device
  %4 = "ttnn.conv2d"(%2, %w, %3) <{in_channels = 3 : i32, out_channels = 4 : i32, batch_size = 1 : i32, input_height = 6 : i32, input_width = 6 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>}> : (tensor<1x1x36x3xbf16, #ttnn_layout7>, tensor<4x3x3x3xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x16x4xbf16, #ttnn_layout8>
  %5 = "ttnn.reshape"(%4) <{shape = [1 : i32, 4 : i32, 4 : i32, 4 : i32]}> : (tensor<1x1x16x4xbf16, #ttnn_layout8>) -> tensor<1x4x4x4xbf16, #ttnn_layout9>
  func.return %5 : tensor<1x4x4x4xbf16, #ttnn_layout9>
}

// Matrices that the program itself contains stay as they are, in every type, and so do products that the program
// computes in float32 though the model is bfloat16.
// CHECK-LABEL: func.func public @no_weights(
// CHECK-NOT: bfp_bf8
func.func public @no_weights(%x: tensor<4x4xbf16, #ttnn_layout1>, %w: tensor<4x4xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<4x4xf32, #ttnn_layout10> {
  %0 = "ttnn.get_device"() : () -> !ttnn.device
  %1 = "ttnn.full"(%0) <{shape = #ttnn.shape<4x4>, fill_value = 1.500000e+00 : f32}> : (!ttnn.device) -> tensor<4x4xbf16, #ttnn_layout1>
  %2 = "ttnn.matmul"(%x, %1) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %3 = "ttnn.typecast"(%2) : (tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xf32, #ttnn_layout10>
  %4 = "ttnn.full"(%0) <{shape = #ttnn.shape<4x4>, fill_value = 1.500000e+00 : f32}> : (!ttnn.device) -> tensor<4x4xf32, #ttnn_layout10>
  %5 = "ttnn.matmul"(%3, %4) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xf32, #ttnn_layout10>, tensor<4x4xf32, #ttnn_layout10>) -> tensor<4x4xf32, #ttnn_layout10>
  %6 = "ttnn.typecast"(%w) : (tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xf32, #ttnn_layout10>
  %7 = "ttnn.matmul"(%5, %6) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xf32, #ttnn_layout10>, tensor<4x4xf32, #ttnn_layout10>) -> tensor<4x4xf32, #ttnn_layout10>
  func.return %7 : tensor<4x4xf32, #ttnn_layout10>
}
