// RUN: import

// Updates of the same row are summed by a product with a matrix of ones and zeros that assigns updates to rows. Row numbers
// outside the table match no row, so they need no clamp.
// CHECK-LABEL: func.func public @main
func.func @main(%i: tensor<5x1xi32>, %u: tensor<5x4xf32>, %big: tensor<4000x4xf32>, %j: tensor<600x1xi32>, %v: tensor<600x4xf32>) -> (tensor<3x4xf32>, tensor<4000x4xf32>) {
  // CHECK: %[[SAME:.*]] = "ttir.eq"({{.*}}) : (tensor<3x5xsi32>, tensor<3x5xsi32>)
  // CHECK: %[[MATRIX:.*]] = "ttir.typecast"(%[[SAME]]) : (tensor<3x5xbf16>) -> tensor<3x5xf32>
  // CHECK: "ttir.matmul"(%[[MATRIX]], %arg1)
  %zero = stablehlo.constant dense<0.0> : tensor<3x4xf32>
  %sums = "stablehlo.scatter"(%zero, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  // A matrix of 4000 x 600 elements is too large.
  // CHECK-NOT: "ttir.matmul"
  // CHECK: "ttir.scatter"
  %more = "stablehlo.scatter"(%big, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<4000x4xf32>, tensor<600x1xi32>, tensor<600x4xf32>) -> tensor<4000x4xf32>
  return %sums, %more : tensor<3x4xf32>, tensor<4000x4xf32>
}
