// RUN: invalid

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @abs(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.abs"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @acos(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.acos"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @asin(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.asin"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @asinh(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.asinh"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @atan(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.atan"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @bitwise_not(%0: tensor<2x3xsi32>) -> tensor<3x2xsi32> {
  %1 = "ttir.bitwise_not"(%0) : (tensor<2x3xsi32>) -> tensor<3x2xsi32>
  func.return %1 : tensor<3x2xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @cbrt(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.cbrt"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @ceil(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.ceil"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @cos(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.cos"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @erf(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.erf"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @erfc(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.erfc"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @exp(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.exp"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @expm1(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.expm1"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @floor(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.floor"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @round(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.round"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @gelu(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.gelu"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @hardsigmoid(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.hardsigmoid"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @isfinite(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.isfinite"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @log(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.log"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @log1p(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.log1p"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @logical_not(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.logical_not"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @mish(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.mish"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @neg(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.neg"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @reciprocal(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.reciprocal"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @relu(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.relu"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @relu6(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.relu6"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @rsqrt(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.rsqrt"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @sigmoid(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.sigmoid"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @sign(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.sign"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @silu(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.silu"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @sin(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.sin"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @sqrt(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.sqrt"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @tan(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.tan"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
func.func @tanh(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.tanh"(%0) : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}
