// RUN: invalid

// expected-error: result has shape (6,), expected (3, 2)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @reshape(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<6xbf16, #ttnn_layout1> {
  %1 = "ttnn.reshape"(%0) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<6xbf16, #ttnn_layout1>
  func.return %1 : tensor<6xbf16, #ttnn_layout1>
}

// -----

// expected-error: shape (3, 3) has 9 elements, expected 6, as in the operand of shape (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @reshape(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.reshape"(%0) <{shape = [3 : i32, 3 : i32]}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @reshape(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.reshape"(%0) <{shape = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 4, 2), expected (4, 2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @permute(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<3x4x2xbf16, #ttnn_layout1> {
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<3x4x2xbf16, #ttnn_layout1>
  func.return %1 : tensor<3x4x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: [0, 0, 1] is not a permutation of the 3 dimensions of (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @permute(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<4x2x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 0, 0, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<4x2x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<4x2x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected array<i64: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @permute(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<4x2x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.permute"(%0) <{permutation = 1 : i8}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<4x2x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<4x2x3xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (4, 3), expected (2, 7)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concat(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout> {
  %2 = "ttnn.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> tensor<4x3xbf16, #ttnn_layout>
  func.return %2 : tensor<4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: shapes (2, 3), (2, 4) differ outside dimension 0
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concat(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout> {
  %2 = "ttnn.concat"(%0, %1) <{dim = 0 : si32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout>
  func.return %2 : tensor<2x7xbf16, #ttnn_layout>
}

// -----

// expected-error: shapes (2, 3), (2,) differ outside dimension 1
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concat(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2xbf16, #ttnn_layout1>) -> tensor<2x7xbf16, #ttnn_layout> {
  %2 = "ttnn.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2xbf16, #ttnn_layout1>) -> tensor<2x7xbf16, #ttnn_layout>
  func.return %2 : tensor<2x7xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concat(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout> {
  %2 = "ttnn.concat"(%0, %1) <{dim = 2 : si32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout>
  func.return %2 : tensor<2x7xbf16, #ttnn_layout>
}

// -----

// expected-error: expected at least one input, got none
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concat() -> tensor<2x7xbf16, #ttnn_layout> {
  %0 = "ttnn.concat"() <{dim = 1 : si32}> : () -> tensor<2x7xbf16, #ttnn_layout>
  func.return %0 : tensor<2x7xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @concat(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout> {
  %2 = "ttnn.concat"(%0, %1) <{dim = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> tensor<2x7xbf16, #ttnn_layout>
  func.return %2 : tensor<2x7xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 6), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x6xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x6xbf16, #ttnn_layout>
  func.return %1 : tensor<2x6xbf16, #ttnn_layout>
}

// -----

// expected-error: begins, ends and step need one entry for each of the 2 dimensions
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: slice 1:5:1 does not lie in a dimension of size 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [5 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: slice -1:3:1 does not lie in a dimension of size 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [-1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: slice 1:3:0 does not lie in a dimension of size 4
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [0 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = 1 : i8, ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = 1 : i8, step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @slice_static(%0: tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = 1 : i8}> : (tensor<4x7xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 3), expected (3, 5)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x3xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x3xbf16, #ttnn_layout>
  func.return %1 : tensor<3x3xbf16, #ttnn_layout>
}

// -----

// expected-error: padding [0, 1] does not fit shape (2, 3): expected two counts for each dimension
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = array<i32: 0, 1>, value = 5.000000e-01 : f32, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
  func.return %1 : tensor<3x5xbf16, #ttnn_layout>
}

// -----

// expected-error: padding [0, 1, -2, 0] does not fit shape (2, 3): expected two counts for each dimension
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = array<i32: 0, 1, -2, 0>, value = 5.000000e-01 : f32, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
  func.return %1 : tensor<3x5xbf16, #ttnn_layout>
}

// -----

// expected-error: expected array<i32: ...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = 1 : i8, value = 5.000000e-01 : f32, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
  func.return %1 : tensor<3x5xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 1 : i8, use_multicore = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
  func.return %1 : tensor<3x5xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @pad(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout> {
  %1 = "ttnn.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32, use_multicore = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x5xbf16, #ttnn_layout>
  func.return %1 : tensor<3x5xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 4), expected (2, 5, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x5xui32, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<9x4xbf16, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @embedding(%0: tensor<2x5xui32, #ttnn_layout>, %1: tensor<9x4xbf16, #ttnn_layout1>) -> tensor<2x4xbf16, #ttnn_layout2> {
  %2 = "ttnn.embedding"(%0, %1) : (tensor<2x5xui32, #ttnn_layout>, tensor<9x4xbf16, #ttnn_layout1>) -> tensor<2x4xbf16, #ttnn_layout2>
  func.return %2 : tensor<2x4xbf16, #ttnn_layout2>
}

// -----

// expected-error: weight has shape (9, 4, 1), expected rank 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x5xui32, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 4 + d1, d2), <1x1>, memref<36x1xbf16, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @embedding(%0: tensor<2x5xui32, #ttnn_layout>, %1: tensor<9x4x1xbf16, #ttnn_layout1>) -> tensor<2x5x4xbf16, #ttnn_layout2> {
  %2 = "ttnn.embedding"(%0, %1) : (tensor<2x5xui32, #ttnn_layout>, tensor<9x4x1xbf16, #ttnn_layout1>) -> tensor<2x5x4xbf16, #ttnn_layout2>
  func.return %2 : tensor<2x5x4xbf16, #ttnn_layout2>
}

// -----

// expected-error: result has shape (4, 3), expected (3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
func.func @gather(%0: tensor<5x4xf32, #ttnn_layout>, %1: tensor<3x4xui32, #ttnn_layout1>) -> tensor<4x3xf32, #ttnn_layout> {
  %2 = "ttnn.gather"(%0, %1) <{dim = 0 : si32}> : (tensor<5x4xf32, #ttnn_layout>, tensor<3x4xui32, #ttnn_layout1>) -> tensor<4x3xf32, #ttnn_layout>
  func.return %2 : tensor<4x3xf32, #ttnn_layout>
}

// -----

// expected-error: index of shape (3, 5) does not lie in an operand of shape (5, 4) along 0
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
func.func @gather(%0: tensor<5x4xf32, #ttnn_layout>, %1: tensor<3x5xui32, #ttnn_layout1>) -> tensor<3x4xf32, #ttnn_layout> {
  %2 = "ttnn.gather"(%0, %1) <{dim = 0 : si32}> : (tensor<5x4xf32, #ttnn_layout>, tensor<3x5xui32, #ttnn_layout1>) -> tensor<3x4xf32, #ttnn_layout>
  func.return %2 : tensor<3x4xf32, #ttnn_layout>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
func.func @gather(%0: tensor<5x4xf32, #ttnn_layout>, %1: tensor<3x4xui32, #ttnn_layout1>) -> tensor<3x4xf32, #ttnn_layout> {
  %2 = "ttnn.gather"(%0, %1) <{dim = 2 : si32}> : (tensor<5x4xf32, #ttnn_layout>, tensor<3x4xui32, #ttnn_layout1>) -> tensor<3x4xf32, #ttnn_layout>
  func.return %2 : tensor<3x4xf32, #ttnn_layout>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
func.func @gather(%0: tensor<5x4xf32, #ttnn_layout>, %1: tensor<3x4xui32, #ttnn_layout1>) -> tensor<3x4xf32, #ttnn_layout> {
  %2 = "ttnn.gather"(%0, %1) <{dim = 1 : i8}> : (tensor<5x4xf32, #ttnn_layout>, tensor<3x4xui32, #ttnn_layout1>) -> tensor<3x4xf32, #ttnn_layout>
  func.return %2 : tensor<3x4xf32, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 1), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @where(%0: tensor<2x1xbf16, #ttnn_layout>, %1: tensor<2x3xbf16, #ttnn_layout>, %2: tensor<3xbf16, #ttnn_layout1>) -> tensor<2x1xbf16, #ttnn_layout> {
  %3 = "ttnn.where"(%0, %1, %2) : (tensor<2x1xbf16, #ttnn_layout>, tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout1>) -> tensor<2x1xbf16, #ttnn_layout>
  func.return %3 : tensor<2x1xbf16, #ttnn_layout>
}

// -----

// expected-error: do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @where(%0: tensor<2x2xbf16, #ttnn_layout>, %1: tensor<2x3xbf16, #ttnn_layout>, %2: tensor<3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.where"(%0, %1, %2) : (tensor<2x2xbf16, #ttnn_layout>, tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @clamp_scalar(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float or i32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @clamp_scalar(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.clamp_scalar"(%0) <{min = 1 : i8, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float or i32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @clamp_scalar(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @clamp_tensor(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<3xbf16, #ttnn_layout1>, %2: tensor<2x1xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %3 = "ttnn.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16, #ttnn_layout>, tensor<3xbf16, #ttnn_layout1>, tensor<2x1xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %3 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @clamp_tensor(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2xbf16, #ttnn_layout1>, %2: tensor<2x1xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16, #ttnn_layout>, tensor<2xbf16, #ttnn_layout1>, tensor<2x1xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @leaky_relu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.leaky_relu"(%0) <{parameter = 2.500000e-01 : f32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @leaky_relu(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.leaky_relu"(%0) <{parameter = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 4, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @repeat(%0: tensor<2x1x3xbf16, #ttnn_layout>) -> tensor<2x4x3xbf16, #ttnn_layout> {
  %1 = "ttnn.repeat"(%0) <{repeat_dims = #ttnn.shape<1x4x2>}> : (tensor<2x1x3xbf16, #ttnn_layout>) -> tensor<2x4x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: repeat_dims (1, 4) do not fit shape (2, 1, 3), expected one factor for each dimension
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @repeat(%0: tensor<2x1x3xbf16, #ttnn_layout>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %1 = "ttnn.repeat"(%0) <{repeat_dims = #ttnn.shape<1x4>}> : (tensor<2x1x3xbf16, #ttnn_layout>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected #ttnn.shape<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @repeat(%0: tensor<2x1x3xbf16, #ttnn_layout>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %1 = "ttnn.repeat"(%0) <{repeat_dims = 1 : i8}> : (tensor<2x1x3xbf16, #ttnn_layout>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4x6xbf16, #ttnn_layout>
}
