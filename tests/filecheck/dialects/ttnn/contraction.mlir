// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @matmul(
// CHECK: "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
func.func @matmul(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @matmul_transposed(
// CHECK: "ttnn.matmul"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32, #ttnn_layout2>, tensor<6x5xf32, #ttnn_layout2>) -> tensor<4x6xf32, #ttnn_layout2>
func.func @matmul_transposed(%0: tensor<5x4xf32, #ttnn_layout2>, %1: tensor<6x5xf32, #ttnn_layout2>) -> tensor<4x6xf32, #ttnn_layout2> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32, #ttnn_layout2>, tensor<6x5xf32, #ttnn_layout2>) -> tensor<4x6xf32, #ttnn_layout2>
  func.return %2 : tensor<4x6xf32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @matmul_vector(
// CHECK: "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32, #ttnn_layout3>, tensor<5x6xf32, #ttnn_layout2>) -> tensor<6xf32, #ttnn_layout3>
func.func @matmul_vector(%0: tensor<5xf32, #ttnn_layout3>, %1: tensor<5x6xf32, #ttnn_layout2>) -> tensor<6xf32, #ttnn_layout3> {
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32, #ttnn_layout3>, tensor<5x6xf32, #ttnn_layout2>) -> tensor<6xf32, #ttnn_layout3>
  func.return %2 : tensor<6xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @linear(
// CHECK: "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
func.func @linear(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>, activation = "relu"}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %2 : tensor<2x4x6xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @linear_transposed(
// CHECK: "ttnn.linear"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32, #ttnn_layout2>, tensor<6x5xf32, #ttnn_layout2>) -> tensor<4x6xf32, #ttnn_layout2>
func.func @linear_transposed(%0: tensor<5x4xf32, #ttnn_layout2>, %1: tensor<6x5xf32, #ttnn_layout2>) -> tensor<4x6xf32, #ttnn_layout2> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = true, transpose_b = true}> : (tensor<5x4xf32, #ttnn_layout2>, tensor<6x5xf32, #ttnn_layout2>) -> tensor<4x6xf32, #ttnn_layout2>
  func.return %2 : tensor<4x6xf32, #ttnn_layout2>
}

// CHECK-LABEL: func.func @linear_vector(
// CHECK: "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32, #ttnn_layout3>, tensor<5x6xf32, #ttnn_layout2>) -> tensor<6xf32, #ttnn_layout3>
func.func @linear_vector(%0: tensor<5xf32, #ttnn_layout3>, %1: tensor<5x6xf32, #ttnn_layout2>) -> tensor<6xf32, #ttnn_layout3> {
  %2 = "ttnn.linear"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<5xf32, #ttnn_layout3>, tensor<5x6xf32, #ttnn_layout2>) -> tensor<6xf32, #ttnn_layout3>
  func.return %2 : tensor<6xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @linear_with_bias(
// CHECK: "ttnn.linear"(%0, %1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>, tensor<6xbf16, #ttnn_layout4>) -> tensor<2x4x6xbf16, #ttnn_layout>
func.func @linear_with_bias(%0: tensor<2x4x5xbf16, #ttnn_layout>, %1: tensor<5x6xbf16, #ttnn_layout1>, %2: tensor<6xbf16, #ttnn_layout4>) -> tensor<2x4x6xbf16, #ttnn_layout> {
  %3 = "ttnn.linear"(%0, %1, %2) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xbf16, #ttnn_layout>, tensor<5x6xbf16, #ttnn_layout1>, tensor<6xbf16, #ttnn_layout4>) -> tensor<2x4x6xbf16, #ttnn_layout>
  func.return %3 : tensor<2x4x6xbf16, #ttnn_layout>
}
