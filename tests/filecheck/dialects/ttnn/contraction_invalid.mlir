// RUN: invalid

// expected-error: result has shape (4, 6), expected (2, 4, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<4x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<4x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<4x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: inner dimensions differ: 5 of (2, 4, 5) and 6 of (5, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<3x4x5xbf16, #ttnn_layout>, %1: tensor<2x5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<3x4x5xbf16, #ttnn_layout>, tensor<2x5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: operands have shapes () and (5, 6), expected rank 1 or more
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<bf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<bf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout2>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = 1 : i8, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = 1 : i8, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a string, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = 1 : i8}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (4, 6), expected (2, 4, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<4x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<4x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<4x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: inner dimensions differ: 5 of (2, 4, 5) and 6 of (5, 6)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<3x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<3x4x5xbf16, #ttnn_layout>, %1: tensor<2x5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout1> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<3x4x5xbf16, #ttnn_layout>, tensor<2x5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout1>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout1>
}

// -----

// expected-error: operands have shapes () and (5, 6), expected rank 1 or more
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<bf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout2> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<bf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout2>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout2>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = 1 : i8, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = 1 : i8, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a string, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = 1 : i8}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// -----

// expected-error: shapes (2, 4, 6), (5,) do not broadcast together
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @linear_with_bias(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>, %2: tensor<5xbf16, #ttnn_layout2>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %3 = "ttnn.linear"(%0, %1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>, tensor<5xbf16, #ttnn_layout2>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x6xbf16, #ttnn_layout>
}
