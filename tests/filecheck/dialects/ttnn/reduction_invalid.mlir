// RUN: invalid

// expected-error: result has shape (2, 1, 4), expected (2, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x1x4xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [3 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: keep_dim
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [1 : i32], compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = 1 : i8, keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @sum(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = 1 : i8}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x1x4xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [3 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: keep_dim
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32], compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = 1 : i8, keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @mean(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = 1 : i8}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout> {
  %1 = "ttnn.max"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x1x4xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = [3 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: keep_dim
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = [1 : i32], compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = 1 : i8, keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @max(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.max"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = 1 : i8}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (2, 1, 4), expected (2, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout> {
  %1 = "ttnn.min"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x1x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x1x4xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = [3 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: dimensions [1, -2] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = [1 : i32, -2 : i32], keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: keep_dim
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = [1 : i32], compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a list of i32 integers, [1 : i32, ...], got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = 1 : i8, keep_dim = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = [1 : i32], keep_dim = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @min(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1> {
  %1 = "ttnn.min"(%0) <{dim_arg = [1 : i32], keep_dim = false, compute_config = 1 : i8}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x4xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (2,), expected (2, 1)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2xui32, #dram>, <interleaved>>
func.func @argmax(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2xui32, #ttnn_layout1> {
  %1 = "ttnn.argmax"(%0) <{dim = 1 : si32, keep_dim = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2xui32, #ttnn_layout1>
  func.return %1 : tensor<2xui32, #ttnn_layout1>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1xui32, #dram>, <interleaved>>
func.func @argmax(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x1xui32, #ttnn_layout1> {
  %1 = "ttnn.argmax"(%0) <{dim = 2 : si32, keep_dim = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x1xui32, #ttnn_layout1>
  func.return %1 : tensor<2x1xui32, #ttnn_layout1>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1xui32, #dram>, <interleaved>>
func.func @argmax(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x1xui32, #ttnn_layout1> {
  %1 = "ttnn.argmax"(%0) <{dim = 1 : i8, keep_dim = true}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x1xui32, #ttnn_layout1>
  func.return %1 : tensor<2x1xui32, #ttnn_layout1>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1xui32, #dram>, <interleaved>>
func.func @argmax(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x1xui32, #ttnn_layout1> {
  %1 = "ttnn.argmax"(%0) <{dim = 1 : si32, keep_dim = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x1xui32, #ttnn_layout1>
  func.return %1 : tensor<2x1xui32, #ttnn_layout1>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @cumsum(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.cumsum"(%0) <{dim = 1 : si32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @cumsum(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.cumsum"(%0) <{dim = 2 : si32}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @cumsum(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.cumsum"(%0) <{dim = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @softmax(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4x3xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = 1 : si32, numericStable = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x4x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: dimensions [3] are not distinct dimensions of rank 3
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @softmax(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = 3 : si32, numericStable = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an si32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @softmax(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = 1 : i8, numericStable = true, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4xbf16, #ttnn_layout>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @softmax(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = 1 : si32, numericStable = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4xbf16, #ttnn_layout>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @softmax(%0: tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %1 = "ttnn.softmax"(%0) <{dimension = 1 : si32, numericStable = true, compute_config = 1 : i8}> : (tensor<2x3x4xbf16, #ttnn_layout>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3x4xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @layer_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout1>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x4x3xbf16, #ttnn_layout> {
  %3 = "ttnn.layer_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x4x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @layer_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout1>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %3 = "ttnn.layer_norm"(%0, %1, %2) <{epsilon = 1 : i8, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (2, 4, 3), expected (2, 3, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout1>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x4x3xbf16, #ttnn_layout> {
  %3 = "ttnn.rms_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x4x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout1>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %3 = "ttnn.rms_norm"(%0, %1, %2) <{epsilon = 1 : i8, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4xbf16, #ttnn_layout>
}

// -----

// expected-error: expected #ttnn.device_compute_kernel_config<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @rms_norm(%0: tensor<2x3x4xbf16, #ttnn_layout>, %1: tensor<4xbf16, #ttnn_layout1>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout> {
  %3 = "ttnn.rms_norm"(%0, %1, %2) <{epsilon = 1.000000e-05 : f32, compute_config = 1 : i8, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2x3x4xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3x4xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3x4xbf16, #ttnn_layout>
}
