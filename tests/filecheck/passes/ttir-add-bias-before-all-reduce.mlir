// RUN: pass=ttir-add-bias-before-all-reduce

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x4>]>} {
  // The first chip adds the bias, the others add 0.
  // CHECK-LABEL: func.func @bias(
  // CHECK-NEXT: %[[P:.*]] = "ttir.matmul"
  // CHECK-NEXT: %[[T:.*]] = "ttir.constant"() <{value = dense<{{\[\[}}1.000000e+00], [0.000000e+00], [0.000000e+00], [0.000000e+00]]> : tensor<4x1xbf16>}>
  // CHECK-NEXT: %[[M:.*]] = "ttir.mesh_partition"(%[[T]]) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<4x1xbf16>) -> tensor<1x1xbf16>
  // CHECK-NEXT: %[[Z:.*]] = "ttir.constant"() <{value = dense<0.000000e+00> : tensor<1x1xf32>}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.where"(%[[M]], %b, %[[Z]]) : (tensor<1x1xbf16>, tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  // CHECK-NEXT: %[[A:.*]] = "ttir.add"(%[[P]], %[[B]])
  // CHECK-NEXT: "ttir.all_reduce"(%[[A]])
  // CHECK-NEXT: func.return
  func.func @bias(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %b: tensor<1x8xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>, tt.sharded_axes = array<i64>}) -> tensor<4x8xf32> {
    %0 = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "ttir.add"(%1, %b) : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
    func.return %2 : tensor<4x8xf32>
  }

  // A gathered bias is the same on all chips.
  // CHECK-LABEL: func.func @gathered(
  // CHECK: "ttir.all_gather"
  // CHECK: "ttir.add"
  // CHECK-NEXT: "ttir.all_reduce"
  func.func @gathered(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %b: tensor<1x2xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>, tt.sharded_axes = array<i64: 1>}) -> tensor<4x8xf32> {
    %0 = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "ttir.all_gather"(%b) <{all_gather_dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<1x2xf32>) -> tensor<1x8xf32>
    %3 = "ttir.add"(%1, %2) : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
    func.return %3 : tensor<4x8xf32>
  }

  // Chips have different biases; nothing is known of one; an input would be prepared in each call.
  // CHECK-LABEL: func.func @after(
  // CHECK-COUNT-3: "ttir.all_reduce"
  // CHECK-NEXT: "ttir.add"
  // CHECK-NEXT: "ttir.add"
  // CHECK-NEXT: "ttir.add"
  func.func @after(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %a: tensor<1x8xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>, tt.sharded_axes = array<i64: 1>}, %b: tensor<1x8xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %c: tensor<1x8xf32> {tt.sharded_axes = array<i64>}) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %1 = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %2 = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %3 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = "ttir.all_reduce"(%2) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = "ttir.add"(%3, %a) : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
    %7 = "ttir.add"(%4, %b) : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
    %8 = "ttir.add"(%5, %c) : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
    func.return %6, %7, %8 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
}
