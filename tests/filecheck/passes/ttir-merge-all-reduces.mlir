// RUN: pass=ttir-merge-all-reduces arch=n300-llmbox

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x8>]>} {
  // The gradients of two weights and a bias; what uses the first one waits for all of them.
  // CHECK-LABEL: func.func @gradients(
  // CHECK-NEXT: %[[A:.*]] = "ttir.exp"(%x)
  // CHECK-NEXT: %[[B:.*]] = "ttir.reshape"(%b) <{shape = [1 : i32, 64 : i32]}>
  // CHECK-NEXT: %[[J:.*]] = "ttir.concat"(%x, %[[B]], %[[A]]) <{dim = 0 : si32}> : (tensor<32x64xbf16>, tensor<1x64xbf16>, tensor<32x64xbf16>) -> tensor<65x64xbf16>
  // CHECK-NEXT: %[[R:.*]] = "ttir.all_reduce"(%[[J]]) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: %[[X:.*]] = "ttir.slice_static"(%[[R]]) <{begins = [0 : i32, 0 : i32], ends = [32 : i32, 64 : i32]
  // CHECK-NEXT: %[[N:.*]] = "ttir.neg"(%[[X]])
  // CHECK-NEXT: %[[V:.*]] = "ttir.slice_static"(%[[R]]) <{begins = [32 : i32, 0 : i32], ends = [33 : i32, 64 : i32]
  // CHECK-NEXT: %[[W:.*]] = "ttir.reshape"(%[[V]]) <{shape = [64 : i32]}>
  // CHECK-NEXT: %[[Y:.*]] = "ttir.slice_static"(%[[R]]) <{begins = [33 : i32, 0 : i32], ends = [65 : i32, 64 : i32]
  // CHECK-NEXT: func.return %[[N]], %[[W]], %[[Y]]
  func.func @gradients(%x: tensor<32x64xbf16>, %b: tensor<64xbf16>) -> (tensor<32x64xbf16>, tensor<64xbf16>, tensor<32x64xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %1 = "ttir.neg"(%0) : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %2 = "ttir.all_reduce"(%b) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<64xbf16>) -> tensor<64xbf16>
    %3 = "ttir.exp"(%x) : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %4 = "ttir.all_reduce"(%3) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    func.return %1, %2, %4 : tensor<32x64xbf16>, tensor<64xbf16>, tensor<32x64xbf16>
  }

  // The second sum needs the first one; other axes, types and reductions stay apart.
  // CHECK-LABEL: func.func @apart(
  // CHECK-COUNT-4: "ttir.all_reduce"
  // CHECK-NEXT: func.return
  func.func @apart(%x: tensor<32x64xbf16>, %z: tensor<32x64xf32>) -> (tensor<32x64xbf16>, tensor<32x64xf32>, tensor<32x64xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %2 = "ttir.all_reduce"(%z) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %3 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    func.return %1, %2, %3 : tensor<32x64xbf16>, tensor<32x64xf32>, tensor<32x64xbf16>
  }

  // Tensors with as many rows are put side by side; a bias and a loss are one row.
  // CHECK-LABEL: func.func @widths(
  // CHECK-NEXT: %[[J:.*]] = "ttir.concat"(%y, %x) <{dim = 1 : si32}> : (tensor<32x32xbf16>, tensor<32x64xbf16>) -> tensor<32x96xbf16>
  // CHECK-NEXT: %[[R:.*]] = "ttir.all_reduce"(%[[J]])
  // CHECK-NEXT: "ttir.slice_static"(%[[R]]) <{begins = [0 : i32, 0 : i32], ends = [32 : i32, 32 : i32]
  // CHECK-NEXT: "ttir.slice_static"(%[[R]]) <{begins = [0 : i32, 32 : i32], ends = [32 : i32, 96 : i32]
  // CHECK-NEXT: %[[A:.*]] = "ttir.reshape"(%a) <{shape = [1 : i32, 10 : i32]}>
  // CHECK-NEXT: %[[L:.*]] = "ttir.reshape"(%l) <{shape = [1 : i32, 1 : i32]}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.concat"(%[[A]], %[[L]]) <{dim = 1 : si32}>
  // CHECK-NEXT: "ttir.all_reduce"(%[[B]])
  // CHECK-NOT: "ttir.all_reduce"
  func.func @widths(%y: tensor<32x32xbf16>, %x: tensor<32x64xbf16>, %a: tensor<10xf32>, %l: tensor<f32>) -> (tensor<32x32xbf16>, tensor<32x64xbf16>, tensor<10xf32>, tensor<f32>) {
    %0 = "ttir.all_reduce"(%y) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %1 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %2 = "ttir.all_reduce"(%a) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<10xf32>) -> tensor<10xf32>
    %3 = "ttir.all_reduce"(%l) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<f32>) -> tensor<f32>
    func.return %0, %1, %2, %3 : tensor<32x32xbf16>, tensor<32x64xbf16>, tensor<10xf32>, tensor<f32>
  }

  // Large tensors cost more to join than one exchange saves.
  // CHECK-LABEL: func.func @large(
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: func.return
  func.func @large(%x: tensor<8192x4096xbf16>, %y: tensor<8191x4096xbf16>) -> (tensor<8192x4096xbf16>, tensor<8191x4096xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %1 = "ttir.all_reduce"(%y) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8191x4096xbf16>) -> tensor<8191x4096xbf16>
    func.return %0, %1 : tensor<8192x4096xbf16>, tensor<8191x4096xbf16>
  }

  // Two pairs that depend on each other crosswise: only one of them can be merged.
  // CHECK-LABEL: func.func @crosswise(
  // CHECK-COUNT-3: "ttir.all_reduce"
  // CHECK-NOT: "ttir.all_reduce"
  // CHECK: func.return
  func.func @crosswise(%x: tensor<32x64xbf16>, %y: tensor<32x32xbf16>) -> (tensor<32x64xbf16>, tensor<32x32xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %1 = "ttir.all_reduce"(%y) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %2 = "ttir.slice_static"(%0) <{begins = [0 : i32, 0 : i32], ends = [32 : i32, 32 : i32], step = [1 : i32, 1 : i32]}> : (tensor<32x64xbf16>) -> tensor<32x32xbf16>
    %3 = "ttir.concat"(%1, %1) <{dim = 1 : si32}> : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x64xbf16>
    %4 = "ttir.all_reduce"(%2) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %5 = "ttir.all_reduce"(%3) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    func.return %5, %4 : tensor<32x64xbf16>, tensor<32x32xbf16>
  }

  // The second callback runs after the first one, which needs the first sum.
  // CHECK-LABEL: func.func @callbacks(
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: "ttir.host_callback"
  // CHECK-NEXT: "ttir.host_callback"
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: func.return
  func.func @callbacks(%x: tensor<32x64xbf16>) -> (tensor<32x64xbf16>, tensor<32x64xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %1 = "ttir.host_callback"(%0) <{callback = "1", input_types = ["bf16"], output_types = ["bf16"]}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %2 = "ttir.host_callback"(%x) <{callback = "2", input_types = ["bf16"], output_types = ["bf16"]}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %3 = "ttir.all_reduce"(%2) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
    func.return %1, %3 : tensor<32x64xbf16>, tensor<32x64xbf16>
  }
}
