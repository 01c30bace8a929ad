// RUN: pass=ttnn-set-compute-config math_fidelity=lofi fp32_dest_acc_en=false

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func public @which_ops(
// CHECK: "ttnn.matmul"({{.*}}compute_config = #ttnn.device_compute_kernel_config<math_fidelity = lofi, fp32_dest_acc_en = false>
// CHECK: "ttnn.sum"({{.*}}compute_config = #ttnn.device_compute_kernel_config<math_fidelity = lofi, fp32_dest_acc_en = false>
func.func public @which_ops(%x: tensor<4x4xbf16, #ttnn_layout>, %w: tensor<4x4xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<4x1xbf16, #ttnn_layout1> {
  %0 = "ttnn.to_layout"(%x) : (tensor<4x4xbf16, #ttnn_layout>) -> tensor<4x4xbf16, #ttnn_layout1>
  %1 = "ttnn.matmul"(%0, %w) <{transpose_a = false, transpose_b = false}> : (tensor<4x4xbf16, #ttnn_layout1>, tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x4xbf16, #ttnn_layout1>
  %2 = "ttnn.sum"(%1) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<4x4xbf16, #ttnn_layout1>) -> tensor<4x1xbf16, #ttnn_layout1>
  %3 = "ttnn.softmax"(%2) <{dimension = 0 : si32, numericStable = true}> : (tensor<4x1xbf16, #ttnn_layout1>) -> tensor<4x1xbf16, #ttnn_layout1>
  %4 = "ttnn.exp"(%3) : (tensor<4x1xbf16, #ttnn_layout1>) -> tensor<4x1xbf16, #ttnn_layout1>
  func.return %4 : tensor<4x1xbf16, #ttnn_layout1>
}
