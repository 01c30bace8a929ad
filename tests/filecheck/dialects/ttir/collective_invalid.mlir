// RUN: invalid

// expected-error: result has size 30 along all_gather_dim, expected a multiple of 8
func.func @all_gather(%0: tensor<2x8xbf16>) -> tensor<2x30xbf16> {
  %1 = "ttir.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<2x30xbf16>
  func.return %1 : tensor<2x30xbf16>
}

// -----

// expected-error: result of shape (3, 32) differs from the operand of shape (2, 8) outside all_gather_dim 1
func.func @all_gather(%0: tensor<2x8xbf16>) -> tensor<3x32xbf16> {
  %1 = "ttir.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<3x32xbf16>
  func.return %1 : tensor<3x32xbf16>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
func.func @all_reduce(%0: tensor<2x8xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
func.func @all_reduce_async(%0: tensor<2x8xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.all_reduce_async"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: result has size 9 along scatter_dim, expected a divisor of 32
func.func @reduce_scatter(%0: tensor<2x32xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.reduce_scatter"(%0) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: result has size 9 along dim, expected a divisor of 32
func.func @mesh_partition(%0: tensor<2x32xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: has shape (2, 4, 1, 4, 32, 129), expected (2, 4, 1, 4, 32, 128)
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16>, %1: tensor<1x4x64x128xbf16>, %2: tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x129xbf16> {
  %3 = "ttir.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 2 : i64}> : (tensor<2x4x32x64xbf16>, tensor<1x4x64x128xbf16>, tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x129xbf16>
  func.return %3 : tensor<2x4x1x4x32x129xbf16>
}

// -----

// expected-error: is_input_a_sparse and is_input_b_sparse are both false, expected one to be true
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16>, %1: tensor<1x4x64x128xbf16>, %2: tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x128xbf16> {
  %3 = "ttir.sparse_matmul"(%0, %1, %2) <{is_input_b_sparse = false}> : (tensor<2x4x32x64xbf16>, tensor<1x4x64x128xbf16>, tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x128xbf16>
  func.return %3 : tensor<2x4x1x4x32x128xbf16>
}

// -----

// expected-error: has shape (2, 4, 32, 129), expected (2, 4, 32, 128)
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16>, %1: tensor<1x4x64x128xbf16>, %2: tensor<1x1x2x4xbf16>) -> tensor<2x4x32x129xbf16> {
  %3 = "ttir.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = true, is_input_b_sparse = false}> : (tensor<2x4x32x64xbf16>, tensor<1x4x64x128xbf16>, tensor<1x1x2x4xbf16>) -> tensor<2x4x32x129xbf16>
  func.return %3 : tensor<2x4x32x129xbf16>
}

// -----

// expected-error: a has 3 blocks, b has 4
func.func @sparse_matmul(%0: tensor<2x3x32x64xbf16>, %1: tensor<1x4x64x128xbf16>, %2: tensor<1x1x2x3xbf16>) -> tensor<2x4x32x128xbf16> {
  %3 = "ttir.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = true, is_input_b_sparse = false}> : (tensor<2x3x32x64xbf16>, tensor<1x4x64x128xbf16>, tensor<1x1x2x3xbf16>) -> tensor<2x4x32x128xbf16>
  func.return %3 : tensor<2x4x32x128xbf16>
}

// -----

// expected-error: dispatched has shape (1, 8, 8, 63), expected (1, 8, 8, 64)
func.func @all_to_all_dispatch(%0: tensor<2x8x1x64xbf16>, %1: tensor<2x8x1x4xui16>, %2: tensor<1x1x16x4xui16>) -> (tensor<1x8x8x63xbf16>, tensor<1x8x8x4xui16>) {
  %3:2 = "ttir.all_to_all_dispatch"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> : (tensor<2x8x1x64xbf16>, tensor<2x8x1x4xui16>, tensor<1x1x16x4xui16>) -> (tensor<1x8x8x63xbf16>, tensor<1x8x8x4xui16>)
  func.return %3#0, %3#1 : tensor<1x8x8x63xbf16>, tensor<1x8x8x4xui16>
}

// -----

// expected-error: scores has shape (1, 32, 5), expected (1, 32, 4)
func.func @all_to_all_dispatch_metadata(%0: tensor<1x1x8x64xbf16>, %1: tensor<1x1x8x4xui16>, %2: tensor<1x1x8x4xbf16>, %3: tensor<1x1x4x16xui16>) -> (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x5xbf16>) {
  %4:3 = "ttir.all_to_all_dispatch_metadata"(%0, %1, %2, %3) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> : (tensor<1x1x8x64xbf16>, tensor<1x1x8x4xui16>, tensor<1x1x8x4xbf16>, tensor<1x1x4x16xui16>) -> (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x5xbf16>)
  func.return %4#0, %4#1, %4#2 : tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x5xbf16>
}

// -----

// expected-error: result has shape (4, 2, 8, 63), expected [4, batch, rows, 64]
func.func @all_to_all_combine(%0: tensor<4x8x8x64xbf16>, %1: tensor<1x8x8x4xui16>, %2: tensor<1x1x16x4xui16>) -> tensor<4x2x8x63xbf16> {
  %3 = "ttir.all_to_all_combine"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64, num_experts_per_tok = 4 : i64}> : (tensor<4x8x8x64xbf16>, tensor<1x8x8x4xui16>, tensor<1x1x16x4xui16>) -> tensor<4x2x8x63xbf16>
  func.return %3 : tensor<4x2x8x63xbf16>
}

// -----

// expected-error: reduced has shape (1, 1, 2, 4), expected (1, 1, 1, 4)
func.func @moe_expert_token_remap(%0: tensor<4x2x8x16xbf16>, %1: tensor<1x1x16x4xui16>, %2: tensor<4x2x8x4xui16>) -> (tensor<1x2x8x4xbf16>, tensor<1x1x2x4xui16>) {
  %3:2 = "ttir.moe_expert_token_remap"(%0, %1, %2) <{reduction_size = 16 : i64}> : (tensor<4x2x8x16xbf16>, tensor<1x1x16x4xui16>, tensor<4x2x8x4xui16>) -> (tensor<1x2x8x4xbf16>, tensor<1x1x2x4xui16>)
  func.return %3#0, %3#1 : tensor<1x2x8x4xbf16>, tensor<1x1x2x4xui16>
}

// -----

// expected-error: reduction_size 0 must be positive
func.func @moe_expert_token_remap(%0: tensor<4x2x8x16xbf16>, %1: tensor<1x1x16x4xui16>, %2: tensor<4x2x8x4xui16>) -> (tensor<1x2x8x4xbf16>, tensor<1x1x1x4xui16>) {
  %3:2 = "ttir.moe_expert_token_remap"(%0, %1, %2) <{reduction_size = 0 : i64}> : (tensor<4x2x8x16xbf16>, tensor<1x1x16x4xui16>, tensor<4x2x8x4xui16>) -> (tensor<1x2x8x4xbf16>, tensor<1x1x1x4xui16>)
  func.return %3#0, %3#1 : tensor<1x2x8x4xbf16>, tensor<1x1x1x4xui16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @mesh_shard(%0: tensor<8x32xbf16>) -> tensor<4x9xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<4x9xbf16>
  func.return %1 : tensor<4x9xbf16>
}

// -----

// expected-error: shard_shape (3, 4) does not divide shape (8, 32)
func.func @mesh_shard(%0: tensor<8x32xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 3, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// -----

// expected-error: shard_shape (2,) does not fit shape (8, 32): expected a positive number for each dimension
func.func @mesh_shard(%0: tensor<8x32xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// -----

// expected-error: has shape (16, 129), expected (16, 128)
func.func @mesh_shard(%0: tensor<8x32xbf16>) -> tensor<16x129xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<devices>, shard_direction = #ttcore.shard_direction<shard_to_full>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<16x129xbf16>
  func.return %1 : tensor<16x129xbf16>
}

// -----

// expected-error: has shape (8, 33), expected (8, 32)
func.func @mesh_shard(%0: tensor<8x32xbf16>) -> tensor<8x33xbf16> {
  %1 = "ttir.mesh_shard"(%0) <{shard_type = #ttcore.shard_type<replicate>, shard_direction = #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}> : (tensor<8x32xbf16>) -> tensor<8x33xbf16>
  func.return %1 : tensor<8x33xbf16>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
func.func @collective_permute(%0: tensor<2x8xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x8xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: source_target_pairs has shape (3,), expected (count, 2)
func.func @collective_permute(%0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.collective_permute"(%0) <{source_target_pairs = dense<[0, 1, 1]> : tensor<3xi64>}> : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
func.func @all_to_all(%0: tensor<8x2xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 4 : si32, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x2xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: 8 does not split into 3 parts
func.func @all_to_all(%0: tensor<8x2xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 3 : si32, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<8x2xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
func.func @collective_broadcast(%0: tensor<2x8xbf16>) -> tensor<2x9xbf16> {
  %1 = "ttir.collective_broadcast"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x8xbf16>) -> tensor<2x9xbf16>
  func.return %1 : tensor<2x9xbf16>
}

// -----

// expected-error: replica_groups has shape (2,), expected rank 2
func.func @collective_broadcast(%0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = "ttir.collective_broadcast"(%0) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  func.return %1 : tensor<2x8xbf16>
}

// -----

// expected-error: result has shape (4, 32, 63), expected ..., 64
func.func @selective_reduce_combine(%0: tensor<4x32x64xbf16>, %1: tensor<4x8xui32>, %2: tensor<4x8xui32>, %3: tensor<1x4xui32>) -> tensor<4x32x63xbf16> {
  %4 = "ttir.selective_reduce_combine"(%0, %1, %2, %3) <{hidden_size = 64 : ui32, batch_size = 2 : ui32, seq_size = 16 : ui32, select_experts_k = 4 : ui32, experts = 16 : ui32}> : (tensor<4x32x64xbf16>, tensor<4x8xui32>, tensor<4x8xui32>, tensor<1x4xui32>) -> tensor<4x32x63xbf16>
  func.return %4 : tensor<4x32x63xbf16>
}

// -----

// expected-error: token_counts has shape (1, 5), expected (1, 4)
func.func @moe_gpt(%0: tensor<32x64xbf16>, %1: tensor<32x4xui16>, %2: tensor<32x4xbf16>, %3: tensor<1x16xui16>, %4: tensor<8x1x4x2x64x128xbf16>, %5: tensor<8x1x4x2x64x128xbf16>) -> (tensor<1x5xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>) {
  %6:5 = "ttir.moe_gpt"(%0, %1, %2, %3, %4, %5) <{hidden_size = 64 : ui32, cluster_axis = 0 : ui32}> : (tensor<32x64xbf16>, tensor<32x4xui16>, tensor<32x4xbf16>, tensor<1x16xui16>, tensor<8x1x4x2x64x128xbf16>, tensor<8x1x4x2x64x128xbf16>) -> (tensor<1x5xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>)
  func.return %6#0, %6#1, %6#2, %6#3, %6#4 : tensor<1x5xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>
}

// -----

// expected-error: input_tensor has 64 columns, expected hidden_size, 32
func.func @moe_gpt(%0: tensor<32x64xbf16>, %1: tensor<32x4xui16>, %2: tensor<32x4xbf16>, %3: tensor<1x16xui16>, %4: tensor<8x1x4x2x64x128xbf16>, %5: tensor<8x1x4x2x64x128xbf16>) -> (tensor<1x4xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>) {
  %6:5 = "ttir.moe_gpt"(%0, %1, %2, %3, %4, %5) <{hidden_size = 32 : ui32}> : (tensor<32x64xbf16>, tensor<32x4xui16>, tensor<32x4xbf16>, tensor<1x16xui16>, tensor<8x1x4x2x64x128xbf16>, tensor<8x1x4x2x64x128xbf16>) -> (tensor<1x4xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>)
  func.return %6#0, %6#1, %6#2, %6#3, %6#4 : tensor<1x4xui32>, tensor<1x396xui32>, tensor<4x132xui32>, tensor<8x2x32x64xbf16>, tensor<8x2x32x64xbf16>
}

// -----

// expected-error: combine_output has shape (4, 32, 63), expected 64 columns
func.func @moe_compute(%0: tensor<1x32x64xbf16>, %1: tensor<1x32x4xui16>, %2: tensor<1x32x4xbf16>, %3: tensor<1x16xui16>, %4: tensor<1x4x64x128xbf16>, %5: tensor<1x4x64x128xbf16>, %6: tensor<1x4x128x64xbf16>) -> tensor<4x32x63xbf16> {
  %7 = "ttir.moe_compute"(%0, %1, %2, %3, %4, %5, %6) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, activation_function = #ttcore.moe_activation_function<swiglu>, cluster_axis = 0 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x4xbf16>, tensor<1x16xui16>, tensor<1x4x64x128xbf16>, tensor<1x4x64x128xbf16>, tensor<1x4x128x64xbf16>) -> tensor<4x32x63xbf16>
  func.return %7 : tensor<4x32x63xbf16>
}

// -----

// expected-error: w2 has shape (1, 4, 64, 128), expected (1, 4, 128, 64)
func.func @moe_compute(%0: tensor<1x32x64xbf16>, %1: tensor<1x32x4xui16>, %2: tensor<1x32x4xbf16>, %3: tensor<1x16xui16>, %4: tensor<1x4x64x128xbf16>, %5: tensor<1x4x64x128xbf16>, %6: tensor<1x4x64x128xbf16>) -> tensor<4x32x64xbf16> {
  %7 = "ttir.moe_compute"(%0, %1, %2, %3, %4, %5, %6) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, activation_function = #ttcore.moe_activation_function<swiglu>, cluster_axis = 0 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (tensor<1x32x64xbf16>, tensor<1x32x4xui16>, tensor<1x32x4xbf16>, tensor<1x16xui16>, tensor<1x4x64x128xbf16>, tensor<1x4x64x128xbf16>, tensor<1x4x64x128xbf16>) -> tensor<4x32x64xbf16>
  func.return %7 : tensor<4x32x64xbf16>
}
