// RUN: pass=ttnn-fuse

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x4xbf16, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Activations of matrix products are not fused at level 0.
// CHECK-LABEL: func.func public @relu_of_product(
// CHECK: "ttnn.matmul"({{.*}}) <{transpose_a = false, transpose_b = false}>
// CHECK-NEXT: "ttnn.relu"
func.func public @relu_of_product(%x: tensor<2x3xbf16, #ttnn_layout>, %w: tensor<3x4xbf16, #ttnn_layout1>) -> tensor<2x4xbf16, #ttnn_layout2> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout2>
  %1 = "ttnn.to_layout"(%w) : (tensor<3x4xbf16, #ttnn_layout1>) -> tensor<3x4xbf16, #ttnn_layout2>
  %2 = "ttnn.matmul"(%0, %1) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<3x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  %3 = "ttnn.relu"(%2) : (tensor<2x4xbf16, #ttnn_layout2>) -> tensor<2x4xbf16, #ttnn_layout2>
  func.return %3 : tensor<2x4xbf16, #ttnn_layout2>
}
