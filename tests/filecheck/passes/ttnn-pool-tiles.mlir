// RUN: pass=ttnn-pool-tiles

#dram = #ttnn.buffer_type<dram>
#tiles = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 200704 + d1 * 200704 + d2, d3), <1x1>, memref<6272x2x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#wide = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 200704 + d1 * 200704 + d2, d3), <1x1>, memref<6272x2x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 200704 + d1 * 200704 + d2, d3), <1x1>, memref<200704x64xbf16, #dram>, <interleaved>>
#pooled = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 50176 + d1 * 50176 + d2, d3), <1x1>, memref<50176x64xbf16, #dram>, <interleaved>>

// The halo exchange of a pooling untilizes.
// CHECK-LABEL: func.func public @pool(
// CHECK-NEXT: "ttnn.max_pool2d"(%x)
// CHECK-NEXT: func.return
func.func public @pool(%x: tensor<1x1x200704x64xbf16, #tiles>) -> tensor<1x1x50176x64xbf16, #pooled> {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x1x200704x64xbf16, #tiles>) -> tensor<1x1x200704x64xbf16, #rows>
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 16 : si32, ceil_mode = false, channels = 64 : si32, dilation = array<i32: 1, 1>, input_height = 112 : si32, input_width = 112 : si32, kernel_size = array<i32: 3, 3>, padding = array<i32: 1, 1>, stride = array<i32: 2, 2>}> : (tensor<1x1x200704x64xbf16, #rows>) -> tensor<1x1x50176x64xbf16, #pooled>
  func.return %1 : tensor<1x1x50176x64xbf16, #pooled>
}

// Tiles of float32 are not read, and rows that others need too are made once.
// CHECK-LABEL: func.func public @others(
// CHECK-NEXT: %[[A:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: "ttnn.max_pool2d"(%[[A]])
// CHECK-NEXT: %[[B:.*]] = "ttnn.to_layout"(%y)
// CHECK-NEXT: "ttnn.max_pool2d"(%[[B]])
// CHECK-NEXT: func.return
func.func public @others(%x: tensor<1x1x200704x64xf32, #wide>, %y: tensor<1x1x200704x64xbf16, #tiles>) -> (tensor<1x1x50176x64xbf16, #pooled>, tensor<1x1x50176x64xbf16, #pooled>, tensor<1x1x200704x64xbf16, #rows>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x1x200704x64xf32, #wide>) -> tensor<1x1x200704x64xbf16, #rows>
  %1 = "ttnn.max_pool2d"(%0) <{batch_size = 16 : si32, ceil_mode = false, channels = 64 : si32, dilation = array<i32: 1, 1>, input_height = 112 : si32, input_width = 112 : si32, kernel_size = array<i32: 3, 3>, padding = array<i32: 1, 1>, stride = array<i32: 2, 2>}> : (tensor<1x1x200704x64xbf16, #rows>) -> tensor<1x1x50176x64xbf16, #pooled>
  %2 = "ttnn.to_layout"(%y) : (tensor<1x1x200704x64xbf16, #tiles>) -> tensor<1x1x200704x64xbf16, #rows>
  %3 = "ttnn.max_pool2d"(%2) <{batch_size = 16 : si32, ceil_mode = false, channels = 64 : si32, dilation = array<i32: 1, 1>, input_height = 112 : si32, input_width = 112 : si32, kernel_size = array<i32: 3, 3>, padding = array<i32: 1, 1>, stride = array<i32: 2, 2>}> : (tensor<1x1x200704x64xbf16, #rows>) -> tensor<1x1x50176x64xbf16, #pooled>
  func.return %1, %3, %2 : tensor<1x1x50176x64xbf16, #pooled>, tensor<1x1x50176x64xbf16, #pooled>, tensor<1x1x200704x64xbf16, #rows>
}
