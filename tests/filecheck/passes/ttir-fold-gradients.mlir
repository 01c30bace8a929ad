// RUN: pass=ttir-fold

// transposed_product.
// CHECK-LABEL: func.func @weight_gradient(
func.func @weight_gradient(%x: tensor<8x4xf32>, %g: tensor<8x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[P:.*]] = "ttir.dot_general"(%x, %g) <{{{.*}}contract_dims_lhs = array<i64: 0>{{.*}}contract_dims_rhs = array<i64: 0>}> : {{.*}} -> tensor<4x6xf32>
  // CHECK-NEXT: func.return %[[P]]
  %0 = "ttir.dot_general"(%g, %x) <{batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64: 0>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64: 0>}> : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<6x4xf32>) -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @batches_stay_first(
func.func @batches_stay_first(%x: tensor<2x8x4xf32>, %g: tensor<2x8x6xf32>) -> (tensor<2x4x6xf32>, tensor<4x6x2xf32>) {
  // CHECK-NEXT: "ttir.dot_general"(%x, %g)
  %0 = "ttir.dot_general"(%g, %x) <{batch_dims_lhs = array<i64: 0>, contract_dims_lhs = array<i64: 1>, batch_dims_rhs = array<i64: 0>, contract_dims_rhs = array<i64: 1>}> : (tensor<2x8x6xf32>, tensor<2x8x4xf32>) -> tensor<2x6x4xf32>
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 0, 2, 1>}> : (tensor<2x6x4xf32>) -> tensor<2x4x6xf32>
  // CHECK-NEXT: "ttir.dot_general"(%g, %x)
  // CHECK-NEXT: "ttir.permute"
  %2 = "ttir.dot_general"(%g, %x) <{batch_dims_lhs = array<i64: 0>, contract_dims_lhs = array<i64: 1>, batch_dims_rhs = array<i64: 0>, contract_dims_rhs = array<i64: 1>}> : (tensor<2x8x6xf32>, tensor<2x8x4xf32>) -> tensor<2x6x4xf32>
  %3 = "ttir.permute"(%2) <{permutation = array<i64: 2, 1, 0>}> : (tensor<2x6x4xf32>) -> tensor<4x6x2xf32>
  func.return %1, %3 : tensor<2x4x6xf32>, tensor<4x6x2xf32>
}

// CHECK-LABEL: func.func @used_twice(
func.func @used_twice(%x: tensor<8x4xf32>, %g: tensor<8x6xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>) {
  // CHECK-NEXT: "ttir.dot_general"(%g, %x)
  // CHECK-NEXT: "ttir.permute"
  %0 = "ttir.dot_general"(%g, %x) <{batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64: 0>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64: 0>}> : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<6x4xf32>) -> tensor<4x6xf32>
  func.return %0, %1 : tensor<6x4xf32>, tensor<4x6xf32>
}

// sum_of_single_elements.
// CHECK-LABEL: func.func @one_row(
func.func @one_row(%x: tensor<1x10xf32>, %n: tensor<1x10xsi32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xsi32>) {
  // CHECK-NEXT: "ttir.reshape"(%x)
  %0 = "ttir.sum"(%x) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<1x10xf32>) -> tensor<10xf32>
  // CHECK-NEXT: "ttir.reshape"(%x)
  %1 = "ttir.mean"(%x) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<1x10xf32>) -> tensor<10xf32>
  // CHECK-NEXT: "ttir.sum"
  %2 = "ttir.sum"(%n) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<1x10xsi32>) -> tensor<10xsi32>
  func.return %0, %1, %2 : tensor<10xf32>, tensor<10xf32>, tensor<10xsi32>
}

// sum_of_repeated, extreme_of_repeated: the sum of an element that is repeated four times is four times the element.
// CHECK-LABEL: func.func @repeated(
func.func @repeated(%x: tensor<3x1x5xf32>) -> (tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>) {
  // CHECK: %[[S:.*]] = "ttir.sum"(%x) <{dim_arg = [0 : i32, 1 : i32], keep_dim = false}>
  // CHECK: dense<4.000000e+00>
  // CHECK-NEXT: "ttir.multiply"(%[[S]]
  %0 = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 1, 4, 1>}> : (tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [0 : i32, 1 : i32], keep_dim = false}> : (tensor<3x4x5xf32>) -> tensor<5xf32>
  // CHECK-NEXT: "ttir.reshape"(%x)
  %2 = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 1, 4, 1>}> : (tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  %3 = "ttir.max"(%2) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<3x4x5xf32>) -> tensor<3x5xf32>
  // CHECK-NEXT: "ttir.broadcast"
  // CHECK-NEXT: "ttir.sum"
  %4 = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 1, 4, 1>}> : (tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  %5 = "ttir.sum"(%4) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<3x4x5xf32>) -> tensor<3x4xf32>
  %6 = "ttir.sum"(%5) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %1, %3, %6 : tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>
}

// fold_where: the result is the comparison itself, cast to the other float type.
// CHECK-LABEL: func.func @one_or_zero(
func.func @one_or_zero(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[C:.*]] = "ttir.gt"(%x, %y)
  // CHECK-NEXT: "ttir.typecast"(%[[C]])
  // CHECK-NEXT: func.return
  %one = "ttir.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %zero = "ttir.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "ttir.gt"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>
  %1 = "ttir.where"(%0, %one, %zero) : (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
