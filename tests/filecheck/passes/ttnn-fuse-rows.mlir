// RUN: pass=ttnn-fuse

#dram = #ttnn.buffer_type<dram>
#rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 128 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#image = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 32 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#vector = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// A norm whose result is read twice moves before the reshape too, if all users work on rows or reshape.
// CHECK-LABEL: func.func @norm_with_two_users(
// CHECK-NEXT: %[[N:.*]] = "ttnn.layer_norm"(%x, %g, %b) {{.*}} -> tensor<1x1x128x32xbf16
// CHECK-NEXT: %[[R:.*]] = "ttnn.reshape"(%[[N]]) {{.*}} -> tensor<1x8x16x32xbf16
// CHECK-NEXT: %[[A:.*]] = "ttnn.add"(%[[R]], %[[R]])
// CHECK-NEXT: func.return %[[A]], %[[N]]
func.func @norm_with_two_users(%x: tensor<1x1x128x32xbf16, #rows>, %g: tensor<32xbf16, #vector>, %b: tensor<32xbf16, #vector>) -> (tensor<1x8x16x32xbf16, #image>, tensor<1x1x128x32xbf16, #rows>) {
  %0 = "ttnn.reshape"(%x) <{shape = [1 : i32, 8 : i32, 16 : i32, 32 : i32]}> : (tensor<1x1x128x32xbf16, #rows>) -> tensor<1x8x16x32xbf16, #image>
  %1 = "ttnn.layer_norm"(%0, %g, %b) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1x8x16x32xbf16, #image>, tensor<32xbf16, #vector>, tensor<32xbf16, #vector>) -> tensor<1x8x16x32xbf16, #image>
  %2 = "ttnn.reshape"(%1) <{shape = [1 : i32, 1 : i32, 128 : i32, 32 : i32]}> : (tensor<1x8x16x32xbf16, #image>) -> tensor<1x1x128x32xbf16, #rows>
  %3 = "ttnn.add"(%1, %1) : (tensor<1x8x16x32xbf16, #image>, tensor<1x8x16x32xbf16, #image>) -> tensor<1x8x16x32xbf16, #image>
  func.return %3, %2 : tensor<1x8x16x32xbf16, #image>, tensor<1x1x128x32xbf16, #rows>
}
