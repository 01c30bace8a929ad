// RUN: roundtrip

// CHECK-LABEL: func.func @all_gather(
// CHECK: "ttir.all_gather"({{.*}}) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32}> :
func.func @all_gather(%0: tensor<2x8xbf16>) -> tensor<2x32xbf16> {
  %1 = "ttir.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<2x32xbf16>
  func.return %1 : tensor<2x32xbf16>
}

// CHECK-LABEL: func.func @all_reduce(
// CHECK: "ttir.all_reduce"({{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> :
func.func @all_reduce(%0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @all_reduce_async(
// CHECK: "ttir.all_reduce_async"({{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> :
func.func @all_reduce_async(%0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.all_reduce_async"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK: "ttir.reduce_scatter"({{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> :
func.func @reduce_scatter(%0: tensor<2x32xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.reduce_scatter"(%0) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @mesh_partition(
// CHECK: "ttir.mesh_partition"({{.*}}) <{dim = 1 : si32, cluster_axis = 0 : ui32}> :
func.func @mesh_partition(%0: tensor<2x32xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @sparse_matmul(
// CHECK: "ttir.sparse_matmul"({{.*}}) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 2 : i64}> :
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16>, %1: tensor<1x4x64x128xbf16>, %2: tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x128xbf16> {
  %3 = "ttir.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 2 : i64}> : (tensor<2x4x32x64xbf16>, tensor<1x4x64x128xbf16>, tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x128xbf16>
  func.return %3 : tensor<2x4x1x4x32x128xbf16>
}

// CHECK-LABEL: func.func @sparse_matmul_2(
// CHECK: "ttir.sparse_matmul"({{.*}}) <{is_input_a_sparse = true, is_input_b_sparse = false}> :
func.func @sparse_matmul_2(%0: tensor<2x4x32x64xbf16>, %1: tensor<1x4x64x128xbf16>, %2: tensor<1x1x2x4xbf16>) -> tensor<2x4x32x128xbf16> {
  %3 = "ttir.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = true, is_input_b_sparse = false}> : (tensor<2x4x32x64xbf16>, tensor<1x4x64x128xbf16>, tensor<1x1x2x4xbf16>) -> tensor<2x4x32x128xbf16>
  func.return %3 : tensor<2x4x32x128xbf16>
}

// CHECK-LABEL: func.func @all_to_all_dispatch(
// CHECK: "ttir.all_to_all_dispatch"({{.*}}) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> :
func.func @all_to_all_dispatch(%0: tensor<2x8x1x64xbf16>, %1: tensor<2x8x1x4xui16>, %2: tensor<1x1x16x4xui16>) -> (tensor<1x8x8x64xbf16>, tensor<1x8x8x4xui16>) {
  %3:2 = "ttir.all_to_all_dispatch"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> : (tensor<2x8x1x64xbf16>, tensor<2x8x1x4xui16>, tensor<1x1x16x4xui16>) -> (tensor<1x8x8x64xbf16>, tensor<1x8x8x4xui16>)
  func.return %3#0, %3#1 : tensor<1x8x8x64xbf16>, tensor<1x8x8x4xui16>
}

// CHECK-LABEL: func.func @all_to_all_dispatch_metadata(
// CHECK: "ttir.all_to_all_dispatch_metadata"({{.*}}) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> :
func.func @all_to_all_dispatch_metadata(%0: tensor<1x1x8x64xbf16>, %1: tensor<1x1x8x4xui16>, %2: tensor<1x1x8x4xbf16>, %3: tensor<1x1x4x16xui16>) -> (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x4xbf16>) {
  %4:3 = "ttir.all_to_all_dispatch_metadata"(%0, %1, %2, %3) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> : (tensor<1x1x8x64xbf16>, tensor<1x1x8x4xui16>, tensor<1x1x8x4xbf16>, tensor<1x1x4x16xui16>) -> (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x4xbf16>)
  func.return %4#0, %4#1, %4#2 : tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x4xbf16>
}

// CHECK-LABEL: func.func @all_to_all_combine(
// CHECK: "ttir.all_to_all_combine"({{.*}}) <{num_devices = 4 : i64, cluster_axis = 0 : i64, num_experts_per_tok = 4 : i64}> :
func.func @all_to_all_combine(%0: tensor<4x8x8x64xbf16>, %1: tensor<1x8x8x4xui16>, %2: tensor<1x1x16x4xui16>) -> tensor<4x2x8x64xbf16> {
  %3 = "ttir.all_to_all_combine"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64, num_experts_per_tok = 4 : i64}> : (tensor<4x8x8x64xbf16>, tensor<1x8x8x4xui16>, tensor<1x1x16x4xui16>) -> tensor<4x2x8x64xbf16>
  func.return %3 : tensor<4x2x8x64xbf16>
}

// CHECK-LABEL: func.func @moe_expert_token_remap(
// CHECK: "ttir.moe_expert_token_remap"({{.*}}) <{reduction_size = 16 : i64}> :
func.func @moe_expert_token_remap(%0: tensor<4x2x8x16xbf16>, %1: tensor<1x1x16x4xui16>, %2: tensor<4x2x8x4xui16>) -> (tensor<1x2x8x4xbf16>, tensor<1x1x1x4xui16>) {
  %3:2 = "ttir.moe_expert_token_remap"(%0, %1, %2) <{reduction_size = 16 : i64}> : (tensor<4x2x8x16xbf16>, tensor<1x1x16x4xui16>, tensor<4x2x8x4xui16>) -> (tensor<1x2x8x4xbf16>, tensor<1x1x1x4xui16>)
  func.return %3#0, %3#1 : tensor<1x2x8x4xbf16>, tensor<1x1x1x4xui16>
}

// CHECK-LABEL: func.func @mesh_shard(
// CHECK: "ttir.mesh_shard"({{.*}}) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> :
func.func @mesh_shard(%0: tensor<8x32xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @mesh_shard_2(
// CHECK: "ttir.mesh_shard"({{.*}}) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<shard_to_full>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> :
func.func @mesh_shard_2(%0: tensor<8x32xbf16>) -> tensor<16x128xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<shard_to_full>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<16x128xbf16>
  func.return %1 : tensor<16x128xbf16>
}

// CHECK-LABEL: func.func @mesh_shard_3(
// CHECK: "ttir.mesh_shard"({{.*}}) <{shard_type = #ttcore.shard_type<replicate>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> :
func.func @mesh_shard_3(%0: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<replicate>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<8x32xbf16>
  func.return %1 : tensor<8x32xbf16>
}

// CHECK-LABEL: func.func @collective_permute(
// CHECK: "ttir.collective_permute"({{.*}}) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> :
func.func @collective_permute(%0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @all_to_all(
// CHECK: "ttir.all_to_all"({{.*}}) <{split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 4 : si32, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> :
func.func @all_to_all(%0: tensor<8x2xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 4 : si32, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x2xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @collective_broadcast(
// CHECK: "ttir.collective_broadcast"({{.*}}) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> :
func.func @collective_broadcast(%0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.collective_broadcast"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @selective_reduce_combine(
// CHECK: "ttir.selective_reduce_combine"({{.*}}) <{hidden_size = 64 : ui32, batch_size = 2 : ui32, seq_size = 16 : ui32, select_experts_k = 4 : ui32, experts = 16 : ui32}> :
func.func @selective_reduce_combine(%0: tensor<4x32x64xbf16>, %1: tensor<4x8xui32>, %2: tensor<4x8xui32>, %3: tensor<1x4xui32>) -> tensor<4x32x64xbf16> {
  %4 = "ttir.selective_reduce_combine"(%0, %1, %2, %3) <{hidden_size = 64 : ui32, batch_size = 2 : ui32, seq_size = 16 : ui32, select_experts_k = 4 : ui32, experts = 16 : ui32}> : (tensor<4x32x64xbf16>, tensor<4x8xui32>, tensor<4x8xui32>, tensor<1x4xui32>) -> tensor<4x32x64xbf16>
  func.return %4 : tensor<4x32x64xbf16>
}

// CHECK-LABEL: func.func @moe_gpt(
// CHECK: "ttir.moe_gpt"({{.*}}) <{hidden_size = 64 : ui32, cluster_axis = 0 : ui32}> :
func.func @moe_gpt(%0: tensor<32x64xbf16>, %1: tensor<32x4xui16>, %2: tensor<32x4xbf16>, %3: tensor<1x16xui16>, %4: tensor<8x1x4x2x64x128xbf16>, %5: tensor<8x1x4x2x64x128xbf16>) -> (tensor<1x4xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>) {
  %6:5 = "ttir.moe_gpt"(%0, %1, %2, %3, %4, %5) <{hidden_size = 64 : ui32, cluster_axis = 0 : ui32}> : (tensor<32x64xbf16>, tensor<32x4xui16>, tensor<32x4xbf16>, tensor<1x16xui16>, tensor<8x1x4x2x64x128xbf16>, tensor<8x1x4x2x64x128xbf16>) -> (tensor<1x4xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>)
  func.return %6#0, %6#1, %6#2, %6#3, %6#4 : tensor<1x4xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>
}

// CHECK-LABEL: func.func @moe_compute(
// CHECK: "ttir.moe_compute"({{.*}}) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, activation_function = #ttcore.moe_activation_function<swiglu>, cluster_axis = 0 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> :
func.func @moe_compute(%0: tensor<1x32x64xbf16>, %1: tensor<1x32x4xui16>, %2: tensor<1x32x4xbf16>, %3: tensor<1x16xui16>, %4: tensor<1x4x64x128xbf16>, %5: tensor<1x4x64x128xbf16>, %6: tensor<1x4x128x64xbf16>) -> tensor<4x32x64xbf16> {
  %7 = "ttir.moe_compute"(%0, %1, %2, %3, %4, %5, %6) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, activation_function = #ttcore.moe_activation_function<swiglu>, cluster_axis = 0 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x4xbf16>, tensor<1x16xui16>, tensor<1x4x64x128xbf16>, tensor<1x4x64x128xbf16>, tensor<1x4x128x64xbf16>) -> tensor<4x32x64xbf16>
  func.return %7 : tensor<4x32x64xbf16>
}
