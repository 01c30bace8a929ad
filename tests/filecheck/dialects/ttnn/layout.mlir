// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#l1 = #ttnn.buffer_type<l1>
#height = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <13x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>, core_ranges = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (10,0)>, #ttnn.core_range<(0,1), (1,1)>]>>
#block = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <4x2>, mesh = <"mesh">, memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (1,3)>]>>
#spread = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x5>, memref<1x3x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
#open = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<13x2x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>, ignorePhysicalLayout = true>
#scalar = #ttnn.ttnn_layout<() -> (0, 0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#stale = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Sharded tensors name their cores; of one that is interleaved over L1, the memref has a core's part: 26 tiles on 10 cores.
// CHECK-DAG: <13x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (10,0)>, #ttnn.core_range<(0,1), (1,1)>]>>
// CHECK-DAG: <4x2>, mesh = <"mesh">, memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (1,3)>]>>
// CHECK-DAG: <2x5>, memref<1x3x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
// CHECK-DAG: memref<13x2x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>, ignorePhysicalLayout = true>
// CHECK-DAG: () -> (0, 0), <1x1>
// CHECK-LABEL: func.func @moves(
func.func @moves(%0: tensor<400x64xbf16, #height>) -> tensor<400x64xbf16, #open> {
  %1 = "ttnn.to_memory_config"(%0) : (tensor<400x64xbf16, #height>) -> tensor<400x64xbf16, #block>
  %2 = "ttnn.to_memory_config"(%1) : (tensor<400x64xbf16, #block>) -> tensor<400x64xbf16, #spread>
  %3 = "ttnn.to_memory_config"(%2) : (tensor<400x64xbf16, #spread>) -> tensor<400x64xbf16, #open>
  func.return %3 : tensor<400x64xbf16, #open>
}

// Upstream keeps a layout through a change of rank that moves nothing.
// CHECK-LABEL: func.func @scalars(
func.func @scalars(%0: tensor<bf16, #scalar>) -> tensor<bf16, #stale> {
  %1 = "ttnn.relu"(%0) : (tensor<bf16, #scalar>) -> tensor<bf16, #stale>
  func.return %1 : tensor<bf16, #stale>
}
