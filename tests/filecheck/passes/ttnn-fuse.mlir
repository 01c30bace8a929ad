// RUN: pass=ttnn-fuse level=1

#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x4xbf16, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 36 + d1 * 6 + d2, d3), <1x1>, memref<36x3xbf16, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 9 + d1 * 3 + d2, d3), <1x1>, memref<36x3xbf16, #system_memory>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 64 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 36 + d1 * 36 + d2, d3), <1x1>, memref<36x3xbf16, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout11 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x12xbf16, #dram>, <interleaved>>
#matrix = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#kernels = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3), <1x1>, memref<2048x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#kernels_in_rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 + d2, d3), <1x1>, memref<2048x1xbf16, #dram>, <interleaved>>
#kernels_on_host = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 + d2, d3), <1x1>, memref<2048x1xbf16, #system_memory>>

// CHECK-LABEL: func.func public @weights_to_host(
// CHECK-NEXT: %[[R:.*]] = "ttnn.to_layout"(%w) : (tensor<64x32xbf16,
// CHECK-NEXT: %[[H:.*]] = "ttnn.from_device"(%[[R]]) : (tensor<64x32xbf16,
// CHECK-NEXT: "ttnn.reshape"(%[[H]]) <{shape = [64 : i32, 32 : i32, 1 : i32, 1 : i32]}>
func.func public @weights_to_host(%w: tensor<64x32xbf16, #matrix>) -> tensor<64x32x1x1xbf16, #kernels_on_host> {
  %0 = "ttnn.reshape"(%w) <{shape = [64 : i32, 32 : i32, 1 : i32, 1 : i32]}> : (tensor<64x32xbf16, #matrix>) -> tensor<64x32x1x1xbf16, #kernels>
  %1 = "ttnn.to_layout"(%0) : (tensor<64x32x1x1xbf16, #kernels>) -> tensor<64x32x1x1xbf16, #kernels_in_rows>
  %2 = "ttnn.from_device"(%1) : (tensor<64x32x1x1xbf16, #kernels_in_rows>) -> tensor<64x32x1x1xbf16, #kernels_on_host>
  func.return %2 : tensor<64x32x1x1xbf16, #kernels_on_host>
}

// CHECK-LABEL: func.func public @relu_of_product(
// CHECK: "ttnn.matmul"({{.*}}) <{transpose_a = false, transpose_b = false, activation = "relu"}>
// CHECK-NEXT: func.return
func.func public @relu_of_product(%x: tensor<2x3xbf16, #ttnn_layout>, %w: tensor<3x4xbf16, #ttnn_layout1>) -> tensor<2x4xbf16, #ttnn_layout2> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout2>
  %1 = "ttnn.to_layout"(%w) : (tensor<3x4xbf16, #ttnn_layout1>) -> tensor<3x4xbf16, #ttnn_layout2>
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %3 = "ttnn.relu"(%2) : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  func.return %3 : tensor<2x4xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func public @through_a_reshape(
// CHECK: %[[C:.*]] = "ttnn.conv2d"({{.*}}conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, activation = <op_type = relu6>, config_tensors_in_dram = true>
// CHECK-NEXT: %[[R:.*]] = "ttnn.reshape"(%[[C]])
// CHECK-NEXT: func.return %[[R]]
func.func public @through_a_reshape(%x: tensor<1x6x6x3xbf16, #ttnn_layout3>, %w: tensor<4x3x3x3xbf16, #ttnn_layout4>) -> tensor<1x4x4x4xbf16, #ttnn_layout9> {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x6x6x3xbf16, #ttnn_layout3>) -> tensor<1x6x6x3xbf16, #ttnn_layout5>
  %1 = "ttnn.reshape"(%0) <{shape = [1 : i32, 1 : i32, 36 : i32, 3 : i32]}> : (tensor<1x6x6x3xbf16, #ttnn_layout5>) -> tensor<1x1x36x3xbf16, #ttnn_layout6>
  %2 = "ttnn.to_layout"(%1) : (tensor<1x1x36x3xbf16, #ttnn_layout6>) -> tensor<1x1x36x3xbf16, #ttnn_layout7>
  %3 = "ttnn.get_device"() : () -> !ttnn.device
  %4 = "ttnn.conv2d"(%2, %w, %3) <{in_channels = 3 : i32, out_channels = 4 : i32, batch_size = 1 : i32, input_height = 6 : i32, input_width = 6 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>}> : (tensor<1x1x36x3xbf16, #ttnn_layout7>, tensor<4x3x3x3xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x16x4xbf16, #ttnn_layout8>
  %5 = "ttnn.reshape"(%4) <{shape = [1 : i32, 4 : i32, 4 : i32, 4 : i32]}> : (tensor<1x1x16x4xbf16, #ttnn_layout8>) -> tensor<1x4x4x4xbf16, #ttnn_layout9>
  %6 = "ttnn.relu6"(%5) : (tensor<1x4x4x4xbf16, #ttnn_layout9>) -> tensor<1x4x4x4xbf16, #ttnn_layout9>
  func.return %6 : tensor<1x4x4x4xbf16, #ttnn_layout9>
}

// CHECK-LABEL: func.func public @second_function_stays(
// CHECK: "ttnn.matmul"({{.*}}) <{{{.*}}activation = "silu"}>
// CHECK-NEXT: "ttnn.sigmoid"
func.func public @second_function_stays(%x: tensor<2x3xbf16, #ttnn_layout>, %w: tensor<3x4xbf16, #ttnn_layout1>) -> tensor<2x4xbf16, #ttnn_layout2> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout2>
  %1 = "ttnn.to_layout"(%w) : (tensor<3x4xbf16, #ttnn_layout1>) -> tensor<3x4xbf16, #ttnn_layout2>
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %3 = "ttnn.silu"(%2) : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %4 = "ttnn.sigmoid"(%3) : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  func.return %4 : tensor<2x4xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func public @used_elsewhere(
// CHECK: "ttnn.matmul"({{.*}}) <{transpose_a = false, transpose_b = false}>
// CHECK-NEXT: "ttnn.relu"
func.func public @used_elsewhere(%x: tensor<2x3xbf16, #ttnn_layout>, %w: tensor<3x4xbf16, #ttnn_layout1>) -> (tensor<2x4xbf16, #ttnn_layout2>, tensor<2x4xbf16, #ttnn_layout2>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout2>
  %1 = "ttnn.to_layout"(%w) : (tensor<3x4xbf16, #ttnn_layout1>) -> tensor<3x4xbf16, #ttnn_layout2>
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %3 = "ttnn.relu"(%2) : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  func.return %2, %3 : tensor<2x4xbf16, #ttnn_layout2>, tensor<2x4xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func public @reshape_used_elsewhere(
// CHECK: "ttnn.matmul"({{.*}}) <{transpose_a = false, transpose_b = false}>
// CHECK: "ttnn.relu"
func.func public @reshape_used_elsewhere(%x: tensor<2x3xbf16, #ttnn_layout>, %w: tensor<3x4xbf16, #ttnn_layout1>) -> (tensor<8xbf16, #ttnn_layout10>, tensor<8xbf16, #ttnn_layout10>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout2>
  %1 = "ttnn.to_layout"(%w) : (tensor<3x4xbf16, #ttnn_layout1>) -> tensor<3x4xbf16, #ttnn_layout2>
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %3 = "ttnn.reshape"(%2) <{shape = [8 : i32]}> : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<8xbf16, #ttnn_layout10>
  %4 = "ttnn.relu"(%3) : (tensor<8xbf16, #ttnn_layout10>) -> tensor<8xbf16, #ttnn_layout10>
  func.return %3, %4 : tensor<8xbf16, #ttnn_layout10>, tensor<8xbf16, #ttnn_layout10>
}

// CHECK-LABEL: func.func public @tanh_stays_out_of_products(
// CHECK: "ttnn.tanh"
func.func public @tanh_stays_out_of_products(%x: tensor<2x3xbf16, #ttnn_layout>, %w: tensor<3x4xbf16, #ttnn_layout1>) -> tensor<2x4xbf16, #ttnn_layout2> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout2>
  %1 = "ttnn.to_layout"(%w) : (tensor<3x4xbf16, #ttnn_layout1>) -> tensor<3x4xbf16, #ttnn_layout2>
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %3 = "ttnn.tanh"(%2) : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  func.return %3 : tensor<2x4xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func public @gelu_stays_out_of_convolutions(
// CHECK: "ttnn.gelu"
func.func public @gelu_stays_out_of_convolutions(%x: tensor<1x6x6x3xbf16, #ttnn_layout3>, %w: tensor<4x3x3x3xbf16, #ttnn_layout4>) -> tensor<1x4x4x4xbf16, #ttnn_layout9> {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x6x6x3xbf16, #ttnn_layout3>) -> tensor<1x6x6x3xbf16, #ttnn_layout5>
  %1 = "ttnn.reshape"(%0) <{shape = [1 : i32, 1 : i32, 36 : i32, 3 : i32]}> : (tensor<1x6x6x3xbf16, #ttnn_layout5>) -> tensor<1x1x36x3xbf16, #ttnn_layout6>
  %2 = "ttnn.to_layout"(%1) : (tensor<1x1x36x3xbf16, #ttnn_layout6>) -> tensor<1x1x36x3xbf16, #ttnn_layout7>
  %3 = "ttnn.get_device"() : () -> !ttnn.device
  %4 = "ttnn.conv2d"(%2, %w, %3) <{in_channels = 3 : i32, out_channels = 4 : i32, batch_size = 1 : i32, input_height = 6 : i32, input_width = 6 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>}> : (tensor<1x1x36x3xbf16, #ttnn_layout7>, tensor<4x3x3x3xbf16, #ttnn_layout4>, !ttnn.device) -> tensor<1x1x16x4xbf16, #ttnn_layout8>
  %5 = "ttnn.reshape"(%4) <{shape = [1 : i32, 4 : i32, 4 : i32, 4 : i32]}> : (tensor<1x1x16x4xbf16, #ttnn_layout8>) -> tensor<1x4x4x4xbf16, #ttnn_layout9>
  %6 = "ttnn.gelu"(%5) : (tensor<1x4x4x4xbf16, #ttnn_layout9>) -> tensor<1x4x4x4xbf16, #ttnn_layout9>
  func.return %6 : tensor<1x4x4x4xbf16, #ttnn_layout9>
}

// join_reshapes and reshape_before_tilize.
// CHECK-LABEL: func.func public @chains_of_moves(
// CHECK-NEXT: %[[R:.*]] = "ttnn.reshape"(%x) <{shape = [4 : i32, 6 : i32]}>
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%[[R]])
// CHECK-NEXT: func.return %[[T]]
func.func public @chains_of_moves(%x: tensor<2x12xbf16, #ttnn_layout11>) -> tensor<4x6xbf16, #ttnn_layout2> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x12xbf16, #ttnn_layout11>) -> tensor<2x12xbf16, #ttnn_layout2>
  %1 = "ttnn.reshape"(%0) <{shape = [24 : i32]}> : (tensor<2x12xbf16, #ttnn_layout2>) -> tensor<24xbf16, #ttnn_layout10>
  %2 = "ttnn.reshape"(%1) <{shape = [2 : i32, 12 : i32]}> : (tensor<24xbf16, #ttnn_layout10>) -> tensor<2x12xbf16, #ttnn_layout2>
  %3 = "ttnn.reshape"(%2) <{shape = [4 : i32, 6 : i32]}> : (tensor<2x12xbf16, #ttnn_layout2>) -> tensor<4x6xbf16, #ttnn_layout2>
  func.return %3 : tensor<4x6xbf16, #ttnn_layout2>
}

#fi = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#si = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>

// Casts to integers and back disappear around products of integers and around rounded, clamped numbers. Others truncate.
// CHECK-LABEL: func.func public @quantised(
// CHECK: %[[CLAMP:.*]] = "ttnn.clamp_scalar"
// CHECK-NEXT: %[[B:.*]] = "ttnn.typecast"(%y)
// CHECK-NEXT: %[[P:.*]] = "ttnn.matmul"(%[[CLAMP]], %[[B]])
// CHECK-NEXT: %[[S:.*]] = "ttnn.multiply"(%[[P]], %x)
// CHECK-NEXT: %[[C:.*]] = "ttnn.typecast"(%[[S]])
// CHECK-NEXT: %[[D:.*]] = "ttnn.typecast"(%[[C]])
// CHECK-NEXT: func.return %[[D]]
func.func public @quantised(%x: tensor<32x32xf32, #fi>, %y: tensor<32x32xsi32, #si>) -> tensor<32x32xf32, #fi> {
  %0 = "ttnn.round"(%x) : (tensor<32x32xf32, #fi>) -> tensor<32x32xf32, #fi>
  %1 = "ttnn.clamp_scalar"(%0) <{min = -1.270000e+02 : f32, max = 1.270000e+02 : f32}> : (tensor<32x32xf32, #fi>) -> tensor<32x32xf32, #fi>
  %2 = "ttnn.typecast"(%1) : (tensor<32x32xf32, #fi>) -> tensor<32x32xsi32, #si>
  %3 = "ttnn.typecast"(%2) : (tensor<32x32xsi32, #si>) -> tensor<32x32xf32, #fi>
  %4 = "ttnn.typecast"(%y) : (tensor<32x32xsi32, #si>) -> tensor<32x32xf32, #fi>
  %5 = "ttnn.matmul"(%3, %4) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xf32, #fi>, tensor<32x32xf32, #fi>) -> tensor<32x32xf32, #fi>
  %6 = "ttnn.typecast"(%5) : (tensor<32x32xf32, #fi>) -> tensor<32x32xsi32, #si>
  %7 = "ttnn.typecast"(%6) : (tensor<32x32xsi32, #si>) -> tensor<32x32xf32, #fi>
  %8 = "ttnn.multiply"(%7, %x) : (tensor<32x32xf32, #fi>, tensor<32x32xf32, #fi>) -> tensor<32x32xf32, #fi>
  %9 = "ttnn.typecast"(%8) : (tensor<32x32xf32, #fi>) -> tensor<32x32xsi32, #si>
  %10 = "ttnn.typecast"(%9) : (tensor<32x32xsi32, #si>) -> tensor<32x32xf32, #fi>
  func.return %10 : tensor<32x32xf32, #fi>
}
