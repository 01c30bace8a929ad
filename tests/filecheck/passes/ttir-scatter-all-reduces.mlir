// RUN: pass=ttir-scatter-all-reduces arch=n300-llmbox

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x4>]>} {
  // Chips scatter a large tensor along the longer axis, and sum a quarter of it along the shorter one.
  // CHECK-LABEL: func.func @large(
  // CHECK-NEXT: %[[S:.*]] = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<1024x4095xf32>) -> tensor<256x4095xf32>
  // CHECK-NEXT: %[[R:.*]] = "ttir.all_reduce"(%[[S]]) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_gather"(%[[R]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: func.return %[[G]]
  func.func @large(%x: tensor<1024x4095xf32>) -> tensor<1024x4095xf32> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<1024x4095xf32>) -> tensor<1024x4095xf32>
    %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<1024x4095xf32>) -> tensor<1024x4095xf32>
    func.return %1 : tensor<1024x4095xf32>
  }

  // A small tensor would wait longer for one exchange more; one that no axis divides stays too, and so does a sum whose
  // first half is used.
  // CHECK-LABEL: func.func @apart(
  // CHECK-COUNT-6: "ttir.all_reduce"
  // CHECK-NEXT: func.return
  func.func @apart(%x: tensor<32x64xf32>, %y: tensor<4095x4095xf32>, %z: tensor<1024x4096xf32>) -> (tensor<32x64xf32>, tensor<4095x4095xf32>, tensor<1024x4096xf32>, tensor<1024x4096xf32>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %2 = "ttir.all_reduce"(%y) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<4095x4095xf32>) -> tensor<4095x4095xf32>
    %3 = "ttir.all_reduce"(%2) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<4095x4095xf32>) -> tensor<4095x4095xf32>
    %4 = "ttir.all_reduce"(%z) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
    %5 = "ttir.all_reduce"(%4) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
    func.return %1, %3, %4, %5 : tensor<32x64xf32>, tensor<4095x4095xf32>, tensor<1024x4096xf32>, tensor<1024x4096xf32>
  }
}
