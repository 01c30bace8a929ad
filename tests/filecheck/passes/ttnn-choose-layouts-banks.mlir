// RUN: pass=ttnn-choose-layouts arch=n150

#dram = #ttnn.buffer_type<dram>
#row = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x64x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#wide = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x256x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#rows = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x64x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#wides = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x256x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#weight = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x256x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// For a product of one row of tiles, weights and bias of const-eval are sharded over the twelve DRAM banks; an argument arrives so.
// CHECK-DAG: #[[BANKS:ttnn_layout[0-9]*]] = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x12>, memref<64x22x!ttcore.tile<32x32, bf16>, #dram>, <width_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (11,0)>]>>
// CHECK-LABEL: func.func private @main_const_eval_0(
// CHECK: "ttnn.add"
// CHECK-NEXT: "ttnn.to_memory_config"({{.*}} -> tensor<2048x8192xbf16, #[[BANKS]]>
// CHECK-LABEL: func.func public @main(
// CHECK-SAME: %v: tensor<2048x8192xbf16, #[[BANKS]]>
// CHECK: "ttnn.matmul"({{.*}}matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_dram_sharded_program_config<in0_block_w = 1, per_core_m = 1, per_core_n = 4>
// CHECK: "ttnn.matmul"({{.*}}matmul_program_config = #ttnn.matmul_multi_core_reuse_multi_cast_dram_sharded_program_config<
func.func private @main_const_eval_0(%w: tensor<2048x8192xbf16, #weight>) -> tensor<2048x8192xbf16, #weight> attributes {tt.function_type = "const_eval"} {
  %0 = "ttnn.add"(%w, %w) : (tensor<2048x8192xbf16, #weight>, tensor<2048x8192xbf16, #weight>) -> tensor<2048x8192xbf16, #weight>
  func.return %0 : tensor<2048x8192xbf16, #weight>
}
func.func public @main(%x: tensor<1x2048xbf16, #row>, %w: tensor<2048x8192xbf16, #weight> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<2048x8192xbf16, #weight> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x8192xbf16, #wide> {
  %0 = ttcore.load_cached(@main_const_eval_0, [%w]) : (tensor<2048x8192xbf16, #weight>) -> tensor<2048x8192xbf16, #weight>
  %1 = "ttnn.exp"(%x) : (tensor<1x2048xbf16, #row>) -> tensor<1x2048xbf16, #row>
  %2 = "ttnn.matmul"(%1, %0) <{transpose_a = false, transpose_b = false}> : (tensor<1x2048xbf16, #row>, tensor<2048x8192xbf16, #weight>) -> tensor<1x8192xbf16, #wide>
  %3 = "ttnn.matmul"(%1, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x2048xbf16, #row>, tensor<2048x8192xbf16, #weight>) -> tensor<1x8192xbf16, #wide>
  %4 = "ttnn.multiply"(%2, %3) : (tensor<1x8192xbf16, #wide>, tensor<1x8192xbf16, #wide>) -> tensor<1x8192xbf16, #wide>
  func.return %4 : tensor<1x8192xbf16, #wide>
}

// Not sharded: weights of products with several rows of tiles, weights with several uses, and values that are not constant.
// CHECK-LABEL: func.func public @others(
// CHECK-NOT: dram_sharded
func.func public @others(%x: tensor<64x2048xbf16, #rows>, %y: tensor<1x2048xbf16, #row>, %w: tensor<2048x8192xbf16, #weight> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<2048x8192xbf16, #weight> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %u: tensor<2048x8192xbf16, #weight>) -> (tensor<64x8192xbf16, #wides>, tensor<1x8192xbf16, #wide>, tensor<1x8192xbf16, #wide>, tensor<1x8192xbf16, #wide>) {
  %0 = "ttnn.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<64x2048xbf16, #rows>, tensor<2048x8192xbf16, #weight>) -> tensor<64x8192xbf16, #wides>
  %1 = "ttnn.matmul"(%y, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x2048xbf16, #row>, tensor<2048x8192xbf16, #weight>) -> tensor<1x8192xbf16, #wide>
  %2 = "ttnn.exp"(%y) : (tensor<1x2048xbf16, #row>) -> tensor<1x2048xbf16, #row>
  %3 = "ttnn.matmul"(%2, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x2048xbf16, #row>, tensor<2048x8192xbf16, #weight>) -> tensor<1x8192xbf16, #wide>
  %4 = "ttnn.matmul"(%y, %u) <{transpose_a = false, transpose_b = false}> : (tensor<1x2048xbf16, #row>, tensor<2048x8192xbf16, #weight>) -> tensor<1x8192xbf16, #wide>
  func.return %0, %1, %3, %4 : tensor<64x8192xbf16, #wides>, tensor<1x8192xbf16, #wide>, tensor<1x8192xbf16, #wide>, tensor<1x8192xbf16, #wide>
}
