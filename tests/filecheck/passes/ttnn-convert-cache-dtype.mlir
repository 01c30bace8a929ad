// RUN: pass=ttnn-convert-cache-dtype experimental_kv_cache_dtype=bfp_bf8

#dram = #ttnn.buffer_type<dram>
#cache = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 64 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#row = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#index = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2xsi32, #dram>, <interleaved>>

// An input that is written to arrives in the option's type and is returned in it. New rows keep theirs.
// CHECK-LABEL: func.func public @decoded(
// CHECK-SAME: %k: tensor<2x2x64x32xbf16, #[[B:[a-z0-9_]+]]>
// CHECK-SAME: %q: tensor<1x2x2x32xbf16, #[[ROW:[a-z0-9_]+]]>
// CHECK-SAME: -> (tensor<1x2x2x32xbf16, #[[ROW]]>, tensor<2x2x64x32xbf16, #[[B]]>)
// CHECK-NEXT: %[[W:.*]] = "ttnn.paged_update_cache"(%k, %q, %at) {{.*}} -> tensor<2x2x64x32xbf16, #[[B]]>
// CHECK-NEXT: %[[A:.*]] = "ttnn.scaled_dot_product_attention_decode"(%q, %[[W]], %[[W]])
// CHECK-NEXT: func.return %[[A]], %[[W]]
func.func public @decoded(%k: tensor<2x2x64x32xbf16, #cache>, %q: tensor<1x2x2x32xbf16, #row>, %at: tensor<2xsi32, #index>) -> (tensor<1x2x2x32xbf16, #row>, tensor<2x2x64x32xbf16, #cache>) {
  %0 = "ttnn.paged_update_cache"(%k, %q, %at) <{share_cache = false}> : (tensor<2x2x64x32xbf16, #cache>, tensor<1x2x2x32xbf16, #row>, tensor<2xsi32, #index>) -> tensor<2x2x64x32xbf16, #cache>
  %1 = "ttnn.scaled_dot_product_attention_decode"(%q, %0, %0) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}> : (tensor<1x2x2x32xbf16, #row>, tensor<2x2x64x32xbf16, #cache>, tensor<2x2x64x32xbf16, #cache>) -> tensor<1x2x2x32xbf16, #row>
  func.return %1, %0 : tensor<1x2x2x32xbf16, #row>, tensor<2x2x64x32xbf16, #cache>
}

// A parameter is copied. Whole sequences are converted before they are written, and other readers get the former type.
// CHECK-LABEL: func.func public @filled(
// CHECK-SAME: %k: tensor<2x2x64x32xbf16, #[[C:[a-z0-9_]+]]>
// CHECK-NEXT: %[[K:.*]] = "ttnn.typecast"(%k) {{.*}} -> tensor<2x2x64x32xbf16, #[[B]]>
// CHECK-NEXT: %[[X:.*]] = "ttnn.typecast"(%x)
// CHECK-NEXT: %[[F:.*]] = "ttnn.fill_cache"(%[[K]], %[[X]]) {{.*}} -> tensor<2x2x64x32xbf16, #[[B]]>
// CHECK: %[[G:.*]] = "ttnn.fill_cache"(%[[F]], %{{.*}}) {{.*}} -> tensor<2x2x64x32xbf16, #[[B]]>
// CHECK-NEXT: %[[R:.*]] = "ttnn.typecast"(%[[G]]) {{.*}} -> tensor<2x2x64x32xbf16, #[[C]]>
// CHECK-NEXT: %[[E:.*]] = "ttnn.exp"(%[[R]])
// CHECK-NEXT: "ttnn.add"(%[[E]], %[[R]])
func.func public @filled(%k: tensor<2x2x64x32xbf16, #cache> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %x: tensor<1x2x32x32xbf16, #row>) -> tensor<2x2x64x32xbf16, #cache> {
  %0 = "ttnn.fill_cache"(%k, %x) <{batch_offset = 0 : i32}> : (tensor<2x2x64x32xbf16, #cache>, tensor<1x2x32x32xbf16, #row>) -> tensor<2x2x64x32xbf16, #cache>
  %1 = "ttnn.fill_cache"(%0, %x) <{batch_offset = 1 : i32}> : (tensor<2x2x64x32xbf16, #cache>, tensor<1x2x32x32xbf16, #row>) -> tensor<2x2x64x32xbf16, #cache>
  %2 = "ttnn.exp"(%1) : (tensor<2x2x64x32xbf16, #cache>) -> tensor<2x2x64x32xbf16, #cache>
  %3 = "ttnn.add"(%2, %1) : (tensor<2x2x64x32xbf16, #cache>, tensor<2x2x64x32xbf16, #cache>) -> tensor<2x2x64x32xbf16, #cache>
  func.return %3 : tensor<2x2x64x32xbf16, #cache>
}
