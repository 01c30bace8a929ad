// RUN: pass=ttnn-transpose-weights

#dram = #ttnn.buffer_type<dram>
#row = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#weight = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#tile = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// A weight is transposed once. Weights with two uses and operands that are not weights stay as they are.
// CHECK-LABEL: func.func public @main(
// CHECK-NEXT: %[[T:.*]] = "ttnn.permute"(%w) <{permutation = array<i64: 1, 0>
// CHECK-NEXT: "ttnn.matmul"(%x, %[[T]]) <{transpose_a = false, transpose_b = false
// CHECK-NEXT: "ttnn.matmul"(%x, %v) <{transpose_a = false, transpose_b = true
// CHECK-NEXT: "ttnn.add"
// CHECK-NEXT: "ttnn.matmul"(%x, %y) <{transpose_a = false, transpose_b = true
func.func public @main(%x: tensor<32x64xbf16, #row>, %y: tensor<32x64xbf16, #row>, %w: tensor<32x64xbf16, #weight> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<32x64xbf16, #weight> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<32x32xbf16, #tile>, tensor<32x32xbf16, #tile>, tensor<32x64xbf16, #row>, tensor<32x32xbf16, #tile>) {
  %0 = "ttnn.matmul"(%x, %w) <{transpose_a = false, transpose_b = true}> : (tensor<32x64xbf16, #row>, tensor<32x64xbf16, #weight>) -> tensor<32x32xbf16, #tile>
  %1 = "ttnn.matmul"(%x, %v) <{transpose_a = false, transpose_b = true}> : (tensor<32x64xbf16, #row>, tensor<32x64xbf16, #weight>) -> tensor<32x32xbf16, #tile>
  %2 = "ttnn.add"(%x, %v) : (tensor<32x64xbf16, #row>, tensor<32x64xbf16, #weight>) -> tensor<32x64xbf16, #row>
  %3 = "ttnn.matmul"(%x, %y) <{transpose_a = false, transpose_b = true}> : (tensor<32x64xbf16, #row>, tensor<32x64xbf16, #row>) -> tensor<32x32xbf16, #tile>
  func.return %0, %1, %2, %3 : tensor<32x32xbf16, #tile>, tensor<32x32xbf16, #tile>, tensor<32x64xbf16, #row>, tensor<32x32xbf16, #tile>
}
