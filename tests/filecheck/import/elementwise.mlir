// RUN: import

// CHECK: func.func public @main(
// CHECK-SAME: %x: tensor<2x3xf32> {ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}
// CHECK-SAME: %{{.*}}: tensor<2x3xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "arg1"}
// CHECK-SAME: %{{.*}}: tensor<2x3xsi32> {ttcore.argument_type = #ttcore.argument_type<constant>, ttir.name = "arg2"}
func.func @main(%x: tensor<2x3xf32> {ttir.name = "x"}, %p: tensor<2x3xi1> {ttcore.argument_type = "parameter"}, %i: tensor<2x3xi64> {ttcore.argument_type = #ttcore.argument_type<constant>}) -> (tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xi64>) {
  // CHECK: "ttir.sin"(%x)
  %0 = stablehlo.sine %x : tensor<2x3xf32>
  // CHECK: %[[S:.*]] = "ttir.multiply"(%[[A:.*]], %[[A]])
  %1 = chlo.square %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  // Booleans become logical ops, integers bitwise ops.
  // CHECK-NEXT: "ttir.logical_not"(%{{.*}}) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %2 = stablehlo.not %p : tensor<2x3xi1>
  // CHECK-NEXT: "ttir.logical_or"
  %3 = stablehlo.add %2, %p : tensor<2x3xi1>
  // CHECK-NEXT: "ttir.bitwise_xor"(%{{.*}}, %{{.*}}) : (tensor<2x3xsi32>, tensor<2x3xsi32>) -> tensor<2x3xsi32>
  %4 = stablehlo.xor %i, %i : tensor<2x3xi64>
  // A conversion to booleans is a comparison; one between types that the chip holds alike is no op.
  // CHECK-NEXT: %[[Z:.*]] = "ttir.constant"() <{value = dense<0> : tensor<2x3xsi32>}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.ne"(%{{.*}}, %[[Z]])
  %5 = stablehlo.convert %4 : (tensor<2x3xi64>) -> tensor<2x3xi32>
  %6 = stablehlo.convert %5 : (tensor<2x3xi32>) -> tensor<2x3xi1>
  // CHECK-NEXT: "ttir.where"(%[[B]], %[[S]], %x)
  %7 = stablehlo.select %6, %1, %x : tensor<2x3xi1>, tensor<2x3xf32>
  return %7, %3, %4 : tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xi64>
}
