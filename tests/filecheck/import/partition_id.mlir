// RUN: import mesh=2x4

// CHECK: func.func public @main(%x: tensor<4xf32>
func.func public @main(%x: tensor<4xf32> {ttir.name = "x"}) -> (tensor<ui32>, tensor<i32>, tensor<ui32>, tensor<4xf32>) {
  // Each chip takes its number from a constant that all have.
  // CHECK: %[[A:.*]] = "ttir.constant"() <{value = dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xui32>}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.mesh_partition"(%[[A]]) <{dim = 0 : si32, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.mesh_partition"(%[[B]]) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<1x4xui32>) -> tensor<1x1xui32>
  // CHECK-NEXT: %[[ID:.*]] = "ttir.reshape"(%[[C]])
  %0 = stablehlo.partition_id : tensor<ui32>
  // What follows from the number is computed here: the coordinate along axis 1, times 3, is one row of a table.
  %four = stablehlo.constant dense<4> : tensor<ui32>
  %1 = stablehlo.remainder %0, %four : tensor<ui32>
  %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: %[[D:.*]] = "ttir.constant"() <{value = dense<{{\[\[}}0, 3, 6, 9]]> : tensor<1x4xsi32>}>
  // CHECK-NEXT: %[[E:.*]] = "ttir.mesh_partition"(%[[D]]) <{dim = 1 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: %[[COORDINATE:.*]] = "ttir.reshape"(%[[E]])
  %3 = stablehlo.multiply %2, %three : tensor<i32>
  // There is one replica.
  // CHECK-NEXT: %[[REPLICA:.*]] = "ttir.constant"() <{value = dense<0> : tensor<ui32>}>
  %4 = stablehlo.replica_id : tensor<ui32>
  // A permute between nobody gives zeros.
  // CHECK-NEXT: %[[ZERO:.*]] = "ttir.constant"() <{value = dense<0.000000e+00> : tensor<4xf32>}>
  %5 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: func.return %[[ID]], %[[COORDINATE]], %[[REPLICA]], %[[ZERO]]
  return %0, %3, %4, %5 : tensor<ui32>, tensor<i32>, tensor<ui32>, tensor<4xf32>
}
