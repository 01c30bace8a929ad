// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4, d5) -> (d0 * 512 + d1 * 128 + d2 * 128 + d3 * 32 + d4, d5), <1x1>, memref<32x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout11 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout12 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout13 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout14 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout15 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout16 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<32x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout17 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout18 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout19 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout20 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout21 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x64xbf16, #system_memory>>
#ttnn_layout22 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x16xbf16, #system_memory>>
#ttnn_layout23 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout24 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 512 + d1 * 128 + d2, d3), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout25 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @all_gather(
// CHECK: "ttnn.all_gather"({{.*}}) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32, num_links = 1 : ui32, topology = #ttcore.topology<ring>}> :
func.func @all_gather(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x32xbf16, #ttnn_layout> {
  %1 = "ttnn.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32, num_links = 1 : ui32, topology = #ttcore.topology<ring>}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x32xbf16, #ttnn_layout>
  func.return %1 : tensor<2x32xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @all_reduce(
// CHECK: "ttnn.all_reduce"({{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> :
func.func @all_reduce(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @all_reduce_async(
// CHECK: "ttnn.all_reduce_async"({{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> :
func.func @all_reduce_async(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.all_reduce_async"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK: "ttnn.reduce_scatter"({{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> :
func.func @reduce_scatter(%0: tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.reduce_scatter"(%0) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @mesh_partition(
// CHECK: "ttnn.mesh_partition"({{.*}}) <{dim = 1 : si32, cluster_axis = 0 : ui32}> :
func.func @mesh_partition(%0: tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sparse_matmul(
// CHECK: "ttnn.sparse_matmul"({{.*}}) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 2 : i64}> :
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16, #ttnn_layout1>, %1: tensor<1x4x64x128xbf16, #ttnn_layout2>, %2: tensor<2x4x1x4xbf16, #ttnn_layout3>) -> tensor<2x4x1x4x32x128xbf16, #ttnn_layout4> {
  %3 = "ttnn.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 2 : i64}> : (tensor<2x4x32x64xbf16, #ttnn_layout1>, tensor<1x4x64x128xbf16, #ttnn_layout2>, tensor<2x4x1x4xbf16, #ttnn_layout3>) -> tensor<2x4x1x4x32x128xbf16, #ttnn_layout4>
  func.return %3 : tensor<2x4x1x4x32x128xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @sparse_matmul_2(
// CHECK: "ttnn.sparse_matmul"({{.*}}) <{is_input_a_sparse = true, is_input_b_sparse = false}> :
func.func @sparse_matmul_2(%0: tensor<2x4x32x64xbf16, #ttnn_layout1>, %1: tensor<1x4x64x128xbf16, #ttnn_layout2>, %2: tensor<1x1x2x4xbf16, #ttnn_layout5>) -> tensor<2x4x32x128xbf16, #ttnn_layout6> {
  %3 = "ttnn.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = true, is_input_b_sparse = false}> : (tensor<2x4x32x64xbf16, #ttnn_layout1>, tensor<1x4x64x128xbf16, #ttnn_layout2>, tensor<1x1x2x4xbf16, #ttnn_layout5>) -> tensor<2x4x32x128xbf16, #ttnn_layout6>
  func.return %3 : tensor<2x4x32x128xbf16, #ttnn_layout6>
}

// CHECK-LABEL: func.func @all_to_all_dispatch(
// CHECK: "ttnn.all_to_all_dispatch"({{.*}}) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> :
func.func @all_to_all_dispatch(%0: tensor<2x8x1x64xbf16, #ttnn_layout7>, %1: tensor<2x8x1x4xui16, #ttnn_layout8>, %2: tensor<1x1x16x4xui16, #ttnn_layout9>) -> (tensor<1x8x8x64xbf16, #ttnn_layout10>, tensor<1x8x8x4xui16, #ttnn_layout11>) {
  %3:2 = "ttnn.all_to_all_dispatch"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> : (tensor<2x8x1x64xbf16, #ttnn_layout7>, tensor<2x8x1x4xui16, #ttnn_layout8>, tensor<1x1x16x4xui16, #ttnn_layout9>) -> (tensor<1x8x8x64xbf16, #ttnn_layout10>, tensor<1x8x8x4xui16, #ttnn_layout11>)
  func.return %3#0, %3#1 : tensor<1x8x8x64xbf16, #ttnn_layout10>, tensor<1x8x8x4xui16, #ttnn_layout11>
}

// CHECK-LABEL: func.func @all_to_all_dispatch_metadata(
// CHECK: "ttnn.all_to_all_dispatch_metadata"({{.*}}) <{num_devices = 4 : i64, cluster_axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}> :
func.func @all_to_all_dispatch_metadata(%0: tensor<1x1x8x64xbf16, #ttnn_layout12>, %1: tensor<1x1x8x4xui16, #ttnn_layout9>, %2: tensor<1x1x8x4xbf16, #ttnn_layout5>, %3: tensor<1x1x4x16xui16, #ttnn_layout9>) -> (tensor<1x32x64xbf16, #ttnn_layout13>, tensor<1x32x4xui16, #ttnn_layout14>, tensor<1x32x4xbf16, #ttnn_layout15>) {
  %4:3 = "ttnn.all_to_all_dispatch_metadata"(%0, %1, %2, %3) <{num_devices = 4 : i64, cluster_axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}> : (tensor<1x1x8x64xbf16, #ttnn_layout12>, tensor<1x1x8x4xui16, #ttnn_layout9>, tensor<1x1x8x4xbf16, #ttnn_layout5>, tensor<1x1x4x16xui16, #ttnn_layout9>) -> (tensor<1x32x64xbf16, #ttnn_layout13>, tensor<1x32x4xui16, #ttnn_layout14>, tensor<1x32x4xbf16, #ttnn_layout15>)
  func.return %4#0, %4#1, %4#2 : tensor<1x32x64xbf16, #ttnn_layout13>, tensor<1x32x4xui16, #ttnn_layout14>, tensor<1x32x4xbf16, #ttnn_layout15>
}

// CHECK-LABEL: func.func @all_to_all_combine(
// CHECK: "ttnn.all_to_all_combine"({{.*}}) <{num_devices = 4 : i64, cluster_axis = 0 : i64, num_experts_per_tok = 4 : i64}> :
func.func @all_to_all_combine(%0: tensor<4x8x8x64xbf16, #ttnn_layout16>, %1: tensor<1x8x8x4xui16, #ttnn_layout11>, %2: tensor<1x1x16x4xui16, #ttnn_layout9>) -> tensor<4x2x8x64xbf16, #ttnn_layout17> {
  %3 = "ttnn.all_to_all_combine"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64, num_experts_per_tok = 4 : i64}> : (tensor<4x8x8x64xbf16, #ttnn_layout16>, tensor<1x8x8x4xui16, #ttnn_layout11>, tensor<1x1x16x4xui16, #ttnn_layout9>) -> tensor<4x2x8x64xbf16, #ttnn_layout17>
  func.return %3 : tensor<4x2x8x64xbf16, #ttnn_layout17>
}

// CHECK-LABEL: func.func @moe_expert_token_remap(
// CHECK: "ttnn.moe_expert_token_remap"({{.*}}) <{reduction_size = 16 : i64}> :
func.func @moe_expert_token_remap(%0: tensor<4x2x8x16xbf16, #ttnn_layout18>, %1: tensor<1x1x16x4xui16, #ttnn_layout9>, %2: tensor<4x2x8x4xui16, #ttnn_layout19>) -> (tensor<1x2x8x4xbf16, #ttnn_layout20>, tensor<1x1x1x4xui16, #ttnn_layout9>) {
  %3:2 = "ttnn.moe_expert_token_remap"(%0, %1, %2) <{reduction_size = 16 : i64}> : (tensor<4x2x8x16xbf16, #ttnn_layout18>, tensor<1x1x16x4xui16, #ttnn_layout9>, tensor<4x2x8x4xui16, #ttnn_layout19>) -> (tensor<1x2x8x4xbf16, #ttnn_layout20>, tensor<1x1x1x4xui16, #ttnn_layout9>)
  func.return %3#0, %3#1 : tensor<1x2x8x4xbf16, #ttnn_layout20>, tensor<1x1x1x4xui16, #ttnn_layout9>
}

// CHECK-LABEL: func.func @point_to_point(
// CHECK: "ttnn.point_to_point"({{.*}}) <{sender_coord = array<i64: 0, 0>, receiver_coord = array<i64: 0, 1>}> :
func.func @point_to_point(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.point_to_point"(%0) <{sender_coord = array<i64: 0, 0>, receiver_coord = array<i64: 0, 1>}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @distribute_tensor(
// CHECK: "ttnn.distribute_tensor"({{.*}}) <{mapper_config = #ttnn.mesh_mapper_config<placements = [<replicate>, <shard, 1 : i64>]>, cq_id = 0 : ui32}> :
func.func @distribute_tensor(%0: tensor<32x64xbf16, #ttnn_layout21>, %1: !ttnn.device) -> tensor<32x16xbf16, #ttnn_layout22> {
  %2 = "ttnn.distribute_tensor"(%0, %1) <{mapper_config = #ttnn.mesh_mapper_config<placements = [<replicate>, <shard, 1 : i64>]>, cq_id = 0 : ui32}> : (tensor<32x64xbf16, #ttnn_layout21>, !ttnn.device) -> tensor<32x16xbf16, #ttnn_layout22>
  func.return %2 : tensor<32x16xbf16, #ttnn_layout22>
}

// CHECK-LABEL: func.func @aggregate_tensor(
// CHECK: "ttnn.aggregate_tensor"({{.*}}) <{composer_config = #ttnn.mesh_composer_config<dims = [0 : i64, 1 : i64]>}> :
func.func @aggregate_tensor(%0: tensor<32x16xbf16, #ttnn_layout22>, %1: !ttnn.device) -> tensor<32x64xbf16, #ttnn_layout21> {
  %2 = "ttnn.aggregate_tensor"(%0, %1) <{composer_config = #ttnn.mesh_composer_config<dims = [0 : i64, 1 : i64]>}> : (tensor<32x16xbf16, #ttnn_layout22>, !ttnn.device) -> tensor<32x64xbf16, #ttnn_layout21>
  func.return %2 : tensor<32x64xbf16, #ttnn_layout21>
}

// CHECK-LABEL: func.func @moe_compute(
// CHECK: "ttnn.moe_compute"({{.*}}) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, has_bias = false, cluster_axis = 0 : ui32, mux_core_range_set = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (1,3)>]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1>}> :
func.func @moe_compute(%0: tensor<1x32x64xbf16, #ttnn_layout13>, %1: tensor<1x32x4xui16, #ttnn_layout14>, %2: tensor<1x32x4xbf16, #ttnn_layout15>, %3: tensor<1x16xui16, #ttnn_layout23>, %4: tensor<1x4x64x128xbf16, #ttnn_layout2>, %5: tensor<1x4x128x64xbf16, #ttnn_layout24>, %6: !ttnn.device) -> tensor<4x32x64xbf16, #ttnn_layout25> {
  %7 = "ttnn.moe_compute"(%0, %1, %2, %3, %4, %5, %6) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, has_bias = false, cluster_axis = 0 : ui32, mux_core_range_set = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (1,3)>]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1>}> : (tensor<1x32x64xbf16, #ttnn_layout13>, tensor<1x32x4xui16, #ttnn_layout14>, tensor<1x32x4xbf16, #ttnn_layout15>, tensor<1x16xui16, #ttnn_layout23>, tensor<1x4x64x128xbf16, #ttnn_layout2>, tensor<1x4x128x64xbf16, #ttnn_layout24>, !ttnn.device) -> tensor<4x32x64xbf16, #ttnn_layout25>
  func.return %7 : tensor<4x32x64xbf16, #ttnn_layout25>
}

// CHECK-LABEL: func.func @all_to_all(
// CHECK: "ttnn.all_to_all"({{.*}}) <{split_dim = 0 : si32, concat_dim = -1 : si32, cluster_axis = 1 : ui32}> :
func.func @all_to_all(%0: tensor<32x16xbf16, #ttnn_layout>) -> tensor<16x32xbf16, #ttnn_layout> {
  %1 = "ttnn.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = -1 : si32, cluster_axis = 1 : ui32}> : (tensor<32x16xbf16, #ttnn_layout>) -> tensor<16x32xbf16, #ttnn_layout>
  func.return %1 : tensor<16x32xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: "ttnn.broadcast"({{.*}}) <{root = 1 : ui32, cluster_axis = 1 : ui32, process_group = "0", ranks = 4 : ui32, chips = array<i64>, element_type = "bf16", effects = true}> :
func.func @broadcast(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.broadcast"(%0) <{root = 1 : ui32, cluster_axis = 1 : ui32, process_group = "0", ranks = 4 : ui32, chips = array<i64>, element_type = "bf16", effects = true}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}
