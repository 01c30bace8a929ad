// RUN: import

// CHECK: func.func public @main(%x: tensor<4x6xf32>
func.func @main(%x: tensor<4x6xf32> {ttir.name = "x"}) -> (tensor<4xf32>, tensor<6xf32>, tensor<4xi32>) {
  // An initial value that is the body's identity is dropped; any other is combined with the result.
  // CHECK: %[[S:.*]] = "ttir.sum"(%x) <{dim_arg = [1 : i32], keep_dim = false}>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: %[[T:.*]] = "ttir.constant"() <{value = dense<2.000000e+00>
  // CHECK-NEXT: %[[M:.*]] = "ttir.max"(%x) <{dim_arg = [0 : i32], keep_dim = false}>
  // CHECK-NEXT: %[[N:.*]] = "ttir.maximum"(%[[M]], %[[T]])
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %two) applies stablehlo.maximum across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  // argmin is the argmax of the negated operand.
  // CHECK: %[[G:.*]] = "ttir.neg"(%x)
  // CHECK-NEXT: %[[A:.*]] = "ttir.argmax"(%[[G]]) <{dim_arg = [1 : i32], keep_dim = false}>
  // CHECK-NEXT: func.return %[[S]], %[[N]], %[[A]]
  %i = stablehlo.iota dim = 1 : tensor<4x6xi32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %2:2 = stablehlo.reduce(%x init: %inf), (%i init: %c) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %3 = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
      %5 = stablehlo.select %3, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %4, %5 : tensor<f32>, tensor<i32>
    }
  return %0, %1, %2#1 : tensor<4xf32>, tensor<6xf32>, tensor<4xi32>
}
