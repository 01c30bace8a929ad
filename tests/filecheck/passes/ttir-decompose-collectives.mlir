// RUN: pass=ttir-decompose

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x3>]>} {
  // TT-NN adds floats between chips.
  // CHECK-LABEL: func.func @sum(
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: "ttir.reduce_scatter"
  // CHECK-NEXT: func.return
  func.func @sum(%x: tensor<6x4xbf16>) -> (tensor<6x4xbf16>, tensor<2x4xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<6x4xbf16>) -> tensor<6x4xbf16>
    %1 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<6x4xbf16>) -> tensor<2x4xbf16>
    func.return %0, %1 : tensor<6x4xbf16>, tensor<2x4xbf16>
  }

  // One reduction combines small shards, each of which is a row.
  // CHECK-LABEL: func.func @small(
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%{{.*}}) <{shape = [1 : i32, 24 : i32]}>
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_gather"(%[[R]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<1x24xf32>) -> tensor<3x24xf32>
  // CHECK-NEXT: %[[M:.*]] = "ttir.min"(%[[G]]) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<3x24xf32>) -> tensor<24xf32>
  // CHECK-NEXT: "ttir.reshape"(%[[M]]) <{shape = [6 : i32, 4 : i32]}>
  func.func @small(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<min>, cluster_axis = 1 : ui32}> : (tensor<6x4xf32>) -> tensor<6x4xf32>
    func.return %0 : tensor<6x4xf32>
  }

  // Every other reduction combines the gathered shards: halves of them, and the third one by itself.
  // CHECK-LABEL: func.func @maximum(
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%{{.*}}) <{shape = [1 : i32, 600 : i32, 400 : i32]}>
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_gather"(%[[R]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<1x600x400xf32>) -> tensor<3x600x400xf32>
  // CHECK-NEXT: %[[A:.*]] = "ttir.slice_static"(%[[G]]) <{begins = [0 : i32, 0 : i32, 0 : i32], ends = [1 :
  // CHECK-NEXT: %[[B:.*]] = "ttir.slice_static"(%[[G]]) <{begins = [1 : i32, 0 : i32, 0 : i32], ends = [2 :
  // CHECK-NEXT: %[[AB:.*]] = "ttir.maximum"(%[[A]], %[[B]])
  // CHECK-NEXT: %[[C:.*]] = "ttir.slice_static"(%[[G]]) <{begins = [2 : i32, 0 : i32, 0 : i32], ends = [3 :
  // CHECK-NEXT: %[[J:.*]] = "ttir.concat"(%[[AB]], %[[C]]) <{dim = 0 : si32}>
  // CHECK: %[[M:.*]] = "ttir.maximum"
  // CHECK-NEXT: "ttir.reshape"(%[[M]]) <{shape = [600 : i32, 400 : i32]}>
  func.func @maximum(%x: tensor<600x400xf32>) -> tensor<600x400xf32> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}> : (tensor<600x400xf32>) -> tensor<600x400xf32>
    func.return %0 : tensor<600x400xf32>
  }

  // A chip combines its own part only.
  // CHECK-LABEL: func.func @integers(
  // CHECK: %[[G:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.mesh_partition"(%[[G]]) <{dim = 2 : si32, cluster_axis = 1 : ui32}> : (tensor<3x4x6xsi32>) -> tensor<3x4x2xsi32>
  // CHECK: "ttir.add"
  func.func @integers(%x: tensor<4x6xsi32>) -> tensor<4x2xsi32> {
    %0 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = -1 : si32, cluster_axis = 1 : ui32}> : (tensor<4x6xsi32>) -> tensor<4x2xsi32>
    func.return %0 : tensor<4x2xsi32>
  }
}
