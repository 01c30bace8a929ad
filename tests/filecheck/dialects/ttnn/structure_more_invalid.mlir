// RUN: invalid

// expected-error: ttnn.matmul_multi_core_reuse_program_config lacks the required field 'in0_block_w'
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{matmul_program_config = #ttnn.matmul_multi_core_reuse_program_config<compute_with_storage_grid_size = #ttnn.core_coord<11, 10>>}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2>
  func.return %2 : tensor<32x32xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected a matmul program config
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<32x64xbf16, #ttnn_layout>, %1: tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{matmul_program_config = #ttnn.core_coord<1, 2>}> : (tensor<32x64xbf16, #ttnn_layout>, tensor<64x32xbf16, #ttnn_layout1>) -> tensor<32x32xbf16, #ttnn_layout2>
  func.return %2 : tensor<32x32xbf16, #ttnn_layout2>
}

// -----

// expected-error: has shape (4, 3, 3), expected (4, 3, 2)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @transpose(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<4x3x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.transpose"(%0) <{dim0 = 0 : si32, dim1 = -1 : si32}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<4x3x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<4x3x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: has shape (4, 4), expected (4, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @repeat_interleave(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<4x4xbf16, #ttnn_layout> {
  %1 = "ttnn.repeat_interleave"(%0) <{repeats = 2 : ui32, dim = 0 : si32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<4x4xbf16, #ttnn_layout>
  func.return %1 : tensor<4x4xbf16, #ttnn_layout>
}

// -----

// expected-error: begins has shape (3,), expected (2,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @slice_dynamic(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<3xsi32, #ttnn_layout1>, %2: tensor<2xsi32, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.slice_dynamic"(%0, %1, %2) : (tensor<4x8xbf16, #ttnn_layout>, tensor<3xsi32, #ttnn_layout1>, tensor<2xsi32, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pow_scalar(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.pow_scalar"(%0) <{rhs = 2.000000e+00 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @gelu_bw(%0: tensor<4x8xbf16, #ttnn_layout>, %1: tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x9xbf16, #ttnn_layout> {
  %2 = "ttnn.gelu_bw"(%0, %1) <{approximate = "none"}> : (tensor<4x8xbf16, #ttnn_layout>, tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x9xbf16, #ttnn_layout>
  func.return %2 : tensor<4x9xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @cumprod(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.cumprod"(%0) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 1, 5), expected (2, 1, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prod(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x5xbf16, #ttnn_layout> {
  %1 = "ttnn.prod"(%0) <{dim_arg = 1 : si64, keep_dim = true}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x5xbf16, #ttnn_layout>
  func.return %1 : tensor<2x1x5xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @prod(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout> {
  %1 = "ttnn.prod"(%0) <{dim_arg = 3 : si64, keep_dim = true}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x1x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
func.func @bitcast_convert(%0: tensor<2x3xf32, #ttnn_layout>) -> tensor<2x4xsi32, #ttnn_layout1> {
  %1 = "ttnn.bitcast_convert"(%0) : (tensor<2x3xf32, #ttnn_layout>) -> tensor<2x4xsi32, #ttnn_layout1>
  func.return %1 : tensor<2x4xsi32, #ttnn_layout1>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @zeros(%0: !ttnn.device) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.zeros"(%0) <{shape = #ttnn.shape<2x3>}> : (!ttnn.device) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @ones(%0: !ttnn.device) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.ones"(%0) <{shape = #ttnn.shape<2x3>}> : (!ttnn.device) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @empty(%0: !ttnn.device) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.empty"(%0) <{shape = #ttnn.shape<2x3>}> : (!ttnn.device) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rand(%0: !ttnn.device) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.rand"(%0) <{size = #ttnn.shape<2x3>, seed = 7 : ui32}> : (!ttnn.device) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @to_tensor_spec(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.to_tensor_spec"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: has shape (2, 4), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @assign(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout> {
  %1 = "ttnn.assign"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout>
}

// -----

// expected-error: file_path
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @dump_tensor(%0: tensor<2x3xbf16, #ttnn_layout>) {
  "ttnn.dump_tensor"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> ()
  func.return
}

// -----

// expected-error: file_path
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @load_tensor(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.load_tensor"(%0) : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: images have shape (1, 2, 6, 1024), expected [1, N, C, H * W] with C a multiple of 8
#dram = #ttnn.buffer_type<dram>
#images = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 12 + d1 * 6 + d2, d3), <1x1>, memref<12x1024xbf16, #dram>, <interleaved>>
#sticks = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 2048 + d1 * 2048 + d2, d3), <1x1>, memref<2048x6xbf16, #dram>, <interleaved>>
func.func @convert_to_hwc(%0: tensor<1x2x6x1024xbf16, #images>) -> tensor<1x1x2048x6xbf16, #sticks> {
  %1 = "ttnn.convert_to_hwc"(%0) : (tensor<1x2x6x1024xbf16, #images>) -> tensor<1x1x2048x6xbf16, #sticks>
  func.return %1 : tensor<1x1x2048x6xbf16, #sticks>
}

// -----

// expected-error: result has shape (1, 1, 1024, 8), expected (1, 1, 2048, 8)
#dram = #ttnn.buffer_type<dram>
#images = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 16 + d1 * 8 + d2, d3), <1x1>, memref<16x1024xbf16, #dram>, <interleaved>>
#sticks = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 1024 + d2, d3), <1x1>, memref<1024x8xbf16, #dram>, <interleaved>>
func.func @convert_to_hwc(%0: tensor<1x2x8x1024xbf16, #images>) -> tensor<1x1x1024x8xbf16, #sticks> {
  %1 = "ttnn.convert_to_hwc"(%0) : (tensor<1x2x8x1024xbf16, #images>) -> tensor<1x1x1024x8xbf16, #sticks>
  func.return %1 : tensor<1x1x1024x8xbf16, #sticks>
}
