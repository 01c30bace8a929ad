// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @flattened(
func.func @flattened(%x: tensor<2x5x3xf32>, %w: tensor<15x4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x4xf32> {
  // CHECK-DAG: %[[APART:.*]] = "ttir.reshape"(%w) <{shape = [3 : i32, 5 : i32, 4 : i32]}>
  // CHECK-DAG: %[[TURNED:.*]] = "ttir.permute"(%[[APART]]) <{permutation = array<i64: 1, 0, 2>}>
  // CHECK-DAG: %[[W:.*]] = "ttir.reshape"(%[[TURNED]]) <{shape = [15 : i32, 4 : i32]}>
  // CHECK-DAG: %[[X:.*]] = "ttir.reshape"(%x) <{shape = [2 : i32, 15 : i32]}>
  // CHECK: "ttir.matmul"(%[[X]], %[[W]])
  %p = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 1>}> : (tensor<2x5x3xf32>) -> tensor<2x3x5xf32>
  %r = "ttir.reshape"(%p) <{shape = [2 : i32, 15 : i32]}> : (tensor<2x3x5xf32>) -> tensor<2x15xf32>
  %m = "ttir.matmul"(%r, %w) <{transpose_a = false, transpose_b = false}> : (tensor<2x15xf32>, tensor<15x4xf32>) -> tensor<2x4xf32>
  func.return %m : tensor<2x4xf32>
}

// The permuted rows have another user, so they are computed in any case.
// CHECK-LABEL: func.func @used_again(
func.func @used_again(%x: tensor<2x5x3xf32>, %w: tensor<15x4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x4xf32>, tensor<2x15xf32>) {
  // CHECK: %[[P:.*]] = "ttir.permute"(%x)
  // CHECK: %[[R:.*]] = "ttir.reshape"(%[[P]])
  // CHECK: "ttir.matmul"(%[[R]], %w)
  %p = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 1>}> : (tensor<2x5x3xf32>) -> tensor<2x3x5xf32>
  %r = "ttir.reshape"(%p) <{shape = [2 : i32, 15 : i32]}> : (tensor<2x3x5xf32>) -> tensor<2x15xf32>
  %m = "ttir.matmul"(%r, %w) <{transpose_a = false, transpose_b = false}> : (tensor<2x15xf32>, tensor<15x4xf32>) -> tensor<2x4xf32>
  func.return %m, %r : tensor<2x4xf32>, tensor<2x15xf32>
}
