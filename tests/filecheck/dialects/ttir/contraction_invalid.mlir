// RUN: invalid

// expected-error: result has shape (7, 2, 3, 5), expected (7, 3, 2, 5)
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x2x3x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x2x3x5xbf16>
  func.return %2 : tensor<7x2x3x5xbf16>
}

// -----

// expected-error: dimensions [0, 2, 4] are not distinct dimensions of rank 4
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 4>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: dimensions [2, 0, 2] are not distinct dimensions of rank 4
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 2>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: lhs of shape (7, 2, 3, 4) and rhs of shape (3, 5, 7, 4) differ in batch or contracted dimensions
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 1>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = 1 : i8, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = 1 : i8, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = 1 : i8, contract_dims_rhs = array<i64: 3>}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
func.func @dot_general(%0: tensor<7x2x3x4xbf16>, %1: tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16> {
  %2 = "ttir.dot_general"(%0, %1) <{batch_dims_lhs = array<i64: 0, 2>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 2, 0>, contract_dims_rhs = 1 : i8}> : (tensor<7x2x3x4xbf16>, tensor<3x5x7x4xbf16>) -> tensor<7x3x2x5xbf16>
  func.return %2 : tensor<7x3x2x5xbf16>
}

// -----

// expected-error: result has shape (4, 6), expected (2, 4, 6)
func.func @matmul(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<4x6xbf16>
  func.return %2 : tensor<4x6xbf16>
}

// -----

// expected-error: inner dimensions differ: 5 of (2, 4, 5) and 6 of (5, 6)
func.func @matmul(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = true}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: do not broadcast together
func.func @matmul(%0: tensor<3x4x5xbf16>, %1: tensor<2x5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<3x4x5xbf16>, tensor<2x5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: operands have shapes () and (5, 6), expected rank 1 or more
func.func @matmul(%0: tensor<bf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<bf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @matmul(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = 1 : i8, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @matmul(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.matmul"(%0, %1) <{transpose_a = false, transpose_b = 1 : i8}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: result has shape (4, 6), expected (2, 4, 6)
func.func @linear(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<4x6xbf16>
  func.return %2 : tensor<4x6xbf16>
}

// -----

// expected-error: inner dimensions differ: 5 of (2, 4, 5) and 6 of (5, 6)
func.func @linear(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = true}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: do not broadcast together
func.func @linear(%0: tensor<3x4x5xbf16>, %1: tensor<2x5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<3x4x5xbf16>, tensor<2x5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: operands have shapes () and (5, 6), expected rank 1 or more
func.func @linear(%0: tensor<bf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<bf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @linear(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = 1 : i8, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: expected a bool, got 1 : i8
func.func @linear(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>) -> tensor<2x4x6xbf16> {
  %2 = "ttir.linear"(%0, %1) <{transpose_a = false, transpose_b = 1 : i8}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>) -> tensor<2x4x6xbf16>
  func.return %2 : tensor<2x4x6xbf16>
}

// -----

// expected-error: shapes (2, 4, 6), (5,) do not broadcast together
func.func @linear_with_bias(%0: tensor<2x4x5xbf16>, %1: tensor<5x6xbf16>, %2: tensor<5xbf16>) -> tensor<2x4x6xbf16> {
  %3 = "ttir.linear"(%0, %1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16>, tensor<5x6xbf16>, tensor<5xbf16>) -> tensor<2x4x6xbf16>
  func.return %3 : tensor<2x4x6xbf16>
}
