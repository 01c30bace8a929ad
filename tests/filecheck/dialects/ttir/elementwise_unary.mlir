// RUN: roundtrip

// CHECK-LABEL: func.func @abs(
// CHECK: "ttir.abs"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @abs(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.abs"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @acos(
// CHECK: "ttir.acos"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @acos(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.acos"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @asin(
// CHECK: "ttir.asin"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @asin(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.asin"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @asinh(
// CHECK: "ttir.asinh"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @asinh(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.asinh"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @atan(
// CHECK: "ttir.atan"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @atan(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.atan"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @bitwise_not(
// CHECK: "ttir.bitwise_not"(%0) : (tensor<2x3xsi32>) -> tensor<2x3xsi32>
func.func @bitwise_not(%0: tensor<2x3xsi32>) -> tensor<2x3xsi32> {
  %1 = "ttir.bitwise_not"(%0) : (tensor<2x3xsi32>) -> tensor<2x3xsi32>
  func.return %1 : tensor<2x3xsi32>
}

// CHECK-LABEL: func.func @cbrt(
// CHECK: "ttir.cbrt"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @cbrt(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cbrt"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @ceil(
// CHECK: "ttir.ceil"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @ceil(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.ceil"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @cos(
// CHECK: "ttir.cos"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @cos(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.cos"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @erf(
// CHECK: "ttir.erf"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @erf(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.erf"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @erfc(
// CHECK: "ttir.erfc"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @erfc(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.erfc"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @exp(
// CHECK: "ttir.exp"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @exp(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.exp"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @expm1(
// CHECK: "ttir.expm1"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @expm1(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.expm1"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @floor(
// CHECK: "ttir.floor"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @floor(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.floor"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @round(
// CHECK: "ttir.round"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @round(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.round"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @gelu(
// CHECK: "ttir.gelu"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @gelu(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.gelu"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @hardsigmoid(
// CHECK: "ttir.hardsigmoid"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @hardsigmoid(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.hardsigmoid"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @isfinite(
// CHECK: "ttir.isfinite"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @isfinite(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.isfinite"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @log(
// CHECK: "ttir.log"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @log(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.log"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @log1p(
// CHECK: "ttir.log1p"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @log1p(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.log1p"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @logical_not(
// CHECK: "ttir.logical_not"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @logical_not(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.logical_not"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @mish(
// CHECK: "ttir.mish"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @mish(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.mish"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @neg(
// CHECK: "ttir.neg"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @neg(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.neg"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @reciprocal(
// CHECK: "ttir.reciprocal"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @reciprocal(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.reciprocal"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @relu(
// CHECK: "ttir.relu"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @relu(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.relu"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @relu6(
// CHECK: "ttir.relu6"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @relu6(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.relu6"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK: "ttir.rsqrt"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @rsqrt(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.rsqrt"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @sigmoid(
// CHECK: "ttir.sigmoid"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @sigmoid(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.sigmoid"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @sign(
// CHECK: "ttir.sign"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @sign(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.sign"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @silu(
// CHECK: "ttir.silu"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @silu(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.silu"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @sin(
// CHECK: "ttir.sin"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @sin(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.sin"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @sqrt(
// CHECK: "ttir.sqrt"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @sqrt(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.sqrt"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @tan(
// CHECK: "ttir.tan"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @tan(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.tan"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @tanh(
// CHECK: "ttir.tanh"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @tanh(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.tanh"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}
