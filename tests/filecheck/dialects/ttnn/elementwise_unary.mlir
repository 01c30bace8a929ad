// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @abs(
// CHECK: "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @abs(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @acos(
// CHECK: "ttnn.acos"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @acos(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.acos"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @asin(
// CHECK: "ttnn.asin"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @asin(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.asin"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @asinh(
// CHECK: "ttnn.asinh"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @asinh(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.asinh"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @atan(
// CHECK: "ttnn.atan"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @atan(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.atan"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @bitwise_not(
// CHECK: "ttnn.bitwise_not"(%0) : (tensor<2x3xsi32, #ttnn_layout1>) -> tensor<2x3xsi32, #ttnn_layout1>
func.func @bitwise_not(%0: tensor<2x3xsi32, #ttnn_layout1>) -> tensor<2x3xsi32, #ttnn_layout1> {
  %1 = "ttnn.bitwise_not"(%0) : (tensor<2x3xsi32, #ttnn_layout1>) -> tensor<2x3xsi32, #ttnn_layout1>
  func.return %1 : tensor<2x3xsi32, #ttnn_layout1>
}

// CHECK-LABEL: func.func @cbrt(
// CHECK: "ttnn.cbrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @cbrt(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.cbrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @ceil(
// CHECK: "ttnn.ceil"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @ceil(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.ceil"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @cos(
// CHECK: "ttnn.cos"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @cos(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.cos"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @erf(
// CHECK: "ttnn.erf"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @erf(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.erf"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @erfc(
// CHECK: "ttnn.erfc"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @erfc(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.erfc"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @exp(
// CHECK: "ttnn.exp"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @exp(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.exp"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @expm1(
// CHECK: "ttnn.expm1"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @expm1(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.expm1"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @floor(
// CHECK: "ttnn.floor"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @floor(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.floor"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @round(
// CHECK: "ttnn.round"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @round(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.round"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @gelu(
// CHECK: "ttnn.gelu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @gelu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.gelu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @gelu_approx(
// CHECK: "ttnn.gelu_approx"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @gelu_approx(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.gelu_approx"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @hardsigmoid(
// CHECK: "ttnn.hardsigmoid"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @hardsigmoid(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.hardsigmoid"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @isfinite(
// CHECK: "ttnn.isfinite"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @isfinite(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.isfinite"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @log(
// CHECK: "ttnn.log"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @log(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.log"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @log1p(
// CHECK: "ttnn.log1p"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @log1p(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.log1p"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @logical_not(
// CHECK: "ttnn.logical_not"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @logical_not(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.logical_not"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @mish(
// CHECK: "ttnn.mish"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @mish(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.mish"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @neg(
// CHECK: "ttnn.neg"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @neg(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.neg"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @reciprocal(
// CHECK: "ttnn.reciprocal"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @reciprocal(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.reciprocal"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @relu(
// CHECK: "ttnn.relu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @relu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.relu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @relu6(
// CHECK: "ttnn.relu6"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @relu6(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.relu6"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK: "ttnn.rsqrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @rsqrt(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.rsqrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sigmoid(
// CHECK: "ttnn.sigmoid"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @sigmoid(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.sigmoid"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sign(
// CHECK: "ttnn.sign"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @sign(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.sign"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @silu(
// CHECK: "ttnn.silu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @silu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.silu"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sin(
// CHECK: "ttnn.sin"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @sin(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.sin"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sqrt(
// CHECK: "ttnn.sqrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @sqrt(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.sqrt"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @tan(
// CHECK: "ttnn.tan"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @tan(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.tan"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @tanh(
// CHECK: "ttnn.tanh"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
func.func @tanh(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.tanh"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}
