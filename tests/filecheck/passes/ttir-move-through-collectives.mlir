// RUN: pass=ttir-move-through-collectives

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>} {
  // CHECK-LABEL: func.func @before_the_gather(
  // CHECK-NEXT: %[[E:.*]] = "ttir.exp"(%{{.*}}) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[C:.*]] = "ttir.constant"() <{value = dense<2.000000e+00> : tensor<8x4xf32>}>
  // CHECK-NEXT: %[[M:.*]] = "ttir.multiply"(%[[E]], %[[C]]) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[T:.*]] = "ttir.typecast"(%[[M]]) : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  // CHECK-NEXT: "ttir.all_gather"(%[[T]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
  // CHECK-NEXT: func.return
  func.func @before_the_gather(%x: tensor<8x4xf32>) -> tensor<16x4xbf16> {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %1 = "ttir.exp"(%0) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %2 = "ttir.constant"() <{value = dense<2.0> : tensor<16x4xf32>}> : () -> tensor<16x4xf32>
    %3 = "ttir.multiply"(%1, %2) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %4 = "ttir.typecast"(%3) : (tensor<16x4xf32>) -> tensor<16x4xbf16>
    func.return %4 : tensor<16x4xbf16>
  }

  // Two gathers become one.
  // CHECK-LABEL: func.func @two_gathers(
  // CHECK-NEXT: %[[S:.*]] = "ttir.add"(%{{.*}}, %{{.*}}) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "ttir.all_gather"(%[[S]])
  // CHECK-NEXT: func.return
  func.func @two_gathers(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<16x4xf32> {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %1 = "ttir.all_gather"(%y) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %2 = "ttir.add"(%0, %1) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    func.return %2 : tensor<16x4xf32>
  }

  // Narrow elements travel; what else is used stays gathered.
  // CHECK-LABEL: func.func @wide(
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_gather"(%{{.*}}) {{.*}} : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
  // CHECK-NEXT: %[[W:.*]] = "ttir.typecast"(%[[G]]) : (tensor<16x4xbf16>) -> tensor<16x4xf32>
  // CHECK-NEXT: %[[H:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.exp"(%[[H]])
  func.func @wide(%x: tensor<8x4xbf16>) -> (tensor<16x4xf32>, tensor<16x4xbf16>, tensor<16x4xbf16>) {
    %0 = "ttir.typecast"(%x) : (tensor<8x4xbf16>) -> tensor<8x4xf32>
    %1 = "ttir.all_gather"(%0) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
    %3 = "ttir.exp"(%2) : (tensor<16x4xbf16>) -> tensor<16x4xbf16>
    func.return %1, %2, %3 : tensor<16x4xf32>, tensor<16x4xbf16>, tensor<16x4xbf16>
  }

  // CHECK-LABEL: func.func @after_the_partition(
  // CHECK-NEXT: %[[P:.*]] = "ttir.mesh_partition"(%{{.*}}) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: "ttir.exp"(%[[P]]) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: func.return
  func.func @after_the_partition(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %0 = "ttir.exp"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = "ttir.mesh_partition"(%0) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<4x4xf32>
    func.return %1 : tensor<4x4xf32>
  }

  // A running sum and a softmax need the elements of all chips.
  // CHECK-LABEL: func.func @along_a_dimension(
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_gather"
  // CHECK-NEXT: %[[C:.*]] = "ttir.cumsum"(%[[G]])
  // CHECK-NEXT: %[[H:.*]] = "ttir.all_gather"
  // CHECK-NEXT: %[[S:.*]] = "ttir.softmax"(%[[H]])
  // CHECK-NEXT: "ttir.mesh_partition"(%[[S]])
  // CHECK-NEXT: func.return
  func.func @along_a_dimension(%x: tensor<8x4xf32>) -> (tensor<16x4xf32>, tensor<8x4xf32>) {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %1 = "ttir.cumsum"(%0) <{dim = 0 : i64}> : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %3 = "ttir.softmax"(%2) <{dimension = 0 : si32}> : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %4 = "ttir.mesh_partition"(%3) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<16x4xf32>) -> tensor<8x4xf32>
    func.return %1, %4 : tensor<16x4xf32>, tensor<8x4xf32>
  }

  // A product applies the op as it writes its results.
  // CHECK-LABEL: func.func @product(
  // CHECK-NEXT: "ttir.matmul"
  // CHECK-NEXT: "ttir.exp"
  // CHECK-NEXT: "ttir.mesh_partition"
  func.func @product(%x: tensor<8x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = "ttir.exp"(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = "ttir.mesh_partition"(%1) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xf32>) -> tensor<4x4xf32>
    func.return %2 : tensor<4x4xf32>
  }
}
