// RUN: invalid

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @abs(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @acos(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.acos"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @asin(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.asin"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @asinh(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.asinh"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @atan(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.atan"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitwise_not(%0: tensor<2x3xsi32, #ttnn_layout>) -> tensor<3x2xsi32, #ttnn_layout> {
  %1 = "ttnn.bitwise_not"(%0) : (tensor<2x3xsi32, #ttnn_layout>) -> tensor<3x2xsi32, #ttnn_layout>
  func.return %1 : tensor<3x2xsi32, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @cbrt(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.cbrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @ceil(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.ceil"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @cos(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.cos"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @erf(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.erf"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @erfc(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.erfc"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @exp(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.exp"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @expm1(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.expm1"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @floor(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.floor"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @round(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.round"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @gelu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.gelu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @gelu_approx(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.gelu_approx"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @hardsigmoid(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.hardsigmoid"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @isfinite(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.isfinite"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @log(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.log"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @log1p(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.log1p"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @logical_not(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.logical_not"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mish(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.mish"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @neg(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.neg"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @reciprocal(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.reciprocal"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @relu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.relu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @relu6(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.relu6"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rsqrt(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.rsqrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sigmoid(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.sigmoid"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sign(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.sign"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @silu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.silu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sin(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.sin"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sqrt(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.sqrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @tan(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.tan"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @tanh(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.tanh"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}
