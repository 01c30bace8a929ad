// RUN: invalid

// expected-error: expected a function type
func.func @main(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = ttcore.load_cached(@f, [%0]) : tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: expect symbol name
func.func @main(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = ttcore.load_cached(f, [%0]) : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: expected a symbol, @name, got 1 : i8
func.func @main(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = "ttcore.load_cached"(%0) <{callee = 1 : i8}> : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: expected a symbol, @name, got @a::@b
func.func @main(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = "ttcore.load_cached"(%0) <{callee = @a::@b}> : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: callee
func.func @main(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = "ttcore.load_cached"(%0) : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: operand
func.func @main(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = ttcore.load_cached(@f, [%0, %0]) : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}
