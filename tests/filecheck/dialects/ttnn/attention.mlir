// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout11 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout12 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout13 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout14 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout15 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout16 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout17 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout18 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout19 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout20 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @scaled_dot_product_attention(
// CHECK: "ttnn.scaled_dot_product_attention"({{.*}}) <{is_causal = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> :
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %3 = "ttnn.scaled_dot_product_attention"(%0, %1, %2) <{is_causal = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @scaled_dot_product_attention_2(
// CHECK: "ttnn.scaled_dot_product_attention"({{.*}}) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> :
func.func @scaled_dot_product_attention_2(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x8x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x1x8x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @scaled_dot_product_attention_decode(
// CHECK: "ttnn.scaled_dot_product_attention_decode"({{.*}}) <{is_causal = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> :
func.func @scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout4>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x4x32xbf16, #ttnn_layout2>, %4: tensor<2xsi32, #ttnn_layout5>, %5: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<1x2x4x16xbf16, #ttnn_layout4> {
  %6 = "ttnn.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<1x2x4x16xbf16, #ttnn_layout4>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x1x4x32xbf16, #ttnn_layout2>, tensor<2xsi32, #ttnn_layout5>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<1x2x4x16xbf16, #ttnn_layout4>
  func.return %6 : tensor<1x2x4x16xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @paged_scaled_dot_product_attention_decode(
// CHECK: "ttnn.paged_scaled_dot_product_attention_decode"({{.*}}) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>}> :
func.func @paged_scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout4>, %1: tensor<8x2x32x16xbf16, #ttnn_layout6>, %2: tensor<8x2x32x16xbf16, #ttnn_layout6>, %3: tensor<2x4xsi32, #ttnn_layout7>, %4: tensor<2x1x4x32xbf16, #ttnn_layout2>, %5: tensor<2xsi32, #ttnn_layout5>) -> tensor<1x2x4x16xbf16, #ttnn_layout4> {
  %6 = "ttnn.paged_scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x4x16xbf16, #ttnn_layout4>, tensor<8x2x32x16xbf16, #ttnn_layout6>, tensor<8x2x32x16xbf16, #ttnn_layout6>, tensor<2x4xsi32, #ttnn_layout7>, tensor<2x1x4x32xbf16, #ttnn_layout2>, tensor<2xsi32, #ttnn_layout5>) -> tensor<1x2x4x16xbf16, #ttnn_layout4>
  func.return %6 : tensor<1x2x4x16xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @chunked_scaled_dot_product_attention(
// CHECK: "ttnn.chunked_scaled_dot_product_attention"({{.*}}) <{scale = 1.000000e+00 : f32}> :
func.func @chunked_scaled_dot_product_attention(%0: tensor<1x4x8x16xbf16, #ttnn_layout8>, %1: tensor<8x2x32x16xbf16, #ttnn_layout6>, %2: tensor<8x2x32x16xbf16, #ttnn_layout6>, %3: tensor<1x4xsi32, #ttnn_layout7>, %4: tensor<1xsi32, #ttnn_layout5>) -> tensor<1x4x8x16xbf16, #ttnn_layout8> {
  %5 = "ttnn.chunked_scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{scale = 1.000000e+00 : f32}> : (tensor<1x4x8x16xbf16, #ttnn_layout8>, tensor<8x2x32x16xbf16, #ttnn_layout6>, tensor<8x2x32x16xbf16, #ttnn_layout6>, tensor<1x4xsi32, #ttnn_layout7>, tensor<1xsi32, #ttnn_layout5>) -> tensor<1x4x8x16xbf16, #ttnn_layout8>
  func.return %5 : tensor<1x4x8x16xbf16, #ttnn_layout8>
}

// CHECK-LABEL: func.func @paged_flash_multi_latent_attention_decode(
// CHECK: "ttnn.paged_flash_multi_latent_attention_decode"({{.*}}) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> :
func.func @paged_flash_multi_latent_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout4>, %1: tensor<8x1x32x16xbf16, #ttnn_layout9>, %2: tensor<2x4xsi32, #ttnn_layout7>) -> tensor<1x2x4x8xbf16, #ttnn_layout4> {
  %3 = "ttnn.paged_flash_multi_latent_attention_decode"(%0, %1, %2) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> : (tensor<1x2x4x16xbf16, #ttnn_layout4>, tensor<8x1x32x16xbf16, #ttnn_layout9>, tensor<2x4xsi32, #ttnn_layout7>) -> tensor<1x2x4x8xbf16, #ttnn_layout4>
  func.return %3 : tensor<1x2x4x8xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @flash_mla_prefill(
// CHECK: "ttnn.flash_mla_prefill"({{.*}}) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> :
func.func @flash_mla_prefill(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x1x32x16xbf16, #ttnn_layout2>) -> tensor<2x4x8x8xbf16, #ttnn_layout> {
  %2 = "ttnn.flash_mla_prefill"(%0, %1) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x1x32x16xbf16, #ttnn_layout2>) -> tensor<2x4x8x8xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x8x8xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sdpa_fw(
// CHECK: "ttnn.sdpa_fw"({{.*}}) <{return_intermediates = true}> :
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x8x16xbf16, #ttnn_layout1>, %2: tensor<2x2x8x16xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x32xbf16, #ttnn_layout>) {
  %3:2 = "ttnn.sdpa_fw"(%0, %1, %2) <{return_intermediates = true}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x32xbf16, #ttnn_layout>)
  func.return %3#0, %3#1 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x32xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @sdpa_bw(
// CHECK: "ttnn.sdpa_bw"({{.*}}) <{dropout_probability = 0.000000e+00 : f32}> :
func.func @sdpa_bw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x4x8x16xbf16, #ttnn_layout>, %2: tensor<2x4x8x16xbf16, #ttnn_layout>, %3: tensor<2x2x8x16xbf16, #ttnn_layout1>, %4: tensor<2x2x8x16xbf16, #ttnn_layout1>, %5: tensor<2x4x8x32xbf16, #ttnn_layout>, %6: tensor<1x1x8x8xbf16, #ttnn_layout10>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>) {
  %7:3 = "ttnn.sdpa_bw"(%0, %1, %2, %3, %4, %5, %6) <{dropout_probability = 0.000000e+00 : f32}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x4x8x32xbf16, #ttnn_layout>, tensor<1x1x8x8xbf16, #ttnn_layout10>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>)
  func.return %7#0, %7#1, %7#2 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @concatenate_heads(
// CHECK: "ttnn.concatenate_heads"({{.*}}) :
func.func @concatenate_heads(%0: tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x8x64xbf16, #ttnn_layout11> {
  %1 = "ttnn.concatenate_heads"(%0) : (tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x8x64xbf16, #ttnn_layout11>
  func.return %1 : tensor<2x8x64xbf16, #ttnn_layout11>
}

// CHECK-LABEL: func.func @split_query_key_value_and_split_heads(
// CHECK: "ttnn.split_query_key_value_and_split_heads"({{.*}}) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, transpose_key = true}> :
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x96xbf16, #ttnn_layout12>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x1x16x8xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>) {
  %1:3 = "ttnn.split_query_key_value_and_split_heads"(%0) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, transpose_key = true}> : (tensor<2x8x96xbf16, #ttnn_layout12>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x1x16x8xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>)
  func.return %1#0, %1#1, %1#2 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x1x16x8xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @split_query_key_value_and_split_heads_2(
// CHECK: "ttnn.split_query_key_value_and_split_heads"({{.*}}) <{num_heads = 4 : ui32, transpose_key = false}> :
func.func @split_query_key_value_and_split_heads_2(%0: tensor<2x8x64xbf16, #ttnn_layout11>, %1: tensor<2x12x128xbf16, #ttnn_layout13>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x12x16xbf16, #ttnn_layout>, tensor<2x4x12x16xbf16, #ttnn_layout>) {
  %2:3 = "ttnn.split_query_key_value_and_split_heads"(%0, %1) <{num_heads = 4 : ui32, transpose_key = false}> : (tensor<2x8x64xbf16, #ttnn_layout11>, tensor<2x12x128xbf16, #ttnn_layout13>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x12x16xbf16, #ttnn_layout>, tensor<2x4x12x16xbf16, #ttnn_layout>)
  func.return %2#0, %2#1, %2#2 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x12x16xbf16, #ttnn_layout>, tensor<2x4x12x16xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @nlp_concat_heads(
// CHECK: "ttnn.nlp_concat_heads"({{.*}}) :
func.func @nlp_concat_heads(%0: tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x1x8x64xbf16, #ttnn_layout14> {
  %1 = "ttnn.nlp_concat_heads"(%0) : (tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x1x8x64xbf16, #ttnn_layout14>
  func.return %1 : tensor<2x1x8x64xbf16, #ttnn_layout14>
}

// CHECK-LABEL: func.func @nlp_concat_heads_decode(
// CHECK: "ttnn.nlp_concat_heads_decode"({{.*}}) <{num_heads = 4 : ui32}> :
func.func @nlp_concat_heads_decode(%0: tensor<1x2x32x16xbf16, #ttnn_layout4>) -> tensor<1x1x2x64xbf16, #ttnn_layout15> {
  %1 = "ttnn.nlp_concat_heads_decode"(%0) <{num_heads = 4 : ui32}> : (tensor<1x2x32x16xbf16, #ttnn_layout4>) -> tensor<1x1x2x64xbf16, #ttnn_layout15>
  func.return %1 : tensor<1x1x2x64xbf16, #ttnn_layout15>
}

// CHECK-LABEL: func.func @nlp_create_qkv_heads_decode(
// CHECK: "ttnn.nlp_create_qkv_heads_decode"({{.*}}) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, overlap_qk_coregrid = false}> :
func.func @nlp_create_qkv_heads_decode(%0: tensor<1x1x32x96xbf16, #ttnn_layout16>) -> (tensor<1x32x4x16xbf16, #ttnn_layout17>, tensor<1x32x1x16xbf16, #ttnn_layout17>, tensor<1x32x1x16xbf16, #ttnn_layout17>) {
  %1:3 = "ttnn.nlp_create_qkv_heads_decode"(%0) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, overlap_qk_coregrid = false}> : (tensor<1x1x32x96xbf16, #ttnn_layout16>) -> (tensor<1x32x4x16xbf16, #ttnn_layout17>, tensor<1x32x1x16xbf16, #ttnn_layout17>, tensor<1x32x1x16xbf16, #ttnn_layout17>)
  func.return %1#0, %1#1, %1#2 : tensor<1x32x4x16xbf16, #ttnn_layout17>, tensor<1x32x1x16xbf16, #ttnn_layout17>, tensor<1x32x1x16xbf16, #ttnn_layout17>
}

// CHECK-LABEL: func.func @indexer_score_dsa(
// CHECK: "ttnn.indexer_score_dsa"({{.*}}) <{chunk_start_idx = 24 : ui32}> :
func.func @indexer_score_dsa(%0: tensor<1x4x8x16xbf16, #ttnn_layout8>, %1: tensor<1x1x32x16xbf16, #ttnn_layout10>, %2: tensor<1x4x8x1xbf16, #ttnn_layout8>) -> tensor<1x8x32xbf16, #ttnn_layout18> {
  %3 = "ttnn.indexer_score_dsa"(%0, %1, %2) <{chunk_start_idx = 24 : ui32}> : (tensor<1x4x8x16xbf16, #ttnn_layout8>, tensor<1x1x32x16xbf16, #ttnn_layout10>, tensor<1x4x8x1xbf16, #ttnn_layout8>) -> tensor<1x8x32xbf16, #ttnn_layout18>
  func.return %3 : tensor<1x8x32xbf16, #ttnn_layout18>
}

// CHECK-LABEL: func.func @rotary_embedding(
// CHECK: "ttnn.rotary_embedding"({{.*}}) <{token_index = 3 : ui32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>}> :
func.func @rotary_embedding(%0: tensor<1x4x32x16xbf16, #ttnn_layout8>, %1: tensor<1x1x32x16xbf16, #ttnn_layout10>, %2: tensor<1x1x32x16xbf16, #ttnn_layout10>) -> tensor<1x4x32x16xbf16, #ttnn_layout8> {
  %3 = "ttnn.rotary_embedding"(%0, %1, %2) <{token_index = 3 : ui32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>}> : (tensor<1x4x32x16xbf16, #ttnn_layout8>, tensor<1x1x32x16xbf16, #ttnn_layout10>, tensor<1x1x32x16xbf16, #ttnn_layout10>) -> tensor<1x4x32x16xbf16, #ttnn_layout8>
  func.return %3 : tensor<1x4x32x16xbf16, #ttnn_layout8>
}

// CHECK-LABEL: func.func @rotary_embedding_2(
// CHECK: "ttnn.rotary_embedding"({{.*}}) :
func.func @rotary_embedding_2(%0: tensor<1x4x1x16xbf16, #ttnn_layout8>, %1: tensor<1x1x32x16xbf16, #ttnn_layout10>, %2: tensor<1x1x32x16xbf16, #ttnn_layout10>) -> tensor<1x4x32x16xbf16, #ttnn_layout8> {
  %3 = "ttnn.rotary_embedding"(%0, %1, %2) : (tensor<1x4x1x16xbf16, #ttnn_layout8>, tensor<1x1x32x16xbf16, #ttnn_layout10>, tensor<1x1x32x16xbf16, #ttnn_layout10>) -> tensor<1x4x32x16xbf16, #ttnn_layout8>
  func.return %3 : tensor<1x4x32x16xbf16, #ttnn_layout8>
}

// CHECK-LABEL: func.func @rotary_embedding_llama(
// CHECK: "ttnn.rotary_embedding_llama"({{.*}}) <{is_decode_mode = false}> :
func.func @rotary_embedding_llama(%0: tensor<1x4x32x32xbf16, #ttnn_layout8>, %1: tensor<1x1x32x32xbf16, #ttnn_layout10>, %2: tensor<1x1x32x32xbf16, #ttnn_layout10>, %3: tensor<1x1x32x32xbf16, #ttnn_layout10>) -> tensor<1x4x32x32xbf16, #ttnn_layout8> {
  %4 = "ttnn.rotary_embedding_llama"(%0, %1, %2, %3) <{is_decode_mode = false}> : (tensor<1x4x32x32xbf16, #ttnn_layout8>, tensor<1x1x32x32xbf16, #ttnn_layout10>, tensor<1x1x32x32xbf16, #ttnn_layout10>, tensor<1x1x32x32xbf16, #ttnn_layout10>) -> tensor<1x4x32x32xbf16, #ttnn_layout8>
  func.return %4 : tensor<1x4x32x32xbf16, #ttnn_layout8>
}

// CHECK-LABEL: func.func @update_cache(
// CHECK: "ttnn.update_cache"({{.*}}) <{batch_offset = 0 : i32}> :
func.func @update_cache(%0: tensor<2x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x4x2x16xbf16, #ttnn_layout8>, %2: tensor<1xsi32, #ttnn_layout5>) {
  "ttnn.update_cache"(%0, %1, %2) <{batch_offset = 0 : i32}> : (tensor<2x4x32x16xbf16, #ttnn_layout>, tensor<1x4x2x16xbf16, #ttnn_layout8>, tensor<1xsi32, #ttnn_layout5>) -> ()
  func.return
}

// CHECK-LABEL: func.func @fill_cache(
// CHECK: "ttnn.fill_cache"({{.*}}) <{batch_offset = 1 : i32}> :
func.func @fill_cache(%0: tensor<2x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x4x24x16xbf16, #ttnn_layout8>) {
  "ttnn.fill_cache"(%0, %1) <{batch_offset = 1 : i32}> : (tensor<2x4x32x16xbf16, #ttnn_layout>, tensor<1x4x24x16xbf16, #ttnn_layout8>) -> ()
  func.return
}

// CHECK-LABEL: func.func @paged_update_cache(
// CHECK: "ttnn.paged_update_cache"({{.*}}) <{share_cache = false}> :
func.func @paged_update_cache(%0: tensor<8x4x32x16xbf16, #ttnn_layout19>, %1: tensor<1x2x4x16xbf16, #ttnn_layout4>, %2: tensor<2xsi32, #ttnn_layout5>, %3: tensor<2x4xsi32, #ttnn_layout7>) {
  "ttnn.paged_update_cache"(%0, %1, %2, %3) <{share_cache = false}> : (tensor<8x4x32x16xbf16, #ttnn_layout19>, tensor<1x2x4x16xbf16, #ttnn_layout4>, tensor<2xsi32, #ttnn_layout5>, tensor<2x4xsi32, #ttnn_layout7>) -> ()
  func.return
}

// CHECK-LABEL: func.func @paged_fill_cache(
// CHECK: "ttnn.paged_fill_cache"({{.*}}) :
func.func @paged_fill_cache(%0: tensor<8x4x32x16xbf16, #ttnn_layout19>, %1: tensor<1x4x64x16xbf16, #ttnn_layout20>, %2: tensor<2x4xsi32, #ttnn_layout7>) {
  "ttnn.paged_fill_cache"(%0, %1, %2) : (tensor<8x4x32x16xbf16, #ttnn_layout19>, tensor<1x4x64x16xbf16, #ttnn_layout20>, tensor<2x4xsi32, #ttnn_layout7>) -> ()
  func.return
}
