// RUN: pass=ttir-join-collectives

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x2>]>} {
  // Chips along another axis are gathered than those that added, although the shapes fit.
  // CHECK-LABEL: func.func @scattered_and_gathered_along_two_axes(
  // CHECK-NEXT: "ttir.reduce_scatter"
  // CHECK-NEXT: "ttir.all_gather"
  // CHECK-NEXT: func.return
  func.func @scattered_and_gathered_along_two_axes(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
    %0 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x2xbf16>
    %1 = "ttir.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<8x2xbf16>) -> tensor<8x4xbf16>
    func.return %1 : tensor<8x4xbf16>
  }
}
