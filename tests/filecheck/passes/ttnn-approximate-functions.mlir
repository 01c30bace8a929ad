// RUN: pass=ttnn-approximate-functions fast_and_approximate_mode=true

#dram = #ttnn.buffer_type<dram>
#tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Gelu has a coarse form wherever it is computed; other functions stay.
// CHECK-LABEL: func.func public @functions(
// CHECK: %[[P:.*]] = "ttnn.matmul"(%x, %w) <{activation = "gelu_approx",
// CHECK-NEXT: %[[G:.*]] = "ttnn.gelu_approx"(%[[P]])
// CHECK-NEXT: %[[S:.*]] = "ttnn.add"(%[[G]], %x) <{activations = [#ttnn.unary_with_param<op_type = gelu_approx>, #ttnn.unary_with_param<op_type = silu>]}>
// CHECK-NEXT: %[[R:.*]] = "ttnn.matmul"(%[[S]], %w) <{activation = "silu",
// CHECK-NEXT: "ttnn.tanh"(%[[R]])
func.func public @functions(%x: tensor<32x32xbf16, #tiles>, %w: tensor<32x32xbf16, #tiles> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<32x32xbf16, #tiles> {
  %0 = "ttnn.matmul"(%x, %w) <{activation = "gelu", transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.gelu"(%0) : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %2 = "ttnn.add"(%1, %x) <{activations = [#ttnn.unary_with_param<op_type = gelu>, #ttnn.unary_with_param<op_type = silu>]}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %3 = "ttnn.matmul"(%2, %w) <{activation = "silu", transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %4 = "ttnn.tanh"(%3) : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  func.return %4 : tensor<32x32xbf16, #tiles>
}
