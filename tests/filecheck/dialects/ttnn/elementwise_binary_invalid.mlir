// RUN: invalid

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @add(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.add"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @add(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.add"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @atan2(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.atan2"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @atan2(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.atan2"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_and(%0: tensor<2x3x4xsi32, #ttnn_layout>, %1: tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1> {
  %2 = "ttnn.bitwise_and"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout>, tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1>
  func.return %2 : tensor<3x2xsi32, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_and(%0: tensor<2x3xsi32, #ttnn_layout>, %1: tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout> {
  %2 = "ttnn.bitwise_and"(%0, %1) : (tensor<2x3xsi32, #ttnn_layout>, tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout>
  func.return %2 : tensor<4x3xsi32, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_or(%0: tensor<2x3x4xsi32, #ttnn_layout>, %1: tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1> {
  %2 = "ttnn.bitwise_or"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout>, tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1>
  func.return %2 : tensor<3x2xsi32, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_or(%0: tensor<2x3xsi32, #ttnn_layout>, %1: tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout> {
  %2 = "ttnn.bitwise_or"(%0, %1) : (tensor<2x3xsi32, #ttnn_layout>, tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout>
  func.return %2 : tensor<4x3xsi32, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_xor(%0: tensor<2x3x4xsi32, #ttnn_layout>, %1: tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1> {
  %2 = "ttnn.bitwise_xor"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout>, tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1>
  func.return %2 : tensor<3x2xsi32, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_xor(%0: tensor<2x3xsi32, #ttnn_layout>, %1: tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout> {
  %2 = "ttnn.bitwise_xor"(%0, %1) : (tensor<2x3xsi32, #ttnn_layout>, tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout>
  func.return %2 : tensor<4x3xsi32, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @divide(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.divide"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @divide(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.divide"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @eq(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.eq"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @eq(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.eq"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @ge(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.ge"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @ge(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.ge"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @gt(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.gt"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @gt(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.gt"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @le(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.le"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @le(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.le"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_and(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.logical_and"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_and(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.logical_and"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @logical_left_shift(%0: tensor<2x3x4xsi32, #ttnn_layout>, %1: tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1> {
  %2 = "ttnn.logical_left_shift"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout>, tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1>
  func.return %2 : tensor<3x2xsi32, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @logical_left_shift(%0: tensor<2x3xsi32, #ttnn_layout>, %1: tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout> {
  %2 = "ttnn.logical_left_shift"(%0, %1) : (tensor<2x3xsi32, #ttnn_layout>, tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout>
  func.return %2 : tensor<4x3xsi32, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_or(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.logical_or"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_or(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.logical_or"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @logical_right_shift(%0: tensor<2x3x4xsi32, #ttnn_layout>, %1: tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1> {
  %2 = "ttnn.logical_right_shift"(%0, %1) : (tensor<2x3x4xsi32, #ttnn_layout>, tensor<3x1xsi32, #ttnn_layout1>) -> tensor<3x2xsi32, #ttnn_layout1>
  func.return %2 : tensor<3x2xsi32, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @logical_right_shift(%0: tensor<2x3xsi32, #ttnn_layout>, %1: tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout> {
  %2 = "ttnn.logical_right_shift"(%0, %1) : (tensor<2x3xsi32, #ttnn_layout>, tensor<4x3xsi32, #ttnn_layout>) -> tensor<4x3xsi32, #ttnn_layout>
  func.return %2 : tensor<4x3xsi32, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_xor(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.logical_xor"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_xor(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.logical_xor"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @lt(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.lt"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @lt(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.lt"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @maximum(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.maximum"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @maximum(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.maximum"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @minimum(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.minimum"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @minimum(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.minimum"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @multiply(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.multiply"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @multiply(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.multiply"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @ne(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.ne"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @ne(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.ne"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pow_tensor(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.pow_tensor"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pow_tensor(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.pow_tensor"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @remainder(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.remainder"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @remainder(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.remainder"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @subtract(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.subtract"(%0, %1) : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<3x1xbf16, #ttnn_layout1>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @subtract(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.subtract"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<4x3xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}
