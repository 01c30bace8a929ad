// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 512 + d1, d2), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout10 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout11 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout12 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout13 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout14 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ttnn_layout15 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#ttnn_layout16 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout17 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @embedding_bw(
// CHECK: "ttnn.embedding_bw"({{.*}}) :
func.func @embedding_bw(%0: tensor<2x3xui32, #ttnn_layout>, %1: tensor<10x8xbf16, #ttnn_layout1>, %2: tensor<2x3x8xbf16, #ttnn_layout2>) -> tensor<10x8xbf16, #ttnn_layout1> {
  %3 = "ttnn.embedding_bw"(%0, %1, %2) : (tensor<2x3xui32, #ttnn_layout>, tensor<10x8xbf16, #ttnn_layout1>, tensor<2x3x8xbf16, #ttnn_layout2>) -> tensor<10x8xbf16, #ttnn_layout1>
  func.return %3 : tensor<10x8xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @scatter(
// CHECK: "ttnn.scatter"({{.*}}) <{dim = 0 : si32, scatter_reduce_type = #ttcore.reduce_type<sum>}> :
func.func @scatter(%0: tensor<4x8xbf16, #ttnn_layout1>, %1: tensor<2x8xsi32, #ttnn_layout3>, %2: tensor<2x8xbf16, #ttnn_layout1>) -> tensor<4x8xbf16, #ttnn_layout1> {
  %3 = "ttnn.scatter"(%0, %1, %2) <{dim = 0 : si32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16, #ttnn_layout1>, tensor<2x8xsi32, #ttnn_layout3>, tensor<2x8xbf16, #ttnn_layout1>) -> tensor<4x8xbf16, #ttnn_layout1>
  func.return %3 : tensor<4x8xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @rows_gather(
// CHECK: "ttnn.rows_gather"({{.*}}) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1>}> :
func.func @rows_gather(%0: tensor<1x512x64xbf16, #ttnn_layout4>, %1: tensor<1x1x64xsi32, #ttnn_layout5>) -> tensor<1x64x64xbf16, #ttnn_layout6> {
  %2 = "ttnn.rows_gather"(%0, %1) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1>}> : (tensor<1x512x64xbf16, #ttnn_layout4>, tensor<1x1x64xsi32, #ttnn_layout5>) -> tensor<1x64x64xbf16, #ttnn_layout6>
  func.return %2 : tensor<1x64x64xbf16, #ttnn_layout6>
}

// CHECK-LABEL: func.func @rows_scatter(
// CHECK: "ttnn.rows_scatter"({{.*}}) <{column = false, reduce = #ttcore.reduce_type<invalid>, sizes = array<i64: 64>, windows = array<i64: 1>}> :
func.func @rows_scatter(%0: tensor<4x64x32xbf16, #ttnn_layout7>, %1: tensor<1x1x1xsi32, #ttnn_layout8>, %2: tensor<4x1x32xbf16, #ttnn_layout9>) -> tensor<4x64x32xbf16, #ttnn_layout7> {
  %3 = "ttnn.rows_scatter"(%0, %1, %2) <{column = false, reduce = #ttcore.reduce_type<invalid>, sizes = array<i64: 64>, windows = array<i64: 1>}> : (tensor<4x64x32xbf16, #ttnn_layout7>, tensor<1x1x1xsi32, #ttnn_layout8>, tensor<4x1x32xbf16, #ttnn_layout9>) -> tensor<4x64x32xbf16, #ttnn_layout7>
  func.return %3 : tensor<4x64x32xbf16, #ttnn_layout7>
}

// CHECK-LABEL: func.func @sort(
// CHECK: "ttnn.sort"({{.*}}) <{dim = 1 : si8, descending = true, stable = false}> :
func.func @sort(%0: tensor<4x8xbf16, #ttnn_layout1>) -> (tensor<4x8xbf16, #ttnn_layout1>, tensor<4x8xui16, #ttnn_layout10>) {
  %1:2 = "ttnn.sort"(%0) <{dim = 1 : si8, descending = true, stable = false}> : (tensor<4x8xbf16, #ttnn_layout1>) -> (tensor<4x8xbf16, #ttnn_layout1>, tensor<4x8xui16, #ttnn_layout10>)
  func.return %1#0, %1#1 : tensor<4x8xbf16, #ttnn_layout1>, tensor<4x8xui16, #ttnn_layout10>
}

// CHECK-LABEL: func.func @topk(
// CHECK: "ttnn.topk"({{.*}}) <{k = 3 : i32, dim = -1 : si32, largest = true, sorted = true}> :
func.func @topk(%0: tensor<4x8xbf16, #ttnn_layout1>) -> (tensor<4x3xbf16, #ttnn_layout1>, tensor<4x3xui16, #ttnn_layout10>) {
  %1:2 = "ttnn.topk"(%0) <{k = 3 : i32, dim = -1 : si32, largest = true, sorted = true}> : (tensor<4x8xbf16, #ttnn_layout1>) -> (tensor<4x3xbf16, #ttnn_layout1>, tensor<4x3xui16, #ttnn_layout10>)
  func.return %1#0, %1#1 : tensor<4x3xbf16, #ttnn_layout1>, tensor<4x3xui16, #ttnn_layout10>
}

// CHECK-LABEL: func.func @topk_router_gpt(
// CHECK: "ttnn.topk_router_gpt"({{.*}}) <{k = 4 : i32, num_experts = 128 : i32}> :
func.func @topk_router_gpt(%0: tensor<32x64xbf16, #ttnn_layout11>, %1: tensor<64x128xbf16, #ttnn_layout12>, %2: tensor<32x128xbf16, #ttnn_layout13>) -> (tensor<32x8xui16, #ttnn_layout10>, tensor<32x8xbf16, #ttnn_layout1>) {
  %3:2 = "ttnn.topk_router_gpt"(%0, %1, %2) <{k = 4 : i32, num_experts = 128 : i32}> : (tensor<32x64xbf16, #ttnn_layout11>, tensor<64x128xbf16, #ttnn_layout12>, tensor<32x128xbf16, #ttnn_layout13>) -> (tensor<32x8xui16, #ttnn_layout10>, tensor<32x8xbf16, #ttnn_layout1>)
  func.return %3#0, %3#1 : tensor<32x8xui16, #ttnn_layout10>, tensor<32x8xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @sampling(
// CHECK: "ttnn.sampling"({{.*}}) <{seed = 7 : ui32}> :
func.func @sampling(%0: tensor<32x64xbf16, #ttnn_layout11>, %1: tensor<32x64xsi32, #ttnn_layout14>, %2: tensor<32xui32, #ttnn_layout15>, %3: tensor<32xbf16, #ttnn_layout16>, %4: tensor<32xbf16, #ttnn_layout16>) -> tensor<32xsi32, #ttnn_layout17> {
  %5 = "ttnn.sampling"(%0, %1, %2, %3, %4) <{seed = 7 : ui32}> : (tensor<32x64xbf16, #ttnn_layout11>, tensor<32x64xsi32, #ttnn_layout14>, tensor<32xui32, #ttnn_layout15>, tensor<32xbf16, #ttnn_layout16>, tensor<32xbf16, #ttnn_layout16>) -> tensor<32xsi32, #ttnn_layout17>
  func.return %5 : tensor<32xsi32, #ttnn_layout17>
}
