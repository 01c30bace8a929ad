// RUN: pass=ttir-merge-all-reduces arch=n300-llmbox

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x4>]>} {
  // Sums over both axes stay together.
  // CHECK-LABEL: func.func @both(
  // CHECK: %[[J:.*]] = "ttir.concat"(%x, %y) <{dim = 0 : si32}>
  // CHECK-NEXT: %[[A:.*]] = "ttir.all_reduce"(%[[J]]) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.all_reduce"(%[[A]]) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: "ttir.slice_static"(%[[B]])
  // CHECK-NEXT: "ttir.slice_static"(%[[B]])
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: func.return
  func.func @both(%x: tensor<32x64xbf16>, %y: tensor<8x64xbf16>) -> (tensor<32x64xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %1 = "ttir.all_reduce"(%y) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<8x64xbf16>) -> tensor<8x64xbf16>
    %2 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %3 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x64xbf16>) -> tensor<8x64xbf16>
    %4 = "ttir.all_reduce"(%y) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x64xbf16>) -> tensor<8x64xbf16>
    func.return %2, %3, %4 : tensor<32x64xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>
  }
}
