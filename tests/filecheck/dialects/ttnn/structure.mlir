// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x5xui32, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<9x4xbf16, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @reshape(
// CHECK: "ttnn.reshape"(%0) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
func.func @reshape(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.reshape"(%0) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @reshape_to_rank_0(
// CHECK: "ttnn.reshape"(%0) <{shape = []}> : (tensor<1x1xf32, #ttnn_layout1>) -> tensor<f32, #ttnn_layout2>
func.func @reshape_to_rank_0(%0: tensor<1x1xf32, #ttnn_layout1>) -> tensor<f32, #ttnn_layout2> {
  %1 = "ttnn.reshape"(%0) <{shape = []}> : (tensor<1x1xf32, #ttnn_layout1>) -> tensor<f32, #ttnn_layout2>
  func.return %1 : tensor<f32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @permute(
// CHECK: "ttnn.permute"(%0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<4x2x3xbf16, #ttnn_layout4>
func.func @permute(%0: tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<4x2x3xbf16, #ttnn_layout4> {
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout3>) -> tensor<4x2x3xbf16, #ttnn_layout4>
  func.return %1 : tensor<4x2x3xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @concat(
// CHECK: "ttnn.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout>
func.func @concat(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout> {
  %2 = "ttnn.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout>
  func.return %2 : tensor<2x7xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @slice_static(
// CHECK: "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @pad(
// CHECK: "ttnn.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
  func.return %1 : tensor<3x5xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @embedding(
// CHECK: "ttnn.embedding"(%0, %1) : (tensor<2x5xui32, #ttnn_layout5>, tensor<9x4xbf16, #ttnn_layout6>) -> tensor<2x5x4xbf16, #ttnn_layout3>
func.func @embedding(%0: tensor<2x5xui32, #ttnn_layout5>, %1: tensor<9x4xbf16, #ttnn_layout6>) -> tensor<2x5x4xbf16, #ttnn_layout3> {
  %2 = "ttnn.embedding"(%0, %1) : (tensor<2x5xui32, #ttnn_layout5>, tensor<9x4xbf16, #ttnn_layout6>) -> tensor<2x5x4xbf16, #ttnn_layout3>
  func.return %2 : tensor<2x5x4xbf16, #ttnn_layout3>
}

// CHECK-LABEL: func.func @gather(
// CHECK: "ttnn.gather"(%0, %1) <{dim = 0 : si32}> : (tensor<5x4xf32, #ttnn_layout1>, tensor<3x4xui32, #ttnn_layout7>) -> tensor<3x4xf32, #ttnn_layout1>
func.func @gather(%0: tensor<5x4xf32, #ttnn_layout1>, %1: tensor<3x4xui32, #ttnn_layout7>) -> tensor<3x4xf32, #ttnn_layout1> {
  %2 = "ttnn.gather"(%0, %1) <{dim = 0 : si32}> : (tensor<5x4xf32, #ttnn_layout1>, tensor<3x4xui32, #ttnn_layout7>) -> tensor<3x4xf32, #ttnn_layout1>
  func.return %2 : tensor<3x4xf32, #ttnn_layout1>
}

// CHECK-LABEL: func.func @where(
// CHECK: "ttnn.where"(%0, %1, %2) : (tensor<2x1xbf16, #ttnn_layout>, tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout8>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @where(%0: tensor<2x1xbf16, #ttnn_layout>, %1: tensor<2x3xbf16, #ttnn_layout>, %2: tensor<3xbf16, #ttnn_layout8>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.where"(%0, %1, %2) : (tensor<2x1xbf16, #ttnn_layout>, tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout8>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @clamp_scalar(
// CHECK: "ttnn.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @clamp_scalar(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @clamp_integers(
// CHECK: "ttnn.clamp_scalar"(%0) <{min = 0 : i32, max = 9 : i32}> : (tensor<2x3xsi32, #ttnn_layout9>) -> tensor<2x3xsi32, #ttnn_layout9>
func.func @clamp_integers(%0: tensor<2x3xsi32, #ttnn_layout9>) -> tensor<2x3xsi32, #ttnn_layout9> {
  %1 = "ttnn.clamp_scalar"(%0) <{min = 0 : i32, max = 9 : i32}> : (tensor<2x3xsi32, #ttnn_layout9>) -> tensor<2x3xsi32, #ttnn_layout9>
  func.return %1 : tensor<2x3xsi32, #ttnn_layout9>
}

// CHECK-LABEL: func.func @clamp_tensor(
// CHECK: "ttnn.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout8>, tensor<2x1xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @clamp_tensor(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<3xbf16, #ttnn_layout8>, %2: tensor<2x1xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout8>, tensor<2x1xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @leaky_relu(
// CHECK: "ttnn.leaky_relu"(%0) <{parameter = 2.500000e-01 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @leaky_relu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.leaky_relu"(%0) <{parameter = 2.500000e-01 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @repeat(
// CHECK: "ttnn.repeat"(%0) <{repeat_dims = #ttnn.shape<1x4x2>}> : (tensor<2x1x3xbf16, #ttnn_layout3>) -> tensor<2x4x6xbf16, #ttnn_layout3>
func.func @repeat(%0: tensor<2x1x3xbf16, #ttnn_layout3>) -> tensor<2x4x6xbf16, #ttnn_layout3> {
  %1 = "ttnn.repeat"(%0) <{repeat_dims = #ttnn.shape<1x4x2>}> : (tensor<2x1x3xbf16, #ttnn_layout3>) -> tensor<2x4x6xbf16, #ttnn_layout3>
  func.return %1 : tensor<2x4x6xbf16, #ttnn_layout3>
}
