// RUN: roundtrip

// CHECK-LABEL: func.func @dot_general(
// CHECK: "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// CHECK-LABEL: func.func @matmul(
// CHECK: "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
func.func @matmul(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// CHECK-LABEL: func.func @matmul_transposed(
// CHECK: "ttir.matmul"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
func.func @matmul_transposed(%0: tensor<5x4xf32>, %1: tensor<6x5xf32>) -> tensor<4x6xf32> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @matmul_vector(
// CHECK: "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32>, tensor<5x6xf32>) -> tensor<6xf32>
func.func @matmul_vector(%0: tensor<5xf32>, %1: tensor<5x6xf32>) -> tensor<6xf32> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32>, tensor<5x6xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}

// CHECK-LABEL: func.func @linear(
// CHECK: "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
func.func @linear(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// CHECK-LABEL: func.func @linear_transposed(
// CHECK: "ttir.linear"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
func.func @linear_transposed(%0: tensor<5x4xf32>, %1: tensor<6x5xf32>) -> tensor<4x6xf32> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @linear_vector(
// CHECK: "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32>, tensor<5x6xf32>) -> tensor<6xf32>
func.func @linear_vector(%0: tensor<5xf32>, %1: tensor<5x6xf32>) -> tensor<6xf32> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32>, tensor<5x6xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}

// CHECK-LABEL: func.func @linear_with_bias(
// CHECK: "ttir.linear"(%0, %1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>, tensor<6xbf16>) -> tensor<2x4x6xbf16>
func.func @linear_with_bias(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>, %2: tensor<6xbf16>) -> tensor<2x4x6xbf16> {
  %3 = "ttir.linear"(%0, %1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>, tensor<6xbf16>) -> tensor<2x4x6xbf16>
  func.return %3 : tensor<2x4x6xbf16>
}
