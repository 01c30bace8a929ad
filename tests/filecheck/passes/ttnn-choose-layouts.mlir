// RUN: pass=ttnn-choose-layouts

#dram = #ttnn.buffer_type<dram>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x16x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<16x16x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<256x256x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 512 + d1, d2), <1x1>, memref<64x16x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<128x128x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-DAG: #[[S:ttnn_layout[0-9]*]] = {{.*}}<8x8>, memref<8x2x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (7,7)>]>>
// Results stay in L1, sharded like the product, except those that the function returns.
// CHECK-LABEL: func.func public @chain(
// CHECK: "ttnn.tanh"(%x) : {{.*}} -> tensor<2048x512xbf16, #[[S]]>
// CHECK-NEXT: "ttnn.matmul"({{.*}}matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_program_config<compute_with_storage_grid_size = #ttnn.core_coord<8, 8>, in0_block_w = 2, out_subblock_h = 2, out_subblock_w = 2, out_block_h = 8, out_block_w = 2, per_core_m = 8, per_core_n = 2, transpose_mcast = false, fuse_batch = true>{{.*}} -> tensor<2048x512xbf16, #[[S]]>
// CHECK-NEXT: "ttnn.add"({{.*}} -> tensor<2048x512xbf16, #[[S]]>
// CHECK-NEXT: "ttnn.exp"({{.*}} -> tensor<2048x512xbf16, #[[D:.*]]>
// CHECK-NEXT: func.return
func.func public @chain(%x: tensor<2048x512xbf16, #ttnn_layout1>, %w: tensor<512x512xbf16, #ttnn_layout2> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2048x512xbf16, #ttnn_layout1> {
  %0 = "ttnn.tanh"(%x) : (tensor<2048x512xbf16, #ttnn_layout1>) -> tensor<2048x512xbf16, #ttnn_layout1>
  %1 = "ttnn.matmul"(%0, %w) <{transpose_a = false, transpose_b = false}> : (tensor<2048x512xbf16, #ttnn_layout1>, tensor<512x512xbf16, #ttnn_layout2>) -> tensor<2048x512xbf16, #ttnn_layout1>
  %2 = "ttnn.add"(%1, %0) : (tensor<2048x512xbf16, #ttnn_layout1>, tensor<2048x512xbf16, #ttnn_layout1>) -> tensor<2048x512xbf16, #ttnn_layout1>
  %3 = "ttnn.exp"(%2) : (tensor<2048x512xbf16, #ttnn_layout1>) -> tensor<2048x512xbf16, #ttnn_layout1>
  func.return %3 : tensor<2048x512xbf16, #ttnn_layout1>
}

// A view of a sharded tensor has the same shards.
// CHECK-LABEL: func.func public @view(
// CHECK: "ttnn.tanh"(%x) : {{.*}} -> tensor<2048x512xbf16, #[[V:.*]]>
// CHECK-NEXT: "ttnn.reshape"({{.*}} -> tensor<4x512x512xbf16, #[[W:.*]]>
// CHECK-NEXT: "ttnn.add"({{.*}} : (tensor<4x512x512xbf16, #[[W]]>, {{.*}} -> tensor<4x512x512xbf16, #[[W]]>
func.func public @view(%x: tensor<2048x512xbf16, #ttnn_layout1>) -> tensor<4x512x512xbf16, #ttnn_layout4> {
  %0 = "ttnn.tanh"(%x) : (tensor<2048x512xbf16, #ttnn_layout1>) -> tensor<2048x512xbf16, #ttnn_layout1>
  %1 = "ttnn.reshape"(%0) <{shape = [4 : i32, 512 : i32, 512 : i32]}> : (tensor<2048x512xbf16, #ttnn_layout1>) -> tensor<4x512x512xbf16, #ttnn_layout4>
  %2 = "ttnn.add"(%1, %1) : (tensor<4x512x512xbf16, #ttnn_layout4>, tensor<4x512x512xbf16, #ttnn_layout4>) -> tensor<4x512x512xbf16, #ttnn_layout4>
  %3 = "ttnn.exp"(%2) : (tensor<4x512x512xbf16, #ttnn_layout4>) -> tensor<4x512x512xbf16, #ttnn_layout4>
  func.return %3 : tensor<4x512x512xbf16, #ttnn_layout4>
}

// Cached constants stay in DRAM between runs.
func.func private @constants_stay_const_eval_0(%0: tensor<512x512xbf16, #ttnn_layout2>) -> tensor<512x512xbf16, #ttnn_layout2> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<512x512xbf16, #ttnn_layout2>) -> tensor<512x512xbf16, #ttnn_layout2>
  func.return %1 : tensor<512x512xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func public @constants_stay(
// CHECK: %[[C:.*]] = ttcore.load_cached({{.*}} -> tensor<512x512xbf16, #[[E:.*]]>
// CHECK: "ttnn.add"(%{{.*}}, %[[C]]) : ({{.*}}, tensor<512x512xbf16, #[[E]]>)
func.func public @constants_stay(%x: tensor<512x512xbf16, #ttnn_layout2>, %w: tensor<512x512xbf16, #ttnn_layout2> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<512x512xbf16, #ttnn_layout2> {
  %0 = ttcore.load_cached(@constants_stay_const_eval_0, [%w]) : (tensor<512x512xbf16, #ttnn_layout2>) -> tensor<512x512xbf16, #ttnn_layout2>
  %1 = "ttnn.add"(%x, %0) : (tensor<512x512xbf16, #ttnn_layout2>, tensor<512x512xbf16, #ttnn_layout2>) -> tensor<512x512xbf16, #ttnn_layout2>
  %2 = "ttnn.exp"(%1) : (tensor<512x512xbf16, #ttnn_layout2>) -> tensor<512x512xbf16, #ttnn_layout2>
  func.return %2 : tensor<512x512xbf16, #ttnn_layout2>
}

// Each tensor takes 2 MiB of each core's L1.
// CHECK-LABEL: func.func public @too_large(
// CHECK: "ttnn.exp"({{.*}}) : (tensor<8192x8192xbf16, #[[H:.*]]>) -> tensor<8192x8192xbf16, #[[H]]>
// CHECK-NEXT: "ttnn.log"({{.*}}) : (tensor<8192x8192xbf16, #[[H]]>) -> tensor<8192x8192xbf16, #[[H]]>
func.func public @too_large(%x: tensor<8192x8192xbf16, #ttnn_layout3>) -> tensor<8192x8192xbf16, #ttnn_layout3> {
  %0 = "ttnn.exp"(%x) : (tensor<8192x8192xbf16, #ttnn_layout3>) -> tensor<8192x8192xbf16, #ttnn_layout3>
  %1 = "ttnn.log"(%0) : (tensor<8192x8192xbf16, #ttnn_layout3>) -> tensor<8192x8192xbf16, #ttnn_layout3>
  func.return %1 : tensor<8192x8192xbf16, #ttnn_layout3>
}

// Each tensor takes 512 KiB of each core's L1. Two fit, so one of the three live tensors is in DRAM.
// CHECK-LABEL: func.func public @room_for_two(
// CHECK: "ttnn.exp"(%x) : (tensor<4096x4096xbf16, #[[N:.*]]>) -> tensor<4096x4096xbf16, #[[M:.*]]>
// CHECK: "ttnn.log"({{.*}} -> tensor<4096x4096xbf16, #[[N]]>
// CHECK: "ttnn.sin"({{.*}} -> tensor<4096x4096xbf16, #[[M]]>
// CHECK: "ttnn.add"({{.*}} : (tensor<4096x4096xbf16, #[[M]]>, tensor<4096x4096xbf16, #[[M]]>) -> tensor<4096x4096xbf16, #[[N]]>
func.func public @room_for_two(%x: tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5> {
  %0 = "ttnn.exp"(%x) : (tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %1 = "ttnn.log"(%0) : (tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %2 = "ttnn.sin"(%1) : (tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %3 = "ttnn.add"(%2, %0) : (tensor<4096x4096xbf16, #ttnn_layout5>, tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  func.return %3 : tensor<4096x4096xbf16, #ttnn_layout5>
}
