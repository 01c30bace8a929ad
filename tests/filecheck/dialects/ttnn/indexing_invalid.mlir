// RUN: invalid

// expected-error: has shape (10, 9), expected (10, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @embedding_bw(%0: tensor<2x3xui32, #ttnn_layout>, %1: tensor<10x8xbf16, #ttnn_layout1>, %2: tensor<2x3x8xbf16, #ttnn_layout2>) -> tensor<10x9xbf16, #ttnn_layout1> {
  %3 = "ttnn.embedding_bw"(%0, %1, %2) : (tensor<2x3xui32, #ttnn_layout>, tensor<10x8xbf16, #ttnn_layout1>, tensor<2x3x8xbf16, #ttnn_layout2>) -> tensor<10x9xbf16, #ttnn_layout1>
  func.return %3 : tensor<10x9xbf16, #ttnn_layout1>
}

// -----

// expected-error: in_gradient has shape (2, 3, 7), weight has (10, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @embedding_bw(%0: tensor<2x3xui32, #ttnn_layout>, %1: tensor<10x8xbf16, #ttnn_layout1>, %2: tensor<2x3x7xbf16, #ttnn_layout2>) -> tensor<10x8xbf16, #ttnn_layout1> {
  %3 = "ttnn.embedding_bw"(%0, %1, %2) : (tensor<2x3xui32, #ttnn_layout>, tensor<10x8xbf16, #ttnn_layout1>, tensor<2x3x7xbf16, #ttnn_layout2>) -> tensor<10x8xbf16, #ttnn_layout1>
  func.return %3 : tensor<10x8xbf16, #ttnn_layout1>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @scatter(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<2x8xsi32, #ttnn_layout1>, %2: tensor<2x8xbf16, #ttnn_layout>) -> tensor<4x9xbf16, #ttnn_layout> {
  %3 = "ttnn.scatter"(%0, %1, %2) <{dim = 0 : si32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<2x8xsi32, #ttnn_layout1>, tensor<2x8xbf16, #ttnn_layout>) -> tensor<4x9xbf16, #ttnn_layout>
  func.return %3 : tensor<4x9xbf16, #ttnn_layout>
}

// -----

// expected-error: does not lie in an operand of shape (4, 8) along 0
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @scatter(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<2x9xsi32, #ttnn_layout1>, %2: tensor<2x9xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout> {
  %3 = "ttnn.scatter"(%0, %1, %2) <{dim = 0 : si32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<2x9xsi32, #ttnn_layout1>, tensor<2x9xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout>
  func.return %3 : tensor<4x8xbf16, #ttnn_layout>
}

// -----

// expected-error: source has shape (1, 8), expected (2, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @scatter(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<2x8xsi32, #ttnn_layout1>, %2: tensor<1x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout> {
  %3 = "ttnn.scatter"(%0, %1, %2) <{dim = 0 : si32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<2x8xsi32, #ttnn_layout1>, tensor<1x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout>
  func.return %3 : tensor<4x8xbf16, #ttnn_layout>
}

// -----

// expected-error: expected one of sum, mean, max
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @scatter(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<2x8xsi32, #ttnn_layout1>, %2: tensor<2x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout> {
  %3 = "ttnn.scatter"(%0, %1, %2) <{dim = 0 : si32, scatter_reduce_type = #ttcore.reduce_type<norm>}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<2x8xsi32, #ttnn_layout1>, tensor<2x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout>
  func.return %3 : tensor<4x8xbf16, #ttnn_layout>
}

// -----

// expected-error: differ in length
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 512 + d1, d2), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rows_gather(%0: tensor<1x512x64xbf16, #ttnn_layout>, %1: tensor<1x1x64xsi32, #ttnn_layout1>) -> tensor<1x64x64xbf16, #ttnn_layout2> {
  %2 = "ttnn.rows_gather"(%0, %1) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1, 1>}> : (tensor<1x512x64xbf16, #ttnn_layout>, tensor<1x1x64xsi32, #ttnn_layout1>) -> tensor<1x64x64xbf16, #ttnn_layout2>
  func.return %2 : tensor<1x64x64xbf16, #ttnn_layout2>
}

// -----

// expected-error: input has shape (512, 64), expected rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rows_gather(%0: tensor<512x64xbf16, #ttnn_layout>, %1: tensor<1x1x64xsi32, #ttnn_layout1>) -> tensor<1x64x64xbf16, #ttnn_layout2> {
  %2 = "ttnn.rows_gather"(%0, %1) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1>}> : (tensor<512x64xbf16, #ttnn_layout>, tensor<1x1x64xsi32, #ttnn_layout1>) -> tensor<1x64x64xbf16, #ttnn_layout2>
  func.return %2 : tensor<1x64x64xbf16, #ttnn_layout2>
}

// -----

// expected-error: has shape (4, 64, 33), expected (4, 64, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rows_scatter(%0: tensor<4x64x32xbf16, #ttnn_layout>, %1: tensor<1x1x1xsi32, #ttnn_layout1>, %2: tensor<4x1x32xbf16, #ttnn_layout2>) -> tensor<4x64x33xbf16, #ttnn_layout3> {
  %3 = "ttnn.rows_scatter"(%0, %1, %2) <{column = false, reduce = #ttcore.reduce_type<invalid>, sizes = array<i64: 64>, windows = array<i64: 1>}> : (tensor<4x64x32xbf16, #ttnn_layout>, tensor<1x1x1xsi32, #ttnn_layout1>, tensor<4x1x32xbf16, #ttnn_layout2>) -> tensor<4x64x33xbf16, #ttnn_layout3>
  func.return %3 : tensor<4x64x33xbf16, #ttnn_layout3>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
func.func @sort(%0: tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x8xbf16, #ttnn_layout>, tensor<4x8xui16, #ttnn_layout1>) {
  %1:2 = "ttnn.sort"(%0) <{dim = 2 : si8}> : (tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x8xbf16, #ttnn_layout>, tensor<4x8xui16, #ttnn_layout1>)
  func.return %1#0, %1#1 : tensor<4x8xbf16, #ttnn_layout>, tensor<4x8xui16, #ttnn_layout1>
}

// -----

// expected-error: indices has shape (4, 7), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
func.func @sort(%0: tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x8xbf16, #ttnn_layout>, tensor<4x7xui16, #ttnn_layout1>) {
  %1:2 = "ttnn.sort"(%0) <{dim = 1 : si8, descending = true, stable = false}> : (tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x8xbf16, #ttnn_layout>, tensor<4x7xui16, #ttnn_layout1>)
  func.return %1#0, %1#1 : tensor<4x8xbf16, #ttnn_layout>, tensor<4x7xui16, #ttnn_layout1>
}

// -----

// expected-error: k = 9 is not within 1 to 8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
func.func @topk(%0: tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x3xbf16, #ttnn_layout>, tensor<4x3xui16, #ttnn_layout1>) {
  %1:2 = "ttnn.topk"(%0) <{k = 9 : i32}> : (tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x3xbf16, #ttnn_layout>, tensor<4x3xui16, #ttnn_layout1>)
  func.return %1#0, %1#1 : tensor<4x3xbf16, #ttnn_layout>, tensor<4x3xui16, #ttnn_layout1>
}

// -----

// expected-error: indices has shape (4, 8), expected (4, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
func.func @topk(%0: tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x3xbf16, #ttnn_layout>, tensor<4x8xui16, #ttnn_layout1>) {
  %1:2 = "ttnn.topk"(%0) <{k = 3 : i32, dim = -1 : si32, largest = true, sorted = true}> : (tensor<4x8xbf16, #ttnn_layout>) -> (tensor<4x3xbf16, #ttnn_layout>, tensor<4x8xui16, #ttnn_layout1>)
  func.return %1#0, %1#1 : tensor<4x3xbf16, #ttnn_layout>, tensor<4x8xui16, #ttnn_layout1>
}

// -----

// expected-error: expert_indices has shape (32, 4), expected (32, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @topk_router_gpt(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x128xbf16, #ttnn_layout1>, %2: tensor<32x128xbf16, #ttnn_layout2>) -> (tensor<32x4xui16, #ttnn_layout3>, tensor<32x8xbf16, #ttnn_layout4>) {
  %3:2 = "ttnn.topk_router_gpt"(%0, %1, %2) <{k = 4 : i32, num_experts = 128 : i32}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x128xbf16, #ttnn_layout1>, tensor<32x128xbf16, #ttnn_layout2>) -> (tensor<32x4xui16, #ttnn_layout3>, tensor<32x8xbf16, #ttnn_layout4>)
  func.return %3#0, %3#1 : tensor<32x4xui16, #ttnn_layout3>, tensor<32x8xbf16, #ttnn_layout4>
}

// -----

// expected-error: weight has shape (64, 128), expected (64, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @topk_router_gpt(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x128xbf16, #ttnn_layout1>, %2: tensor<32x128xbf16, #ttnn_layout2>) -> (tensor<32x8xui16, #ttnn_layout3>, tensor<32x8xbf16, #ttnn_layout4>) {
  %3:2 = "ttnn.topk_router_gpt"(%0, %1, %2) <{k = 4 : i32, num_experts = 64 : i32}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x128xbf16, #ttnn_layout1>, tensor<32x128xbf16, #ttnn_layout2>) -> (tensor<32x8xui16, #ttnn_layout3>, tensor<32x8xbf16, #ttnn_layout4>)
  func.return %3#0, %3#1 : tensor<32x8xui16, #ttnn_layout3>, tensor<32x8xbf16, #ttnn_layout4>
}

// -----

// expected-error: has shape (33,), expected (32,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @sampling(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<32x64xsi32, #ttnn_layout1>, %2: tensor<32xui32, #ttnn_layout2>, %3: tensor<32xbf16, #ttnn_layout3>, %4: tensor<32xbf16, #ttnn_layout3>) -> tensor<33xsi32, #ttnn_layout4> {
  %5 = "ttnn.sampling"(%0, %1, %2, %3, %4) <{seed = 7 : ui32}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<32x64xsi32, #ttnn_layout1>, tensor<32xui32, #ttnn_layout2>, tensor<32xbf16, #ttnn_layout3>, tensor<32xbf16, #ttnn_layout3>) -> tensor<33xsi32, #ttnn_layout4>
  func.return %5 : tensor<33xsi32, #ttnn_layout4>
}

// -----

// expected-error: p has shape (31,), expected (32,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @sampling(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<32x64xsi32, #ttnn_layout1>, %2: tensor<32xui32, #ttnn_layout2>, %3: tensor<31xbf16, #ttnn_layout3>, %4: tensor<32xbf16, #ttnn_layout3>) -> tensor<32xsi32, #ttnn_layout4> {
  %5 = "ttnn.sampling"(%0, %1, %2, %3, %4) <{seed = 7 : ui32}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<32x64xsi32, #ttnn_layout1>, tensor<32xui32, #ttnn_layout2>, tensor<31xbf16, #ttnn_layout3>, tensor<32xbf16, #ttnn_layout3>) -> tensor<32xsi32, #ttnn_layout4>
  func.return %5 : tensor<32xsi32, #ttnn_layout4>
}
