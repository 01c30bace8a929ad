// RUN: roundtrip

// CHECK-LABEL: func.func @scaled_dot_product_attention(
// CHECK: "ttir.scaled_dot_product_attention"({{.*}}) <{is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> :
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>) -> tensor<2x4x8x16xbf16> {
  %3 = "ttir.scaled_dot_product_attention"(%0, %1, %2) <{is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %3 : tensor<2x4x8x16xbf16>
}

// CHECK-LABEL: func.func @scaled_dot_product_attention_2(
// CHECK: "ttir.scaled_dot_product_attention"({{.*}}) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> :
func.func @scaled_dot_product_attention_2(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x8x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x8x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// CHECK-LABEL: func.func @scaled_dot_product_attention_decode(
// CHECK: "ttir.scaled_dot_product_attention_decode"({{.*}}) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> :
func.func @scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x4x32xbf16>, %4: tensor<2xsi32>, %5: tensor<4x1xbf16>) -> tensor<1x2x4x16xbf16> {
  %6 = "ttir.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<1x2x4x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x4x32xbf16>, tensor<2xsi32>, tensor<4x1xbf16>) -> tensor<1x2x4x16xbf16>
  func.return %6 : tensor<1x2x4x16xbf16>
}

// CHECK-LABEL: func.func @paged_scaled_dot_product_attention_decode(
// CHECK: "ttir.paged_scaled_dot_product_attention_decode"({{.*}}) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> :
func.func @paged_scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<8x2x32x16xbf16>, %2: tensor<8x2x32x16xbf16>, %3: tensor<2x4xsi32>, %4: tensor<1x2x4x16xbf16>, %5: tensor<2x1x4x32xbf16>, %6: tensor<2xsi32>) -> tensor<1x2x4x16xbf16> {
  %7 = "ttir.paged_scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5, %6) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x4x16xbf16>, tensor<8x2x32x16xbf16>, tensor<8x2x32x16xbf16>, tensor<2x4xsi32>, tensor<1x2x4x16xbf16>, tensor<2x1x4x32xbf16>, tensor<2xsi32>) -> tensor<1x2x4x16xbf16>
  func.return %7 : tensor<1x2x4x16xbf16>
}

// CHECK-LABEL: func.func @chunked_scaled_dot_product_attention(
// CHECK: "ttir.chunked_scaled_dot_product_attention"({{.*}}) <{scale = 1.000000e+00 : f32}> :
func.func @chunked_scaled_dot_product_attention(%0: tensor<1x4x8x16xbf16>, %1: tensor<8x2x32x16xbf16>, %2: tensor<8x2x32x16xbf16>, %3: tensor<1x4xsi32>, %4: tensor<1xsi32>, %5: tensor<1x4x8x16xbf16>) -> tensor<1x4x8x16xbf16> {
  %6 = "ttir.chunked_scaled_dot_product_attention"(%0, %1, %2, %3, %4, %5) <{scale = 1.000000e+00 : f32}> : (tensor<1x4x8x16xbf16>, tensor<8x2x32x16xbf16>, tensor<8x2x32x16xbf16>, tensor<1x4xsi32>, tensor<1xsi32>, tensor<1x4x8x16xbf16>) -> tensor<1x4x8x16xbf16>
  func.return %6 : tensor<1x4x8x16xbf16>
}

// CHECK-LABEL: func.func @paged_flash_multi_latent_attention_decode(
// CHECK: "ttir.paged_flash_multi_latent_attention_decode"({{.*}}) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> :
func.func @paged_flash_multi_latent_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<8x1x32x16xbf16>, %2: tensor<2x4xsi32>) -> tensor<1x2x4x8xbf16> {
  %3 = "ttir.paged_flash_multi_latent_attention_decode"(%0, %1, %2) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> : (tensor<1x2x4x16xbf16>, tensor<8x1x32x16xbf16>, tensor<2x4xsi32>) -> tensor<1x2x4x8xbf16>
  func.return %3 : tensor<1x2x4x8xbf16>
}

// CHECK-LABEL: func.func @sdpa_fw(
// CHECK: "ttir.sdpa_fw"({{.*}}) <{return_intermediates = true}> :
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x8x16xbf16>, %2: tensor<2x2x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x32xbf16>) {
  %3:2 = "ttir.sdpa_fw"(%0, %1, %2) <{return_intermediates = true}> : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x32xbf16>)
  func.return %3#0, %3#1 : tensor<2x4x8x16xbf16>, tensor<2x4x8x32xbf16>
}

// CHECK-LABEL: func.func @sdpa_bw(
// CHECK: "ttir.sdpa_bw"({{.*}}) <{dropout_probability = 0.000000e+00 : f32}> :
func.func @sdpa_bw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x4x8x16xbf16>, %2: tensor<2x4x8x16xbf16>, %3: tensor<2x2x8x16xbf16>, %4: tensor<2x2x8x16xbf16>, %5: tensor<2x4x8x32xbf16>, %6: tensor<1x1x8x8xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) {
  %7:3 = "ttir.sdpa_bw"(%0, %1, %2, %3, %4, %5, %6) <{dropout_probability = 0.000000e+00 : f32}> : (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x4x8x32xbf16>, tensor<1x1x8x8xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>)
  func.return %7#0, %7#1, %7#2 : tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>
}

// CHECK-LABEL: func.func @concatenate_heads(
// CHECK: "ttir.concatenate_heads"({{.*}}) :
func.func @concatenate_heads(%0: tensor<2x4x8x16xbf16>) -> tensor<2x8x64xbf16> {
  %1 = "ttir.concatenate_heads"(%0) : (tensor<2x4x8x16xbf16>) -> tensor<2x8x64xbf16>
  func.return %1 : tensor<2x8x64xbf16>
}

// CHECK-LABEL: func.func @split_query_key_value_and_split_heads(
// CHECK: "ttir.split_query_key_value_and_split_heads"({{.*}}) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, transpose_key = true}> :
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x96xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x1x16x8xbf16>, tensor<2x1x8x16xbf16>) {
  %1:3 = "ttir.split_query_key_value_and_split_heads"(%0) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, transpose_key = true}> : (tensor<2x8x96xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x1x16x8xbf16>, tensor<2x1x8x16xbf16>)
  func.return %1#0, %1#1, %1#2 : tensor<2x4x8x16xbf16>, tensor<2x1x16x8xbf16>, tensor<2x1x8x16xbf16>
}

// CHECK-LABEL: func.func @split_query_key_value_and_split_heads_2(
// CHECK: "ttir.split_query_key_value_and_split_heads"({{.*}}) <{num_heads = 4 : ui32, transpose_key = false}> :
func.func @split_query_key_value_and_split_heads_2(%0: tensor<2x8x64xbf16>, %1: tensor<2x12x128xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x12x16xbf16>, tensor<2x4x12x16xbf16>) {
  %2:3 = "ttir.split_query_key_value_and_split_heads"(%0, %1) <{num_heads = 4 : ui32, transpose_key = false}> : (tensor<2x8x64xbf16>, tensor<2x12x128xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x12x16xbf16>, tensor<2x4x12x16xbf16>)
  func.return %2#0, %2#1, %2#2 : tensor<2x4x8x16xbf16>, tensor<2x4x12x16xbf16>, tensor<2x4x12x16xbf16>
}

// CHECK-LABEL: func.func @update_cache(
// CHECK: "ttir.update_cache"({{.*}}) <{batch_offset = 0 : i32}> :
func.func @update_cache(%0: tensor<2x4x32x16xbf16>, %1: tensor<1x4x2x16xbf16>, %2: tensor<1xsi32>) {
  "ttir.update_cache"(%0, %1, %2) <{batch_offset = 0 : i32}> : (tensor<2x4x32x16xbf16>, tensor<1x4x2x16xbf16>, tensor<1xsi32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @fill_cache(
// CHECK: "ttir.fill_cache"({{.*}}) <{batch_offset = 1 : i32}> :
func.func @fill_cache(%0: tensor<2x4x32x16xbf16>, %1: tensor<1x4x24x16xbf16>) {
  "ttir.fill_cache"(%0, %1) <{batch_offset = 1 : i32}> : (tensor<2x4x32x16xbf16>, tensor<1x4x24x16xbf16>) -> ()
  func.return
}

// CHECK-LABEL: func.func @paged_update_cache(
// CHECK: "ttir.paged_update_cache"({{.*}}) <{share_cache = false}> :
func.func @paged_update_cache(%0: tensor<8x4x32x16xbf16>, %1: tensor<1x2x4x16xbf16>, %2: tensor<2xsi32>, %3: tensor<2x4xsi32>) {
  "ttir.paged_update_cache"(%0, %1, %2, %3) <{share_cache = false}> : (tensor<8x4x32x16xbf16>, tensor<1x2x4x16xbf16>, tensor<2xsi32>, tensor<2x4xsi32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @paged_fill_cache(
// CHECK: "ttir.paged_fill_cache"({{.*}}) :
func.func @paged_fill_cache(%0: tensor<8x4x32x16xbf16>, %1: tensor<1x4x64x16xbf16>, %2: tensor<2x4xsi32>) {
  "ttir.paged_fill_cache"(%0, %1, %2) : (tensor<8x4x32x16xbf16>, tensor<1x4x64x16xbf16>, tensor<2x4xsi32>) -> ()
  func.return
}
