// RUN: invalid

// expected-error: has shape (2, 4, 8, 17), expected (2, 4, 8, 16)
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>) -> tensor<2x4x8x17xbf16> {
  %3 = "ttir.scaled_dot_product_attention"(%0, %1, %2) <{is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>) -> tensor<2x4x8x17xbf16>
  func.return %3 : tensor<2x4x8x17xbf16>
}

// -----

// expected-error: is_causal excludes an attention_mask
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x8x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x8x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: query has 4 heads, expected a multiple of the key's 3
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x3x32x16xbf16>, %2: tensor<2x3x32x16xbf16>, %3: tensor<2x1x8x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<2x3x32x16xbf16>, tensor<2x3x32x16xbf16>, tensor<2x1x8x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: differ before the last dimension
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x31x16xbf16>, %3: tensor<2x1x8x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x31x16xbf16>, tensor<2x1x8x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: query has head size 16, key has 8
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x8xbf16>, %2: tensor<2x2x32x8xbf16>, %3: tensor<2x1x8x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x8xbf16>, tensor<2x2x32x8xbf16>, tensor<2x1x8x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: query has batch 2, key has 1
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<1x2x32x16xbf16>, %2: tensor<1x2x32x16xbf16>, %3: tensor<1x1x8x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<1x2x32x16xbf16>, tensor<1x2x32x16xbf16>, tensor<1x1x8x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: do not broadcast together
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x9x32xbf16>, %4: tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16> {
  %5 = "ttir.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x9x32xbf16>, tensor<4x1xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %5 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: has shape (1, 2, 4, 17), expected (1, 2, 4, 16)
func.func @scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x4x32xbf16>, %4: tensor<2xsi32>, %5: tensor<4x1xbf16>) -> tensor<1x2x4x17xbf16> {
  %6 = "ttir.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<1x2x4x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x4x32xbf16>, tensor<2xsi32>, tensor<4x1xbf16>) -> tensor<1x2x4x17xbf16>
  func.return %6 : tensor<1x2x4x17xbf16>
}

// -----

// expected-error: cur_pos_tensor has shape (3,), expected (2,)
func.func @scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x4x32xbf16>, %4: tensor<3xsi32>, %5: tensor<4x1xbf16>) -> tensor<1x2x4x16xbf16> {
  %6 = "ttir.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<1x2x4x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x4x32xbf16>, tensor<3xsi32>, tensor<4x1xbf16>) -> tensor<1x2x4x16xbf16>
  func.return %6 : tensor<1x2x4x16xbf16>
}

// -----

// expected-error: expected (1, batch, heads, head size)
func.func @scaled_dot_product_attention_decode(%0: tensor<2x2x4x16xbf16>, %1: tensor<2x2x32x16xbf16>, %2: tensor<2x2x32x16xbf16>, %3: tensor<2x1x4x32xbf16>, %4: tensor<2xsi32>, %5: tensor<4x1xbf16>) -> tensor<2x2x4x16xbf16> {
  %6 = "ttir.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<2x2x4x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x2x32x16xbf16>, tensor<2x1x4x32xbf16>, tensor<2xsi32>, tensor<4x1xbf16>) -> tensor<2x2x4x16xbf16>
  func.return %6 : tensor<2x2x4x16xbf16>
}

// -----

// expected-error: has shape (1, 2, 4, 17), expected (1, 2, 4, 16)
func.func @paged_scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<8x2x32x16xbf16>, %2: tensor<8x2x32x16xbf16>, %3: tensor<2x4xsi32>, %4: tensor<1x2x4x16xbf16>, %5: tensor<2x1x4x32xbf16>, %6: tensor<2xsi32>) -> tensor<1x2x4x17xbf16> {
  %7 = "ttir.paged_scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5, %6) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x4x16xbf16>, tensor<8x2x32x16xbf16>, tensor<8x2x32x16xbf16>, tensor<2x4xsi32>, tensor<1x2x4x16xbf16>, tensor<2x1x4x32xbf16>, tensor<2xsi32>) -> tensor<1x2x4x17xbf16>
  func.return %7 : tensor<1x2x4x17xbf16>
}

// -----

// expected-error: page_table has shape (3, 4), expected 2 rows, one for each sequence
func.func @paged_scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<8x2x32x16xbf16>, %2: tensor<8x2x32x16xbf16>, %3: tensor<3x4xsi32>, %4: tensor<1x2x4x16xbf16>, %5: tensor<2x1x4x32xbf16>, %6: tensor<2xsi32>) -> tensor<1x2x4x16xbf16> {
  %7 = "ttir.paged_scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5, %6) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x4x16xbf16>, tensor<8x2x32x16xbf16>, tensor<8x2x32x16xbf16>, tensor<3x4xsi32>, tensor<1x2x4x16xbf16>, tensor<2x1x4x32xbf16>, tensor<2xsi32>) -> tensor<1x2x4x16xbf16>
  func.return %7 : tensor<1x2x4x16xbf16>
}

// -----

// expected-error: has shape (1, 4, 8, 17), expected (1, 4, 8, 16)
func.func @chunked_scaled_dot_product_attention(%0: tensor<1x4x8x16xbf16>, %1: tensor<8x2x32x16xbf16>, %2: tensor<8x2x32x16xbf16>, %3: tensor<1x4xsi32>, %4: tensor<1xsi32>, %5: tensor<1x4x8x16xbf16>) -> tensor<1x4x8x17xbf16> {
  %6 = "ttir.chunked_scaled_dot_product_attention"(%0, %1, %2, %3, %4, %5) <{scale = 1.000000e+00 : f32}> : (tensor<1x4x8x16xbf16>, tensor<8x2x32x16xbf16>, tensor<8x2x32x16xbf16>, tensor<1x4xsi32>, tensor<1xsi32>, tensor<1x4x8x16xbf16>) -> tensor<1x4x8x17xbf16>
  func.return %6 : tensor<1x4x8x17xbf16>
}

// -----

// expected-error: has shape (1, 2, 4, 9), expected (1, 2, 4, 8)
func.func @paged_flash_multi_latent_attention_decode(%0: tensor<1x2x4x16xbf16>, %1: tensor<8x1x32x16xbf16>, %2: tensor<2x4xsi32>) -> tensor<1x2x4x9xbf16> {
  %3 = "ttir.paged_flash_multi_latent_attention_decode"(%0, %1, %2) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> : (tensor<1x2x4x16xbf16>, tensor<8x1x32x16xbf16>, tensor<2x4xsi32>) -> tensor<1x2x4x9xbf16>
  func.return %3 : tensor<1x2x4x9xbf16>
}

// -----

// expected-error: intermediates has shape (2, 4, 8, 31), expected (2, 4, 8, 32)
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x8x16xbf16>, %2: tensor<2x2x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x31xbf16>) {
  %3:2 = "ttir.sdpa_fw"(%0, %1, %2) <{return_intermediates = true}> : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x31xbf16>)
  func.return %3#0, %3#1 : tensor<2x4x8x16xbf16>, tensor<2x4x8x31xbf16>
}

// -----

// expected-error: return_intermediates is True, but intermediates are absent
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x8x16xbf16>, %2: tensor<2x2x8x16xbf16>) -> tensor<2x4x8x16xbf16> {
  %3 = "ttir.sdpa_fw"(%0, %1, %2) <{return_intermediates = true}> : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) -> tensor<2x4x8x16xbf16>
  func.return %3 : tensor<2x4x8x16xbf16>
}

// -----

// expected-error: mask_type is arbitrary; an attention_mask needs mask_type arbitrary, and only that needs one
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x2x8x16xbf16>, %2: tensor<2x2x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x32xbf16>) {
  %3:2 = "ttir.sdpa_fw"(%0, %1, %2) <{return_intermediates = true, mask_type = #ttcore.attention_mask_type<arbitrary>}> : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x32xbf16>)
  func.return %3#0, %3#1 : tensor<2x4x8x16xbf16>, tensor<2x4x8x32xbf16>
}

// -----

// expected-error: grad_key has shape (2, 4, 8, 16), expected (2, 2, 8, 16)
func.func @sdpa_bw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x4x8x16xbf16>, %2: tensor<2x4x8x16xbf16>, %3: tensor<2x2x8x16xbf16>, %4: tensor<2x2x8x16xbf16>, %5: tensor<2x4x8x32xbf16>, %6: tensor<1x1x8x8xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>) {
  %7:3 = "ttir.sdpa_bw"(%0, %1, %2, %3, %4, %5, %6) <{dropout_probability = 0.000000e+00 : f32}> : (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x4x8x32xbf16>, tensor<1x1x8x8xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>)
  func.return %7#0, %7#1, %7#2 : tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>
}

// -----

// expected-error: intermediates has shape (2, 4, 8, 31), expected (2, 4, 8, 32)
func.func @sdpa_bw(%0: tensor<2x4x8x16xbf16>, %1: tensor<2x4x8x16xbf16>, %2: tensor<2x4x8x16xbf16>, %3: tensor<2x2x8x16xbf16>, %4: tensor<2x2x8x16xbf16>, %5: tensor<2x4x8x31xbf16>, %6: tensor<1x1x8x8xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) {
  %7:3 = "ttir.sdpa_bw"(%0, %1, %2, %3, %4, %5, %6) <{dropout_probability = 0.000000e+00 : f32}> : (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x4x8x31xbf16>, tensor<1x1x8x8xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>)
  func.return %7#0, %7#1, %7#2 : tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>
}

// -----

// expected-error: has shape (2, 8, 65), expected (2, 8, 64)
func.func @concatenate_heads(%0: tensor<2x4x8x16xbf16>) -> tensor<2x8x65xbf16> {
  %1 = "ttir.concatenate_heads"(%0) : (tensor<2x4x8x16xbf16>) -> tensor<2x8x65xbf16>
  func.return %1 : tensor<2x8x65xbf16>
}

// -----

// expected-error: input has shape (2, 4, 8), expected rank 4
func.func @concatenate_heads(%0: tensor<2x4x8xbf16>) -> tensor<2x8x64xbf16> {
  %1 = "ttir.concatenate_heads"(%0) : (tensor<2x4x8xbf16>) -> tensor<2x8x64xbf16>
  func.return %1 : tensor<2x8x64xbf16>
}

// -----

// expected-error: key has shape (2, 1, 8, 16), expected (2, 1, 16, 8)
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x96xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x1x8x16xbf16>, tensor<2x1x8x16xbf16>) {
  %1:3 = "ttir.split_query_key_value_and_split_heads"(%0) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, transpose_key = true}> : (tensor<2x8x96xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x1x8x16xbf16>, tensor<2x1x8x16xbf16>)
  func.return %1#0, %1#1, %1#2 : tensor<2x4x8x16xbf16>, tensor<2x1x8x16xbf16>, tensor<2x1x8x16xbf16>
}

// -----

// expected-error: 96 columns do not split into 15 heads
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x96xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x1x16x8xbf16>, tensor<2x1x8x16xbf16>) {
  %1:3 = "ttir.split_query_key_value_and_split_heads"(%0) <{num_heads = 5 : ui32, transpose_key = true}> : (tensor<2x8x96xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x1x16x8xbf16>, tensor<2x1x8x16xbf16>)
  func.return %1#0, %1#1, %1#2 : tensor<2x4x8x16xbf16>, tensor<2x1x16x8xbf16>, tensor<2x1x8x16xbf16>
}

// -----

// expected-error: kv_input_tensor has 100 columns, expected 8 heads of the same width as the query's 4 heads in 64 columns
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x64xbf16>, %1: tensor<2x12x100xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x12x16xbf16>, tensor<2x4x12x16xbf16>) {
  %2:3 = "ttir.split_query_key_value_and_split_heads"(%0, %1) <{num_heads = 4 : ui32, transpose_key = false}> : (tensor<2x8x64xbf16>, tensor<2x12x100xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x12x16xbf16>, tensor<2x4x12x16xbf16>)
  func.return %2#0, %2#1, %2#2 : tensor<2x4x8x16xbf16>, tensor<2x4x12x16xbf16>, tensor<2x4x12x16xbf16>
}

// -----

// expected-error: input has head size 8, the cache has 16
func.func @update_cache(%0: tensor<2x4x32x16xbf16>, %1: tensor<1x4x2x8xbf16>, %2: tensor<1xsi32>) {
  "ttir.update_cache"(%0, %1, %2) <{batch_offset = 0 : i32}> : (tensor<2x4x32x16xbf16>, tensor<1x4x2x8xbf16>, tensor<1xsi32>) -> ()
  func.return
}

// -----

// expected-error: input has 3 heads, the cache has 4
func.func @update_cache(%0: tensor<2x4x32x16xbf16>, %1: tensor<1x3x2x16xbf16>, %2: tensor<1xsi32>) {
  "ttir.update_cache"(%0, %1, %2) <{batch_offset = 0 : i32}> : (tensor<2x4x32x16xbf16>, tensor<1x3x2x16xbf16>, tensor<1xsi32>) -> ()
  func.return
}

// -----

// expected-error: input has 33 positions, the cache has 32
func.func @fill_cache(%0: tensor<2x4x32x16xbf16>, %1: tensor<1x4x33x16xbf16>) {
  "ttir.fill_cache"(%0, %1) <{batch_offset = 1 : i32}> : (tensor<2x4x32x16xbf16>, tensor<1x4x33x16xbf16>) -> ()
  func.return
}

// -----

// expected-error: input has head size 8, the cache has 16
func.func @paged_update_cache(%0: tensor<8x4x32x16xbf16>, %1: tensor<1x2x4x8xbf16>, %2: tensor<2xsi32>, %3: tensor<2x4xsi32>) {
  "ttir.paged_update_cache"(%0, %1, %2, %3) <{share_cache = false}> : (tensor<8x4x32x16xbf16>, tensor<1x2x4x8xbf16>, tensor<2xsi32>, tensor<2x4xsi32>) -> ()
  func.return
}

// -----

// expected-error: input has 3 heads, the cache has 4
func.func @paged_fill_cache(%0: tensor<8x4x32x16xbf16>, %1: tensor<1x3x64x16xbf16>, %2: tensor<2x4xsi32>) {
  "ttir.paged_fill_cache"(%0, %1, %2) : (tensor<8x4x32x16xbf16>, tensor<1x3x64x16xbf16>, tensor<2x4xsi32>) -> ()
  func.return
}
