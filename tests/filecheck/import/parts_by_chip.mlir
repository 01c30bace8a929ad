// RUN: import mesh=2x4

// CHECK: func.func public @main(%x: tensor<8x24xf32>
func.func public @main(%x: tensor<8x24xf32> {ttir.name = "x"}) -> (tensor<8x3xf32>, tensor<8x4xf32>, tensor<4x24xf32>, tensor<8x5xf32>) {
  %id = stablehlo.partition_id : tensor<ui32>
  %p = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %c4 = stablehlo.constant dense<4> : tensor<i32>
  // Parts of all chips side by side: the major axis is taken first.
  // CHECK: %[[A:.*]] = "ttir.mesh_partition"(%x) <{dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<8x24xf32>) -> tensor<8x12xf32>
  // CHECK-NEXT: "ttir.mesh_partition"(%[[A]]) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<8x12xf32>) -> tensor<8x3xf32>
  %0 = stablehlo.multiply %p, %c3 : tensor<i32>
  %1 = stablehlo.dynamic_slice %x, %c0, %0, sizes = [8, 3] : (tensor<8x24xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
  // Parts of one axis in the middle of the tensor.
  // CHECK: %[[B:.*]] = "ttir.slice_static"(%x) <{begins = [0 : i32, 2 : i32], ends = [8 : i32, 18 : i32]
  // CHECK-NEXT: "ttir.mesh_partition"(%[[B]]) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.remainder %p, %c4 : tensor<i32>
  %3 = stablehlo.multiply %2, %c4 : tensor<i32>
  %4 = stablehlo.add %3, %c2 : tensor<i32>
  %5 = stablehlo.dynamic_slice %x, %c0, %4, sizes = [8, 4] : (tensor<8x24xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  // The start is clamped: row 1 of the mesh begins at 4, not at 8.
  // CHECK: "ttir.mesh_partition"(%x) <{dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<8x24xf32>) -> tensor<4x24xf32>
  %6 = stablehlo.divide %p, %c4 : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %7 = stablehlo.multiply %6, %c8 : tensor<i32>
  %8 = stablehlo.dynamic_slice %x, %7, %c0, sizes = [4, 24] : (tensor<8x24xf32>, tensor<i32>, tensor<i32>) -> tensor<4x24xf32>
  // Parts that overlap are looked up.
  // CHECK: "ttir.embedding"
  %9 = stablehlo.dynamic_slice %x, %c0, %0, sizes = [8, 5] : (tensor<8x24xf32>, tensor<i32>, tensor<i32>) -> tensor<8x5xf32>
  return %1, %5, %8, %9 : tensor<8x3xf32>, tensor<8x4xf32>, tensor<4x24xf32>, tensor<8x5xf32>
}
