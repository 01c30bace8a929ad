// RUN: invalid

// expected-error: has shape (2, 4, 8, 17), expected (2, 4, 8, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x17xbf16, #ttnn_layout> {
  %3 = "ttnn.scaled_dot_product_attention"(%0, %1, %2) <{is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x17xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x8x17xbf16, #ttnn_layout>
}

// -----

// expected-error: is_causal excludes an attention_mask
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x8x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x1x8x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: query has 4 heads, expected a multiple of the key's 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x3x32x16xbf16, #ttnn_layout1>, %2: tensor<2x3x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x8x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x3x32x16xbf16, #ttnn_layout1>, tensor<2x3x32x16xbf16, #ttnn_layout1>, tensor<2x1x8x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: differ before the last dimension
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x31x16xbf16, #ttnn_layout1>, %3: tensor<2x1x8x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x31x16xbf16, #ttnn_layout1>, tensor<2x1x8x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: query has head size 16, key has 8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x8xbf16, #ttnn_layout1>, %2: tensor<2x2x32x8xbf16, #ttnn_layout1>, %3: tensor<2x1x8x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x8xbf16, #ttnn_layout1>, tensor<2x2x32x8xbf16, #ttnn_layout1>, tensor<2x1x8x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: query has batch 2, key has 1
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<1x2x32x16xbf16, #ttnn_layout1>, %2: tensor<1x2x32x16xbf16, #ttnn_layout1>, %3: tensor<1x1x8x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<1x2x32x16xbf16, #ttnn_layout1>, tensor<1x2x32x16xbf16, #ttnn_layout1>, tensor<1x1x8x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x9x32xbf16, #ttnn_layout2>, %4: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %5 = "ttnn.scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{is_causal = false, scale = 2.500000e-01 : f32, sliding_window_size = 8 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x1x9x32xbf16, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %5 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 2, 4, 17), expected (1, 2, 4, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x4x32xbf16, #ttnn_layout2>, %4: tensor<2xsi32, #ttnn_layout3>, %5: tensor<4x1xbf16, #ttnn_layout4>) -> tensor<1x2x4x17xbf16, #ttnn_layout> {
  %6 = "ttnn.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<1x2x4x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x1x4x32xbf16, #ttnn_layout2>, tensor<2xsi32, #ttnn_layout3>, tensor<4x1xbf16, #ttnn_layout4>) -> tensor<1x2x4x17xbf16, #ttnn_layout>
  func.return %6 : tensor<1x2x4x17xbf16, #ttnn_layout>
}

// -----

// expected-error: cur_pos_tensor has shape (3,), expected (2,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout1>, %2: tensor<2x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x1x4x32xbf16, #ttnn_layout2>, %4: tensor<3xsi32, #ttnn_layout3>, %5: tensor<4x1xbf16, #ttnn_layout4>) -> tensor<1x2x4x16xbf16, #ttnn_layout> {
  %6 = "ttnn.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<1x2x4x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x2x32x16xbf16, #ttnn_layout1>, tensor<2x1x4x32xbf16, #ttnn_layout2>, tensor<3xsi32, #ttnn_layout3>, tensor<4x1xbf16, #ttnn_layout4>) -> tensor<1x2x4x16xbf16, #ttnn_layout>
  func.return %6 : tensor<1x2x4x16xbf16, #ttnn_layout>
}

// -----

// expected-error: expected (1, batch, heads, head size)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @scaled_dot_product_attention_decode(%0: tensor<2x2x4x16xbf16, #ttnn_layout>, %1: tensor<2x2x32x16xbf16, #ttnn_layout>, %2: tensor<2x2x32x16xbf16, #ttnn_layout>, %3: tensor<2x1x4x32xbf16, #ttnn_layout1>, %4: tensor<2xsi32, #ttnn_layout2>, %5: tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x2x4x16xbf16, #ttnn_layout> {
  %6 = "ttnn.scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (tensor<2x2x4x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout>, tensor<2x2x32x16xbf16, #ttnn_layout>, tensor<2x1x4x32xbf16, #ttnn_layout1>, tensor<2xsi32, #ttnn_layout2>, tensor<4x1xbf16, #ttnn_layout3>) -> tensor<2x2x4x16xbf16, #ttnn_layout>
  func.return %6 : tensor<2x2x4x16xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 2, 4, 17), expected (1, 2, 4, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @paged_scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout>, %1: tensor<8x2x32x16xbf16, #ttnn_layout1>, %2: tensor<8x2x32x16xbf16, #ttnn_layout1>, %3: tensor<2x4xsi32, #ttnn_layout2>, %4: tensor<2x1x4x32xbf16, #ttnn_layout3>, %5: tensor<2xsi32, #ttnn_layout4>) -> tensor<1x2x4x17xbf16, #ttnn_layout> {
  %6 = "ttnn.paged_scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x4x16xbf16, #ttnn_layout>, tensor<8x2x32x16xbf16, #ttnn_layout1>, tensor<8x2x32x16xbf16, #ttnn_layout1>, tensor<2x4xsi32, #ttnn_layout2>, tensor<2x1x4x32xbf16, #ttnn_layout3>, tensor<2xsi32, #ttnn_layout4>) -> tensor<1x2x4x17xbf16, #ttnn_layout>
  func.return %6 : tensor<1x2x4x17xbf16, #ttnn_layout>
}

// -----

// expected-error: page_table has shape (3, 4), expected 2 rows, one for each sequence
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @paged_scaled_dot_product_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout>, %1: tensor<8x2x32x16xbf16, #ttnn_layout1>, %2: tensor<8x2x32x16xbf16, #ttnn_layout1>, %3: tensor<3x4xsi32, #ttnn_layout2>, %4: tensor<2x1x4x32xbf16, #ttnn_layout3>, %5: tensor<2xsi32, #ttnn_layout4>) -> tensor<1x2x4x16xbf16, #ttnn_layout> {
  %6 = "ttnn.paged_scaled_dot_product_attention_decode"(%0, %1, %2, %3, %4, %5) <{is_causal = false, scale = 1.000000e+00 : f32, sliding_window_size = 4 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0>}> : (tensor<1x2x4x16xbf16, #ttnn_layout>, tensor<8x2x32x16xbf16, #ttnn_layout1>, tensor<8x2x32x16xbf16, #ttnn_layout1>, tensor<3x4xsi32, #ttnn_layout2>, tensor<2x1x4x32xbf16, #ttnn_layout3>, tensor<2xsi32, #ttnn_layout4>) -> tensor<1x2x4x16xbf16, #ttnn_layout>
  func.return %6 : tensor<1x2x4x16xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 4, 8, 17), expected (1, 4, 8, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @chunked_scaled_dot_product_attention(%0: tensor<1x4x8x16xbf16, #ttnn_layout>, %1: tensor<8x2x32x16xbf16, #ttnn_layout1>, %2: tensor<8x2x32x16xbf16, #ttnn_layout1>, %3: tensor<1x4xsi32, #ttnn_layout2>, %4: tensor<1xsi32, #ttnn_layout3>) -> tensor<1x4x8x17xbf16, #ttnn_layout> {
  %5 = "ttnn.chunked_scaled_dot_product_attention"(%0, %1, %2, %3, %4) <{scale = 1.000000e+00 : f32}> : (tensor<1x4x8x16xbf16, #ttnn_layout>, tensor<8x2x32x16xbf16, #ttnn_layout1>, tensor<8x2x32x16xbf16, #ttnn_layout1>, tensor<1x4xsi32, #ttnn_layout2>, tensor<1xsi32, #ttnn_layout3>) -> tensor<1x4x8x17xbf16, #ttnn_layout>
  func.return %5 : tensor<1x4x8x17xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 2, 4, 9), expected (1, 2, 4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @paged_flash_multi_latent_attention_decode(%0: tensor<1x2x4x16xbf16, #ttnn_layout>, %1: tensor<8x1x32x16xbf16, #ttnn_layout1>, %2: tensor<2x4xsi32, #ttnn_layout2>) -> tensor<1x2x4x9xbf16, #ttnn_layout> {
  %3 = "ttnn.paged_flash_multi_latent_attention_decode"(%0, %1, %2) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> : (tensor<1x2x4x16xbf16, #ttnn_layout>, tensor<8x1x32x16xbf16, #ttnn_layout1>, tensor<2x4xsi32, #ttnn_layout2>) -> tensor<1x2x4x9xbf16, #ttnn_layout>
  func.return %3 : tensor<1x2x4x9xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4, 8, 9), expected (2, 4, 8, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @flash_mla_prefill(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x1x32x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x9xbf16, #ttnn_layout> {
  %2 = "ttnn.flash_mla_prefill"(%0, %1) <{head_dim_v = 8 : ui32, is_causal = true, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x1x32x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x9xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x8x9xbf16, #ttnn_layout>
}

// -----

// expected-error: intermediates has shape (2, 4, 8, 31), expected (2, 4, 8, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x8x16xbf16, #ttnn_layout1>, %2: tensor<2x2x8x16xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x31xbf16, #ttnn_layout>) {
  %3:2 = "ttnn.sdpa_fw"(%0, %1, %2) <{return_intermediates = true}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x31xbf16, #ttnn_layout>)
  func.return %3#0, %3#1 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x31xbf16, #ttnn_layout>
}

// -----

// expected-error: return_intermediates is True, but intermediates are absent
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x8x16xbf16, #ttnn_layout1>, %2: tensor<2x2x8x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x16xbf16, #ttnn_layout> {
  %3 = "ttnn.sdpa_fw"(%0, %1, %2) <{return_intermediates = true}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>) -> tensor<2x4x8x16xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x8x16xbf16, #ttnn_layout>
}

// -----

// expected-error: mask_type is arbitrary; an attention_mask needs mask_type arbitrary, and only that needs one
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sdpa_fw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x2x8x16xbf16, #ttnn_layout1>, %2: tensor<2x2x8x16xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x32xbf16, #ttnn_layout>) {
  %3:2 = "ttnn.sdpa_fw"(%0, %1, %2) <{return_intermediates = true, mask_type = #ttcore.attention_mask_type<arbitrary>}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x32xbf16, #ttnn_layout>)
  func.return %3#0, %3#1 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x32xbf16, #ttnn_layout>
}

// -----

// expected-error: grad_key has shape (2, 4, 8, 16), expected (2, 2, 8, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sdpa_bw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x4x8x16xbf16, #ttnn_layout>, %2: tensor<2x4x8x16xbf16, #ttnn_layout>, %3: tensor<2x2x8x16xbf16, #ttnn_layout1>, %4: tensor<2x2x8x16xbf16, #ttnn_layout1>, %5: tensor<2x4x8x32xbf16, #ttnn_layout>, %6: tensor<1x1x8x8xbf16, #ttnn_layout2>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>) {
  %7:3 = "ttnn.sdpa_bw"(%0, %1, %2, %3, %4, %5, %6) <{dropout_probability = 0.000000e+00 : f32}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x4x8x32xbf16, #ttnn_layout>, tensor<1x1x8x8xbf16, #ttnn_layout2>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>)
  func.return %7#0, %7#1, %7#2 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>
}

// -----

// expected-error: intermediates has shape (2, 4, 8, 31), expected (2, 4, 8, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sdpa_bw(%0: tensor<2x4x8x16xbf16, #ttnn_layout>, %1: tensor<2x4x8x16xbf16, #ttnn_layout>, %2: tensor<2x4x8x16xbf16, #ttnn_layout>, %3: tensor<2x2x8x16xbf16, #ttnn_layout1>, %4: tensor<2x2x8x16xbf16, #ttnn_layout1>, %5: tensor<2x4x8x31xbf16, #ttnn_layout>, %6: tensor<1x1x8x8xbf16, #ttnn_layout2>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>) {
  %7:3 = "ttnn.sdpa_bw"(%0, %1, %2, %3, %4, %5, %6) <{dropout_probability = 0.000000e+00 : f32}> : (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x4x8x31xbf16, #ttnn_layout>, tensor<1x1x8x8xbf16, #ttnn_layout2>) -> (tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>)
  func.return %7#0, %7#1, %7#2 : tensor<2x4x8x16xbf16, #ttnn_layout>, tensor<2x2x8x16xbf16, #ttnn_layout1>, tensor<2x2x8x16xbf16, #ttnn_layout1>
}

// -----

// expected-error: has shape (2, 8, 65), expected (2, 8, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concatenate_heads(%0: tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x8x65xbf16, #ttnn_layout1> {
  %1 = "ttnn.concatenate_heads"(%0) : (tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x8x65xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x8x65xbf16, #ttnn_layout1>
}

// -----

// expected-error: input has shape (2, 4, 8), expected rank 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concatenate_heads(%0: tensor<2x4x8xbf16, #ttnn_layout>) -> tensor<2x8x64xbf16, #ttnn_layout1> {
  %1 = "ttnn.concatenate_heads"(%0) : (tensor<2x4x8xbf16, #ttnn_layout>) -> tensor<2x8x64xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x8x64xbf16, #ttnn_layout1>
}

// -----

// expected-error: key has shape (2, 1, 8, 16), expected (2, 1, 16, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x96xbf16, #ttnn_layout>) -> (tensor<2x4x8x16xbf16, #ttnn_layout1>, tensor<2x1x8x16xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>) {
  %1:3 = "ttnn.split_query_key_value_and_split_heads"(%0) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, transpose_key = true}> : (tensor<2x8x96xbf16, #ttnn_layout>) -> (tensor<2x4x8x16xbf16, #ttnn_layout1>, tensor<2x1x8x16xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>)
  func.return %1#0, %1#1, %1#2 : tensor<2x4x8x16xbf16, #ttnn_layout1>, tensor<2x1x8x16xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>
}

// -----

// expected-error: 96 columns do not split into 15 heads
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x96xbf16, #ttnn_layout>) -> (tensor<2x4x8x16xbf16, #ttnn_layout1>, tensor<2x1x16x8xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>) {
  %1:3 = "ttnn.split_query_key_value_and_split_heads"(%0) <{num_heads = 5 : ui32, transpose_key = true}> : (tensor<2x8x96xbf16, #ttnn_layout>) -> (tensor<2x4x8x16xbf16, #ttnn_layout1>, tensor<2x1x16x8xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>)
  func.return %1#0, %1#1, %1#2 : tensor<2x4x8x16xbf16, #ttnn_layout1>, tensor<2x1x16x8xbf16, #ttnn_layout2>, tensor<2x1x8x16xbf16, #ttnn_layout2>
}

// -----

// expected-error: kv_input_tensor has 100 columns, expected 8 heads of the same width as the query's 4 heads in 64 columns
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @split_query_key_value_and_split_heads(%0: tensor<2x8x64xbf16, #ttnn_layout>, %1: tensor<2x12x100xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout2>, tensor<2x4x12x16xbf16, #ttnn_layout2>, tensor<2x4x12x16xbf16, #ttnn_layout2>) {
  %2:3 = "ttnn.split_query_key_value_and_split_heads"(%0, %1) <{num_heads = 4 : ui32, transpose_key = false}> : (tensor<2x8x64xbf16, #ttnn_layout>, tensor<2x12x100xbf16, #ttnn_layout1>) -> (tensor<2x4x8x16xbf16, #ttnn_layout2>, tensor<2x4x12x16xbf16, #ttnn_layout2>, tensor<2x4x12x16xbf16, #ttnn_layout2>)
  func.return %2#0, %2#1, %2#2 : tensor<2x4x8x16xbf16, #ttnn_layout2>, tensor<2x4x12x16xbf16, #ttnn_layout2>, tensor<2x4x12x16xbf16, #ttnn_layout2>
}

// -----

// expected-error: has shape (2, 1, 8, 65), expected (2, 1, 8, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<2x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @nlp_concat_heads(%0: tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x1x8x65xbf16, #ttnn_layout1> {
  %1 = "ttnn.nlp_concat_heads"(%0) : (tensor<2x4x8x16xbf16, #ttnn_layout>) -> tensor<2x1x8x65xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x1x8x65xbf16, #ttnn_layout1>
}

// -----

// expected-error: has shape (1, 1, 2, 65), expected (1, 1, 2, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @nlp_concat_heads_decode(%0: tensor<1x2x32x16xbf16, #ttnn_layout>) -> tensor<1x1x2x65xbf16, #ttnn_layout1> {
  %1 = "ttnn.nlp_concat_heads_decode"(%0) <{num_heads = 4 : ui32}> : (tensor<1x2x32x16xbf16, #ttnn_layout>) -> tensor<1x1x2x65xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x2x65xbf16, #ttnn_layout1>
}

// -----

// expected-error: num_heads is 33, expected at most the input's 32
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @nlp_concat_heads_decode(%0: tensor<1x2x32x16xbf16, #ttnn_layout>) -> tensor<1x1x2x64xbf16, #ttnn_layout1> {
  %1 = "ttnn.nlp_concat_heads_decode"(%0) <{num_heads = 33 : ui32}> : (tensor<1x2x32x16xbf16, #ttnn_layout>) -> tensor<1x1x2x64xbf16, #ttnn_layout1>
  func.return %1 : tensor<1x1x2x64xbf16, #ttnn_layout1>
}

// -----

// expected-error: key has shape (1, 32, 4, 16), expected (1, 32, 1, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x3x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @nlp_create_qkv_heads_decode(%0: tensor<1x1x32x96xbf16, #ttnn_layout>) -> (tensor<1x32x4x16xbf16, #ttnn_layout1>, tensor<1x32x4x16xbf16, #ttnn_layout1>, tensor<1x32x1x16xbf16, #ttnn_layout1>) {
  %1:3 = "ttnn.nlp_create_qkv_heads_decode"(%0) <{num_heads = 4 : ui32, num_kv_heads = 1 : ui32, overlap_qk_coregrid = false}> : (tensor<1x1x32x96xbf16, #ttnn_layout>) -> (tensor<1x32x4x16xbf16, #ttnn_layout1>, tensor<1x32x4x16xbf16, #ttnn_layout1>, tensor<1x32x1x16xbf16, #ttnn_layout1>)
  func.return %1#0, %1#1, %1#2 : tensor<1x32x4x16xbf16, #ttnn_layout1>, tensor<1x32x4x16xbf16, #ttnn_layout1>, tensor<1x32x1x16xbf16, #ttnn_layout1>
}

// -----

// expected-error: key has shape (1, 1, 32, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @indexer_score_dsa(%0: tensor<1x4x8x16xbf16, #ttnn_layout>, %1: tensor<1x1x32x8xbf16, #ttnn_layout1>, %2: tensor<1x4x8x1xbf16, #ttnn_layout>) -> tensor<1x8x32xbf16, #ttnn_layout2> {
  %3 = "ttnn.indexer_score_dsa"(%0, %1, %2) <{chunk_start_idx = 24 : ui32}> : (tensor<1x4x8x16xbf16, #ttnn_layout>, tensor<1x1x32x8xbf16, #ttnn_layout1>, tensor<1x4x8x1xbf16, #ttnn_layout>) -> tensor<1x8x32xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x8x32xbf16, #ttnn_layout2>
}

// -----

// expected-error: result has shape (1, 8, 31)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @indexer_score_dsa(%0: tensor<1x4x8x16xbf16, #ttnn_layout>, %1: tensor<1x1x32x16xbf16, #ttnn_layout1>, %2: tensor<1x4x8x1xbf16, #ttnn_layout>) -> tensor<1x8x31xbf16, #ttnn_layout2> {
  %3 = "ttnn.indexer_score_dsa"(%0, %1, %2) <{chunk_start_idx = 24 : ui32}> : (tensor<1x4x8x16xbf16, #ttnn_layout>, tensor<1x1x32x16xbf16, #ttnn_layout1>, tensor<1x4x8x1xbf16, #ttnn_layout>) -> tensor<1x8x31xbf16, #ttnn_layout2>
  func.return %3 : tensor<1x8x31xbf16, #ttnn_layout2>
}

// -----

// expected-error: has shape (1, 4, 32, 17), expected (1, 4, 32, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rotary_embedding(%0: tensor<1x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x1x32x16xbf16, #ttnn_layout1>, %2: tensor<1x1x32x16xbf16, #ttnn_layout1>) -> tensor<1x4x32x17xbf16, #ttnn_layout> {
  %3 = "ttnn.rotary_embedding"(%0, %1, %2) <{token_index = 3 : ui32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4>}> : (tensor<1x4x32x16xbf16, #ttnn_layout>, tensor<1x1x32x16xbf16, #ttnn_layout1>, tensor<1x1x32x16xbf16, #ttnn_layout1>) -> tensor<1x4x32x17xbf16, #ttnn_layout>
  func.return %3 : tensor<1x4x32x17xbf16, #ttnn_layout>
}

// -----

// expected-error: does not fit the last dimension of
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rotary_embedding(%0: tensor<1x4x1x16xbf16, #ttnn_layout>, %1: tensor<1x1x32x8xbf16, #ttnn_layout1>, %2: tensor<1x1x32x8xbf16, #ttnn_layout1>) -> tensor<1x4x32x16xbf16, #ttnn_layout> {
  %3 = "ttnn.rotary_embedding"(%0, %1, %2) : (tensor<1x4x1x16xbf16, #ttnn_layout>, tensor<1x1x32x8xbf16, #ttnn_layout1>, tensor<1x1x32x8xbf16, #ttnn_layout1>) -> tensor<1x4x32x16xbf16, #ttnn_layout>
  func.return %3 : tensor<1x4x32x16xbf16, #ttnn_layout>
}

// -----

// expected-error: cos_cache has shape (1, 1, 32, 16), sin_cache has (1, 1, 1, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rotary_embedding(%0: tensor<1x4x1x16xbf16, #ttnn_layout>, %1: tensor<1x1x32x16xbf16, #ttnn_layout1>, %2: tensor<1x1x1x16xbf16, #ttnn_layout1>) -> tensor<1x4x32x16xbf16, #ttnn_layout> {
  %3 = "ttnn.rotary_embedding"(%0, %1, %2) : (tensor<1x4x1x16xbf16, #ttnn_layout>, tensor<1x1x32x16xbf16, #ttnn_layout1>, tensor<1x1x1x16xbf16, #ttnn_layout1>) -> tensor<1x4x32x16xbf16, #ttnn_layout>
  func.return %3 : tensor<1x4x32x16xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (1, 4, 32, 33), expected (1, 4, 32, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rotary_embedding_llama(%0: tensor<1x4x32x32xbf16, #ttnn_layout>, %1: tensor<1x1x32x32xbf16, #ttnn_layout1>, %2: tensor<1x1x32x32xbf16, #ttnn_layout1>, %3: tensor<1x1x32x32xbf16, #ttnn_layout1>) -> tensor<1x4x32x33xbf16, #ttnn_layout2> {
  %4 = "ttnn.rotary_embedding_llama"(%0, %1, %2, %3) <{is_decode_mode = false}> : (tensor<1x4x32x32xbf16, #ttnn_layout>, tensor<1x1x32x32xbf16, #ttnn_layout1>, tensor<1x1x32x32xbf16, #ttnn_layout1>, tensor<1x1x32x32xbf16, #ttnn_layout1>) -> tensor<1x4x32x33xbf16, #ttnn_layout2>
  func.return %4 : tensor<1x4x32x33xbf16, #ttnn_layout2>
}

// -----

// expected-error: input has head size 8, the cache has 16
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @update_cache(%0: tensor<2x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x4x2x8xbf16, #ttnn_layout1>, %2: tensor<1xsi32, #ttnn_layout2>) {
  "ttnn.update_cache"(%0, %1, %2) <{batch_offset = 0 : i32}> : (tensor<2x4x32x16xbf16, #ttnn_layout>, tensor<1x4x2x8xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout2>) -> ()
  func.return
}

// -----

// expected-error: input has 3 heads, the cache has 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @update_cache(%0: tensor<2x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x3x2x16xbf16, #ttnn_layout1>, %2: tensor<1xsi32, #ttnn_layout2>) {
  "ttnn.update_cache"(%0, %1, %2) <{batch_offset = 0 : i32}> : (tensor<2x4x32x16xbf16, #ttnn_layout>, tensor<1x3x2x16xbf16, #ttnn_layout1>, tensor<1xsi32, #ttnn_layout2>) -> ()
  func.return
}

// -----

// expected-error: input has 33 positions, the cache has 32
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @fill_cache(%0: tensor<2x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x4x33x16xbf16, #ttnn_layout1>) {
  "ttnn.fill_cache"(%0, %1) <{batch_offset = 1 : i32}> : (tensor<2x4x32x16xbf16, #ttnn_layout>, tensor<1x4x33x16xbf16, #ttnn_layout1>) -> ()
  func.return
}

// -----

// expected-error: input has head size 8, the cache has 16
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @paged_update_cache(%0: tensor<8x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x2x4x8xbf16, #ttnn_layout1>, %2: tensor<2xsi32, #ttnn_layout2>, %3: tensor<2x4xsi32, #ttnn_layout3>) {
  "ttnn.paged_update_cache"(%0, %1, %2, %3) <{share_cache = false}> : (tensor<8x4x32x16xbf16, #ttnn_layout>, tensor<1x2x4x8xbf16, #ttnn_layout1>, tensor<2xsi32, #ttnn_layout2>, tensor<2x4xsi32, #ttnn_layout3>) -> ()
  func.return
}

// -----

// expected-error: input has 3 heads, the cache has 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<32x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), <1x1>, memref<6x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @paged_fill_cache(%0: tensor<8x4x32x16xbf16, #ttnn_layout>, %1: tensor<1x3x64x16xbf16, #ttnn_layout1>, %2: tensor<2x4xsi32, #ttnn_layout2>) {
  "ttnn.paged_fill_cache"(%0, %1, %2) : (tensor<8x4x32x16xbf16, #ttnn_layout>, tensor<1x3x64x16xbf16, #ttnn_layout1>, tensor<2x4xsi32, #ttnn_layout2>) -> ()
  func.return
}
