// RUN: pass=ttir-to-ttnn

// CHECK: builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x2>]>}
builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x2>]>} {
  // CHECK-LABEL: func.func public @exchange(
  // CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%x)
  // CHECK-NEXT: "ttnn.all_gather"(%[[X]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: "ttnn.all_reduce"(%[[X]]) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: "ttnn.reduce_scatter"(%[[X]]) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 0 : ui32}>
  // Tiles are cut between tiles, other parts from rows.
  // CHECK-NEXT: "ttnn.mesh_partition"(%[[X]]) <{dim = 0 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: %[[P:.*]] = "ttnn.mesh_partition"(%x) <{dim = 1 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: "ttnn.to_layout"(%[[P]])
  func.func @exchange(%x: tensor<64x32xbf16>) -> (tensor<128x32xbf16>, tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<64x16xbf16>) {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<64x32xbf16>) -> tensor<128x32xbf16>
    %1 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %2 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<64x32xbf16>) -> tensor<32x32xbf16>
    %3 = "ttir.mesh_partition"(%x) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<64x32xbf16>) -> tensor<32x32xbf16>
    %4 = "ttir.mesh_partition"(%x) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<64x32xbf16>) -> tensor<64x16xbf16>
    func.return %0, %1, %2, %3, %4 : tensor<128x32xbf16>, tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<64x16xbf16>
  }

  // CHECK-LABEL: func.func public @all_to_all(
  // CHECK: "ttnn.all_to_all"(%{{.*}}) <{split_dim = 0 : si32, concat_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<6x4xf32, #{{.*}}>) -> tensor<3x8xf32, #{{.*}}>
  func.func @all_to_all(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
    %0 = "ttir.all_to_all"(%x) <{split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 2 : si32, replica_groups = dense<[[1, 3], [0, 2]]> : tensor<2x2xi64>}> : (tensor<6x4xf32>) -> tensor<3x8xf32>
    func.return %0 : tensor<3x8xf32>
  }

  // Statistics of float32 tiles in rank 4; the residual is added first.
  // CHECK-LABEL: func.func public @distributed_rms_norm(
  // CHECK: %[[SUM:.*]] = "ttnn.add"
  // CHECK-NEXT: %[[X4:.*]] = "ttnn.reshape"(%[[SUM]]) <{shape = [1 : i32, 1 : i32, 32 : i32, 64 : i32]}>
  // CHECK-NEXT: %[[OWN:.*]] = "ttnn.rms_norm_pre_all_gather"(%[[X4]]) : (tensor<1x1x32x64xbf16, #{{.*}}>) -> tensor<1x1x32x32xf32, #{{.*}}>
  // CHECK-NEXT: %[[ALL:.*]] = "ttnn.all_gather"(%[[OWN]]) <{all_gather_dim = 3 : si32, cluster_axis = 0 : ui32}> : (tensor<1x1x32x32xf32, #{{.*}}>) -> tensor<1x1x32x64xf32, #{{.*}}>
  // CHECK: %[[N:.*]] = "ttnn.rms_norm_post_all_gather"(%[[X4]], %[[ALL]], %{{.*}}) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}>
  // CHECK-NEXT: "ttnn.reshape"(%[[N]]) <{shape = [32 : i32, 64 : i32]}>
  func.func @distributed_rms_norm(%x: tensor<32x64xbf16>, %w: tensor<64xbf16>, %r: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
    %0 = "ttir.distributed_rms_norm"(%x, %w, %r) <{cluster_axis = 0 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<32x64xbf16>, tensor<64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    func.return %0 : tensor<32x64xbf16>
  }

  // Leading dimensions become one; there are two statistics of a row.
  // CHECK-LABEL: func.func public @distributed_layer_norm(
  // CHECK: "ttnn.layer_norm_pre_all_gather"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<6x4x32x64xf32, #{{.*}}>) -> tensor<6x4x32x64xf32, #{{.*}}>
  // CHECK-NEXT: "ttnn.all_gather"(%{{.*}}) <{all_gather_dim = 3 : si32, cluster_axis = 1 : ui32}> : (tensor<6x4x32x64xf32, #{{.*}}>) -> tensor<6x4x32x128xf32, #{{.*}}>
  // CHECK: "ttnn.layer_norm_post_all_gather"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1>}>
  func.func @distributed_layer_norm(%x: tensor<2x3x4x32x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<2x3x4x32x64xf32> {
    %0 = "ttir.distributed_layer_norm"(%x, %w, %b) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<2x3x4x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x3x4x32x64xf32>
    func.return %0 : tensor<2x3x4x32x64xf32>
  }

  // A cycle needs no first output; the chip without a source gets zeros from its neighbour.
  // CHECK-LABEL: func.func public @cycle(
  // CHECK: %[[A:.*]] = "ttnn.point_to_point"(%[[X:[0-9]+]]) <{sender_coord = array<i64: 0, 0>, receiver_coord = array<i64: 0, 1>}>
  // CHECK-NEXT: %[[B:.*]] = "ttnn.point_to_point"(%[[X]], %[[A]]) <{sender_coord = array<i64: 0, 1>, receiver_coord = array<i64: 1, 0>}>
  // CHECK-NEXT: %[[C:.*]] = "ttnn.point_to_point"(%[[X]], %[[B]]) <{sender_coord = array<i64: 1, 0>, receiver_coord = array<i64: 1, 1>}>
  // CHECK-NEXT: %[[D:.*]] = "ttnn.point_to_point"(%[[Z:[0-9]+]], %[[C]]) <{sender_coord = array<i64: 0, 1>, receiver_coord = array<i64: 0, 0>}>
  // CHECK-NEXT: func.return %[[D]]
  func.func @cycle(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = "ttir.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    func.return %0 : tensor<2x2xf32>
  }

  // A chip that keeps its own has it from a copy, which the others write to.
  // CHECK-LABEL: func.func public @broadcast(
  // CHECK: %[[F:[0-9]+]] = "ttnn.full"
  // CHECK-NEXT: %[[A:.*]] = "ttnn.assign"(%[[X:[0-9]+]])
  // CHECK-NEXT: %[[B:.*]] = "ttnn.point_to_point"(%[[X]], %[[A]]) <{sender_coord = array<i64: 1, 0>, receiver_coord = array<i64: 0, 0>}>
  // CHECK-NEXT: %[[C:.*]] = "ttnn.point_to_point"(%[[F]], %[[B]]) <{sender_coord = array<i64: 0, 0>, receiver_coord = array<i64: 0, 1>}>
  // CHECK-NEXT: %[[D:.*]] = "ttnn.point_to_point"(%[[F]], %[[C]]) <{sender_coord = array<i64: 1, 0>, receiver_coord = array<i64: 1, 1>}>
  func.func @broadcast(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = "ttir.collective_broadcast"(%x) <{replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    func.return %0 : tensor<2x2xf32>
  }
}
