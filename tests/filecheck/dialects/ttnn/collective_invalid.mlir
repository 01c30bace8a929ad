// RUN: invalid

// expected-error: result has size 30 along all_gather_dim, expected a multiple of 8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_gather(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x30xbf16, #ttnn_layout> {
  %1 = "ttnn.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32, num_links = 1 : ui32, topology = #ttcore.topology<ring>}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x30xbf16, #ttnn_layout>
  func.return %1 : tensor<2x30xbf16, #ttnn_layout>
}

// -----

// expected-error: result of shape (3, 32) differs from the operand of shape (2, 8) outside all_gather_dim 1
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_gather(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<3x32xbf16, #ttnn_layout> {
  %1 = "ttnn.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 0 : ui32, num_links = 1 : ui32, topology = #ttcore.topology<ring>}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<3x32xbf16, #ttnn_layout>
  func.return %1 : tensor<3x32xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_reduce(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout> {
  %1 = "ttnn.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout>
  func.return %1 : tensor<2x9xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_reduce_async(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout> {
  %1 = "ttnn.all_reduce_async"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout>
  func.return %1 : tensor<2x9xbf16, #ttnn_layout>
}

// -----

// expected-error: result has size 9 along scatter_dim, expected a divisor of 32
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @reduce_scatter(%0: tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout> {
  %1 = "ttnn.reduce_scatter"(%0) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout>
  func.return %1 : tensor<2x9xbf16, #ttnn_layout>
}

// -----

// expected-error: result has size 9 along dim, expected a divisor of 32
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mesh_partition(%0: tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout> {
  %1 = "ttnn.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 0 : ui32}> : (tensor<2x32xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout>
  func.return %1 : tensor<2x9xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4, 1, 4, 32, 129), expected (2, 4, 1, 4, 32, 128)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4, d5) -> (d0 * 512 + d1 * 128 + d2 * 128 + d3 * 32 + d4, d5), <1x1>, memref<32x5x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16, #ttnn_layout>, %1: tensor<1x4x64x128xbf16, #ttnn_layout1>, %2: tensor<2x4x1x4xbf16, #ttnn_layout2>) -> tensor<2x4x1x4x32x129xbf16, #ttnn_layout3> {
  %3 = "ttnn.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 2 : i64}> : (tensor<2x4x32x64xbf16, #ttnn_layout>, tensor<1x4x64x128xbf16, #ttnn_layout1>, tensor<2x4x1x4xbf16, #ttnn_layout2>) -> tensor<2x4x1x4x32x129xbf16, #ttnn_layout3>
  func.return %3 : tensor<2x4x1x4x32x129xbf16, #ttnn_layout3>
}

// -----

// expected-error: is_input_a_sparse and is_input_b_sparse are both false, expected one to be true
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3, d4, d5) -> (d0 * 512 + d1 * 128 + d2 * 128 + d3 * 32 + d4, d5), <1x1>, memref<32x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16, #ttnn_layout>, %1: tensor<1x4x64x128xbf16, #ttnn_layout1>, %2: tensor<2x4x1x4xbf16, #ttnn_layout2>) -> tensor<2x4x1x4x32x128xbf16, #ttnn_layout3> {
  %3 = "ttnn.sparse_matmul"(%0, %1, %2) <{is_input_b_sparse = false}> : (tensor<2x4x32x64xbf16, #ttnn_layout>, tensor<1x4x64x128xbf16, #ttnn_layout1>, tensor<2x4x1x4xbf16, #ttnn_layout2>) -> tensor<2x4x1x4x32x128xbf16, #ttnn_layout3>
  func.return %3 : tensor<2x4x1x4x32x128xbf16, #ttnn_layout3>
}

// -----

// expected-error: has shape (2, 4, 32, 129), expected (2, 4, 32, 128)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x5x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sparse_matmul(%0: tensor<2x4x32x64xbf16, #ttnn_layout>, %1: tensor<1x4x64x128xbf16, #ttnn_layout1>, %2: tensor<1x1x2x4xbf16, #ttnn_layout2>) -> tensor<2x4x32x129xbf16, #ttnn_layout3> {
  %3 = "ttnn.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = true, is_input_b_sparse = false}> : (tensor<2x4x32x64xbf16, #ttnn_layout>, tensor<1x4x64x128xbf16, #ttnn_layout1>, tensor<1x1x2x4xbf16, #ttnn_layout2>) -> tensor<2x4x32x129xbf16, #ttnn_layout3>
  func.return %3 : tensor<2x4x32x129xbf16, #ttnn_layout3>
}

// -----

// expected-error: a has 3 blocks, b has 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 32 + d2, d3), <1x1>, memref<6x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sparse_matmul(%0: tensor<2x3x32x64xbf16, #ttnn_layout>, %1: tensor<1x4x64x128xbf16, #ttnn_layout1>, %2: tensor<1x1x2x3xbf16, #ttnn_layout2>) -> tensor<2x4x32x128xbf16, #ttnn_layout3> {
  %3 = "ttnn.sparse_matmul"(%0, %1, %2) <{is_input_a_sparse = true, is_input_b_sparse = false}> : (tensor<2x3x32x64xbf16, #ttnn_layout>, tensor<1x4x64x128xbf16, #ttnn_layout1>, tensor<1x1x2x3xbf16, #ttnn_layout2>) -> tensor<2x4x32x128xbf16, #ttnn_layout3>
  func.return %3 : tensor<2x4x32x128xbf16, #ttnn_layout3>
}

// -----

// expected-error: dispatched has shape (1, 8, 8, 63), expected (1, 8, 8, 64)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<16x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
func.func @all_to_all_dispatch(%0: tensor<2x8x1x64xbf16, #ttnn_layout>, %1: tensor<2x8x1x4xui16, #ttnn_layout1>, %2: tensor<1x1x16x4xui16, #ttnn_layout2>) -> (tensor<1x8x8x63xbf16, #ttnn_layout3>, tensor<1x8x8x4xui16, #ttnn_layout4>) {
  %3:2 = "ttnn.all_to_all_dispatch"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64}> : (tensor<2x8x1x64xbf16, #ttnn_layout>, tensor<2x8x1x4xui16, #ttnn_layout1>, tensor<1x1x16x4xui16, #ttnn_layout2>) -> (tensor<1x8x8x63xbf16, #ttnn_layout3>, tensor<1x8x8x4xui16, #ttnn_layout4>)
  func.return %3#0, %3#1 : tensor<1x8x8x63xbf16, #ttnn_layout3>, tensor<1x8x8x4xui16, #ttnn_layout4>
}

// -----

// expected-error: scores has shape (1, 32, 5), expected (1, 32, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_to_all_dispatch_metadata(%0: tensor<1x1x8x64xbf16, #ttnn_layout>, %1: tensor<1x1x8x4xui16, #ttnn_layout1>, %2: tensor<1x1x8x4xbf16, #ttnn_layout2>, %3: tensor<1x1x4x16xui16, #ttnn_layout1>) -> (tensor<1x32x64xbf16, #ttnn_layout3>, tensor<1x32x4xui16, #ttnn_layout4>, tensor<1x32x5xbf16, #ttnn_layout5>) {
  %4:3 = "ttnn.all_to_all_dispatch_metadata"(%0, %1, %2, %3) <{num_devices = 4 : i64, cluster_axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}> : (tensor<1x1x8x64xbf16, #ttnn_layout>, tensor<1x1x8x4xui16, #ttnn_layout1>, tensor<1x1x8x4xbf16, #ttnn_layout2>, tensor<1x1x4x16xui16, #ttnn_layout1>) -> (tensor<1x32x64xbf16, #ttnn_layout3>, tensor<1x32x4xui16, #ttnn_layout4>, tensor<1x32x5xbf16, #ttnn_layout5>)
  func.return %4#0, %4#1, %4#2 : tensor<1x32x64xbf16, #ttnn_layout3>, tensor<1x32x4xui16, #ttnn_layout4>, tensor<1x32x5xbf16, #ttnn_layout5>
}

// -----

// expected-error: result has shape (4, 2, 8, 63), expected [4, batch, rows, 64]
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<32x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_to_all_combine(%0: tensor<4x8x8x64xbf16, #ttnn_layout>, %1: tensor<1x8x8x4xui16, #ttnn_layout1>, %2: tensor<1x1x16x4xui16, #ttnn_layout2>) -> tensor<4x2x8x63xbf16, #ttnn_layout3> {
  %3 = "ttnn.all_to_all_combine"(%0, %1, %2) <{num_devices = 4 : i64, cluster_axis = 0 : i64, num_experts_per_tok = 4 : i64}> : (tensor<4x8x8x64xbf16, #ttnn_layout>, tensor<1x8x8x4xui16, #ttnn_layout1>, tensor<1x1x16x4xui16, #ttnn_layout2>) -> tensor<4x2x8x63xbf16, #ttnn_layout3>
  func.return %3 : tensor<4x2x8x63xbf16, #ttnn_layout3>
}

// -----

// expected-error: reduced has shape (1, 1, 2, 4), expected (1, 1, 1, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @moe_expert_token_remap(%0: tensor<4x2x8x16xbf16, #ttnn_layout>, %1: tensor<1x1x16x4xui16, #ttnn_layout1>, %2: tensor<4x2x8x4xui16, #ttnn_layout2>) -> (tensor<1x2x8x4xbf16, #ttnn_layout3>, tensor<1x1x2x4xui16, #ttnn_layout1>) {
  %3:2 = "ttnn.moe_expert_token_remap"(%0, %1, %2) <{reduction_size = 16 : i64}> : (tensor<4x2x8x16xbf16, #ttnn_layout>, tensor<1x1x16x4xui16, #ttnn_layout1>, tensor<4x2x8x4xui16, #ttnn_layout2>) -> (tensor<1x2x8x4xbf16, #ttnn_layout3>, tensor<1x1x2x4xui16, #ttnn_layout1>)
  func.return %3#0, %3#1 : tensor<1x2x8x4xbf16, #ttnn_layout3>, tensor<1x1x2x4xui16, #ttnn_layout1>
}

// -----

// expected-error: reduction_size 0 must be positive
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @moe_expert_token_remap(%0: tensor<4x2x8x16xbf16, #ttnn_layout>, %1: tensor<1x1x16x4xui16, #ttnn_layout1>, %2: tensor<4x2x8x4xui16, #ttnn_layout2>) -> (tensor<1x2x8x4xbf16, #ttnn_layout3>, tensor<1x1x1x4xui16, #ttnn_layout1>) {
  %3:2 = "ttnn.moe_expert_token_remap"(%0, %1, %2) <{reduction_size = 0 : i64}> : (tensor<4x2x8x16xbf16, #ttnn_layout>, tensor<1x1x16x4xui16, #ttnn_layout1>, tensor<4x2x8x4xui16, #ttnn_layout2>) -> (tensor<1x2x8x4xbf16, #ttnn_layout3>, tensor<1x1x1x4xui16, #ttnn_layout1>)
  func.return %3#0, %3#1 : tensor<1x2x8x4xbf16, #ttnn_layout3>, tensor<1x1x1x4xui16, #ttnn_layout1>
}

// -----

// expected-error: has shape (2, 9), expected (2, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @point_to_point(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout> {
  %1 = "ttnn.point_to_point"(%0) <{sender_coord = array<i64: 0, 0>, receiver_coord = array<i64: 0, 1>}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x9xbf16, #ttnn_layout>
  func.return %1 : tensor<2x9xbf16, #ttnn_layout>
}

// -----

// expected-error: sender_coord (0,) has 1 entries, expected at least row and column
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @point_to_point(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout> {
  %1 = "ttnn.point_to_point"(%0) <{sender_coord = array<i64: 0>, receiver_coord = array<i64: 0, 1>}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<2x8xbf16, #ttnn_layout>
  func.return %1 : tensor<2x8xbf16, #ttnn_layout>
}

// -----

// expected-error: expected the rank of (32, 64)
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x64xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 16 + d1, d2), <1x1>, memref<512x1xbf16, #system_memory>>
func.func @distribute_tensor(%0: tensor<32x64xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<32x16x1xbf16, #ttnn_layout1> {
  %2 = "ttnn.distribute_tensor"(%0, %1) <{mapper_config = #ttnn.mesh_mapper_config<placements = [<replicate>, <shard, 1 : i64>]>, cq_id = 0 : ui32}> : (tensor<32x64xbf16, #ttnn_layout>, !ttnn.device) -> tensor<32x16x1xbf16, #ttnn_layout1>
  func.return %2 : tensor<32x16x1xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected the rank of (32, 16)
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x16xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<2048x1xbf16, #system_memory>>
func.func @aggregate_tensor(%0: tensor<32x16xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<32x64x1xbf16, #ttnn_layout1> {
  %2 = "ttnn.aggregate_tensor"(%0, %1) <{composer_config = #ttnn.mesh_composer_config<dims = [0 : i64, 1 : i64]>}> : (tensor<32x16xbf16, #ttnn_layout>, !ttnn.device) -> tensor<32x64x1xbf16, #ttnn_layout1>
  func.return %2 : tensor<32x64x1xbf16, #ttnn_layout1>
}

// -----

// expected-error: combine_output has shape (4, 32, 63), expected (64,) columns
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 512 + d1 * 128 + d2, d3), <1x1>, memref<16x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @moe_compute(%0: tensor<1x32x64xbf16, #ttnn_layout>, %1: tensor<1x32x4xui16, #ttnn_layout1>, %2: tensor<1x32x4xbf16, #ttnn_layout2>, %3: tensor<1x16xui16, #ttnn_layout3>, %4: tensor<1x4x64x128xbf16, #ttnn_layout4>, %5: tensor<1x4x128x64xbf16, #ttnn_layout5>, %6: !ttnn.device) -> tensor<4x32x63xbf16, #ttnn_layout6> {
  %7 = "ttnn.moe_compute"(%0, %1, %2, %3, %4, %5, %6) <{layer_id = 0 : ui32, output_height_shard_dim = 4 : ui32, intermediate_size = 128 : ui32, has_bias = false, cluster_axis = 0 : ui32, mux_core_range_set = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (1,3)>]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1>}> : (tensor<1x32x64xbf16, #ttnn_layout>, tensor<1x32x4xui16, #ttnn_layout1>, tensor<1x32x4xbf16, #ttnn_layout2>, tensor<1x16xui16, #ttnn_layout3>, tensor<1x4x64x128xbf16, #ttnn_layout4>, tensor<1x4x128x64xbf16, #ttnn_layout5>, !ttnn.device) -> tensor<4x32x63xbf16, #ttnn_layout6>
  func.return %7 : tensor<4x32x63xbf16, #ttnn_layout6>
}

// -----

// expected-error: result has size 15 along split_dim, expected a divisor of 32
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_to_all(%0: tensor<32x16xbf16, #ttnn_layout>) -> tensor<15x32xbf16, #ttnn_layout> {
  %1 = "ttnn.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<32x16xbf16, #ttnn_layout>) -> tensor<15x32xbf16, #ttnn_layout>
  func.return %1 : tensor<15x32xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (16, 31), expected (16, 32)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_to_all(%0: tensor<32x16xbf16, #ttnn_layout>) -> tensor<16x31xbf16, #ttnn_layout> {
  %1 = "ttnn.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<32x16xbf16, #ttnn_layout>) -> tensor<16x31xbf16, #ttnn_layout>
  func.return %1 : tensor<16x31xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (16, 32, 1), expected the rank of (32, 16)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<16x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @all_to_all(%0: tensor<32x16xbf16, #ttnn_layout>) -> tensor<16x32x1xbf16, #ttnn_layout1> {
  %1 = "ttnn.all_to_all"(%0) <{split_dim = 0 : si32, concat_dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<32x16xbf16, #ttnn_layout>) -> tensor<16x32x1xbf16, #ttnn_layout1>
  func.return %1 : tensor<16x32x1xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (8, 2), expected (2, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @broadcast(%0: tensor<2x8xbf16, #ttnn_layout>) -> tensor<8x2xbf16, #ttnn_layout> {
  %1 = "ttnn.broadcast"(%0) <{root = 0 : ui32, cluster_axis = 1 : ui32}> : (tensor<2x8xbf16, #ttnn_layout>) -> tensor<8x2xbf16, #ttnn_layout>
  func.return %1 : tensor<8x2xbf16, #ttnn_layout>
}
