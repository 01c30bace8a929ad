// RUN: roundtrip

// CHECK-LABEL: func.func @add(
// CHECK: "ttir.add"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @add(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.add"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @atan2(
// CHECK: "ttir.atan2"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @atan2(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.atan2"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @bitwise_and(
// CHECK: "ttir.bitwise_and"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
func.func @bitwise_and(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<2x3x4xsi32> {
  %2 = "ttir.bitwise_and"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
  func.return %2 : tensor<2x3x4xsi32>
}

// CHECK-LABEL: func.func @bitwise_or(
// CHECK: "ttir.bitwise_or"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
func.func @bitwise_or(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<2x3x4xsi32> {
  %2 = "ttir.bitwise_or"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
  func.return %2 : tensor<2x3x4xsi32>
}

// CHECK-LABEL: func.func @bitwise_xor(
// CHECK: "ttir.bitwise_xor"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
func.func @bitwise_xor(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<2x3x4xsi32> {
  %2 = "ttir.bitwise_xor"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
  func.return %2 : tensor<2x3x4xsi32>
}

// CHECK-LABEL: func.func @div(
// CHECK: "ttir.div"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @div(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.div"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @eq(
// CHECK: "ttir.eq"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @eq(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.eq"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @ge(
// CHECK: "ttir.ge"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @ge(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.ge"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @gt(
// CHECK: "ttir.gt"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @gt(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.gt"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @le(
// CHECK: "ttir.le"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @le(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.le"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @logical_and(
// CHECK: "ttir.logical_and"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @logical_and(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.logical_and"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @logical_left_shift(
// CHECK: "ttir.logical_left_shift"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
func.func @logical_left_shift(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<2x3x4xsi32> {
  %2 = "ttir.logical_left_shift"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
  func.return %2 : tensor<2x3x4xsi32>
}

// CHECK-LABEL: func.func @logical_or(
// CHECK: "ttir.logical_or"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @logical_or(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.logical_or"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @logical_right_shift(
// CHECK: "ttir.logical_right_shift"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
func.func @logical_right_shift(%0: tensor<2x3x4xsi32>, %1: tensor<3x1xsi32>) -> tensor<2x3x4xsi32> {
  %2 = "ttir.logical_right_shift"(%0, %1) : (tensor<2x3x4xsi32>, tensor<3x1xsi32>) -> tensor<2x3x4xsi32>
  func.return %2 : tensor<2x3x4xsi32>
}

// CHECK-LABEL: func.func @logical_xor(
// CHECK: "ttir.logical_xor"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @logical_xor(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.logical_xor"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @lt(
// CHECK: "ttir.lt"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @lt(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.lt"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @maximum(
// CHECK: "ttir.maximum"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @maximum(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.maximum"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @minimum(
// CHECK: "ttir.minimum"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @minimum(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.minimum"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @multiply(
// CHECK: "ttir.multiply"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @multiply(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.multiply"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @ne(
// CHECK: "ttir.ne"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @ne(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.ne"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @pow(
// CHECK: "ttir.pow"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @pow(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.pow"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @remainder(
// CHECK: "ttir.remainder"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @remainder(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.remainder"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @subtract(
// CHECK: "ttir.subtract"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
func.func @subtract(%0: tensor<2x3x4xbf16>, %1: tensor<3x1xbf16>) -> tensor<2x3x4xbf16> {
  %2 = "ttir.subtract"(%0, %1) : (tensor<2x3x4xbf16>, tensor<3x1xbf16>) -> tensor<2x3x4xbf16>
  func.return %2 : tensor<2x3x4xbf16>
}
