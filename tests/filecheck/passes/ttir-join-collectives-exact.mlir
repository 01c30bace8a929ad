// RUN: pass=ttir-join-collectives numerics=exact

// Exact numerics keep the order in which chips add, and join what only moves.
builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>} {
  // CHECK-LABEL: func.func @sums(
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: "ttir.mesh_partition"
  // CHECK-NEXT: "ttir.reduce_scatter"
  // CHECK-NEXT: "ttir.all_gather"
  func.func @sums(%x: tensor<8x4xbf16>) -> (tensor<4x4xbf16>, tensor<8x4xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
    %2 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
    %3 = "ttir.all_gather"(%2) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
    func.return %1, %3 : tensor<4x4xbf16>, tensor<8x4xbf16>
  }

  // CHECK-LABEL: func.func @moves(
  // CHECK-NEXT: func.return
  func.func @moves(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x8xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<8x8xbf16>) -> tensor<8x4xbf16>
    func.return %1 : tensor<8x4xbf16>
  }
}
