// RUN: import

// Calls are inlined; the only public function is the program.
// CHECK-NOT: @twice
// CHECK: func.func public @main(%x: tensor<2xf32>
// CHECK-NEXT: %[[A:.*]] = "ttir.exp"(%x)
// CHECK-NEXT: %[[B:.*]] = "ttir.exp"(%[[A]])
// CHECK-NEXT: func.return %[[B]], %x
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.exponential %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func public @program(%x: tensor<2xf32> {ttir.name = "x"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.composite "some.name" %0 {decomposition = @twice} : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %x : tensor<2xf32>, tensor<2xf32>
}
