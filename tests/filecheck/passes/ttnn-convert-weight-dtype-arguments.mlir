// RUN: pass=ttnn-convert-weight-dtype

#dram = #ttnn.buffer_type<dram>
#tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#two = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Without the option, an argument's attribute selects the type of its weight. Joined weights get the most precise type.
// CHECK-LABEL: func.func public @main(
// CHECK: "ttnn.typecast"(%w) : {{.*}} -> tensor<32x32xbf16, #ttnn_layout[[B:[0-9]+]]>
// CHECK: "ttnn.concat"(%w, %v)
// CHECK-NEXT: "ttnn.typecast"
// CHECK-NOT: "ttnn.typecast"
func.func public @main(%x: tensor<32x32xbf16, #tiles>, %w: tensor<32x32xbf16, #tiles> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bfp_bf4"}, %v: tensor<32x32xbf16, #tiles> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bfp_bf8"}, %u: tensor<32x32xbf16, #tiles> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bf16"}) -> tensor<32x64xbf16, #two> {
  %0 = "ttnn.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.matmul"(%0, %u) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %2 = "ttnn.concat"(%w, %v) <{dim = 1 : si32}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x64xbf16, #two>
  %3 = "ttnn.matmul"(%1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x64xbf16, #two>) -> tensor<32x64xbf16, #two>
  func.return %3 : tensor<32x64xbf16, #two>
}
