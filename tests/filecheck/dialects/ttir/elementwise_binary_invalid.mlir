// RUN: invalid

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @add(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.add"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @add(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.add"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @atan2(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.atan2"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @atan2(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.atan2"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @bitwise_and(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<3x2xsi32> {
  %2 = "ttir.bitwise_and"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<3x2xsi32>
  func.return %2 : tensor<3x2xsi32>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @bitwise_and(%0: tensor<2x3xsi32>, %1: tensor<4x3xsi32>) -> tensor<4x3xsi32> {
  %2 = "ttir.bitwise_and"(%0, %1) : (tensor<2x3xsi32>, tensor<4x3xsi32>) -> tensor<4x3xsi32>
  func.return %2 : tensor<4x3xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @bitwise_or(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<3x2xsi32> {
  %2 = "ttir.bitwise_or"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<3x2xsi32>
  func.return %2 : tensor<3x2xsi32>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @bitwise_or(%0: tensor<2x3xsi32>, %1: tensor<4x3xsi32>) -> tensor<4x3xsi32> {
  %2 = "ttir.bitwise_or"(%0, %1) : (tensor<2x3xsi32>, tensor<4x3xsi32>) -> tensor<4x3xsi32>
  func.return %2 : tensor<4x3xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @bitwise_xor(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<3x2xsi32> {
  %2 = "ttir.bitwise_xor"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<3x2xsi32>
  func.return %2 : tensor<3x2xsi32>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @bitwise_xor(%0: tensor<2x3xsi32>, %1: tensor<4x3xsi32>) -> tensor<4x3xsi32> {
  %2 = "ttir.bitwise_xor"(%0, %1) : (tensor<2x3xsi32>, tensor<4x3xsi32>) -> tensor<4x3xsi32>
  func.return %2 : tensor<4x3xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @div(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.div"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @div(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.div"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @eq(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.eq"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @eq(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.eq"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @ge(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.ge"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @ge(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.ge"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @gt(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.gt"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @gt(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.gt"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @le(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.le"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @le(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.le"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @logical_and(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.logical_and"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @logical_and(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.logical_and"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @logical_left_shift(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<3x2xsi32> {
  %2 = "ttir.logical_left_shift"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<3x2xsi32>
  func.return %2 : tensor<3x2xsi32>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @logical_left_shift(%0: tensor<2x3xsi32>, %1: tensor<4x3xsi32>) -> tensor<4x3xsi32> {
  %2 = "ttir.logical_left_shift"(%0, %1) : (tensor<2x3xsi32>, tensor<4x3xsi32>) -> tensor<4x3xsi32>
  func.return %2 : tensor<4x3xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @logical_or(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.logical_or"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @logical_or(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.logical_or"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @logical_right_shift(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<3x2xsi32> {
  %2 = "ttir.logical_right_shift"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<3x2xsi32>
  func.return %2 : tensor<3x2xsi32>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @logical_right_shift(%0: tensor<2x3xsi32>, %1: tensor<4x3xsi32>) -> tensor<4x3xsi32> {
  %2 = "ttir.logical_right_shift"(%0, %1) : (tensor<2x3xsi32>, tensor<4x3xsi32>) -> tensor<4x3xsi32>
  func.return %2 : tensor<4x3xsi32>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @logical_xor(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.logical_xor"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @logical_xor(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.logical_xor"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @lt(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.lt"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @lt(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.lt"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @maximum(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.maximum"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @maximum(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.maximum"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @minimum(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.minimum"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @minimum(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.minimum"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @multiply(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.multiply"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @multiply(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.multiply"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @ne(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.ne"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @ne(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.ne"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @pow(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.pow"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @pow(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.pow"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @remainder(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.remainder"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @remainder(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.remainder"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3, 4)
func.func @subtract(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<3x2xbf16> {
  %2 = "ttir.subtract"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<3x2xbf16>
  func.return %2 : tensor<3x2xbf16>
}

// -----

// expected-error: shapes (2, 3), (4, 3) do not broadcast together
func.func @subtract(%0: tensor<2x3xbf16>, %1: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  %2 = "ttir.subtract"(%0, %1) : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %2 : tensor<4x3xbf16>
}
