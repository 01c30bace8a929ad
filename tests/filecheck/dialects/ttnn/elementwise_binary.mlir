// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @add(
// CHECK: "ttnn.add"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @add(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.add"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @atan2(
// CHECK: "ttnn.atan2"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @atan2(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.atan2"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @bitwise_and(
// CHECK: "ttnn.bitwise_and"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
func.func @bitwise_and(%0: tensor<2x3x4xsi32, #ttnn_layout2>, %1: tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2> {
  %2 = "ttnn.bitwise_and"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
  func.return %2 : tensor<2x3x4xsi32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @bitwise_or(
// CHECK: "ttnn.bitwise_or"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
func.func @bitwise_or(%0: tensor<2x3x4xsi32, #ttnn_layout2>, %1: tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2> {
  %2 = "ttnn.bitwise_or"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
  func.return %2 : tensor<2x3x4xsi32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @bitwise_xor(
// CHECK: "ttnn.bitwise_xor"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
func.func @bitwise_xor(%0: tensor<2x3x4xsi32, #ttnn_layout2>, %1: tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2> {
  %2 = "ttnn.bitwise_xor"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
  func.return %2 : tensor<2x3x4xsi32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @divide(
// CHECK: "ttnn.divide"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @divide(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.divide"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @eq(
// CHECK: "ttnn.eq"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @eq(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.eq"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @ge(
// CHECK: "ttnn.ge"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @ge(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.ge"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @gt(
// CHECK: "ttnn.gt"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @gt(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.gt"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @le(
// CHECK: "ttnn.le"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @le(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.le"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @logical_and(
// CHECK: "ttnn.logical_and"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @logical_and(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.logical_and"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @logical_left_shift(
// CHECK: "ttnn.logical_left_shift"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
func.func @logical_left_shift(%0: tensor<2x3x4xsi32, #ttnn_layout2>, %1: tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2> {
  %2 = "ttnn.logical_left_shift"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
  func.return %2 : tensor<2x3x4xsi32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @logical_or(
// CHECK: "ttnn.logical_or"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @logical_or(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.logical_or"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @logical_right_shift(
// CHECK: "ttnn.logical_right_shift"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
func.func @logical_right_shift(%0: tensor<2x3x4xsi32, #ttnn_layout2>, %1: tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2> {
  %2 = "ttnn.logical_right_shift"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout2>, tensor<3x1xsi32, #ttnn_layout3>) -> tensor<2x3x4xsi32, #ttnn_layout2>
  func.return %2 : tensor<2x3x4xsi32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @logical_xor(
// CHECK: "ttnn.logical_xor"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @logical_xor(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.logical_xor"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @lt(
// CHECK: "ttnn.lt"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @lt(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.lt"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @maximum(
// CHECK: "ttnn.maximum"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @maximum(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.maximum"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @minimum(
// CHECK: "ttnn.minimum"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @minimum(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.minimum"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @multiply(
// CHECK: "ttnn.multiply"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @multiply(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.multiply"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @ne(
// CHECK: "ttnn.ne"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @ne(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.ne"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @pow_tensor(
// CHECK: "ttnn.pow_tensor"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @pow_tensor(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.pow_tensor"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @remainder(
// CHECK: "ttnn.remainder"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @remainder(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.remainder"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @subtract(
// CHECK: "ttnn.subtract"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
func.func @subtract(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %2 = "ttnn.subtract"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3x4xbf16, #ttnn_layout>
}
