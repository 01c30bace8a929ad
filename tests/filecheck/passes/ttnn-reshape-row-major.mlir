// RUN: pass=ttnn-reshape-row-major

#dram = #ttnn.buffer_type<dram>
#logits = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x4008x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#users = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<32x4008x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#rows = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x128x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#heads = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 1024 + d1, d2), <1x1>, memref<32x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#more = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 512 + d1, d2), <1x1>, memref<16x8x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#blocks = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x128x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#block_heads = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 1024 + d1, d2), <1x1>, memref<32x4x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#small = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#view = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// The caller takes the rows of a result; their reshape is a view.
// CHECK-LABEL: func.func public @returned(
// CHECK-NEXT: %[[R:.*]] = "ttnn.to_layout"(%x) {{.*}} -> tensor<1x32x128256xbf16, #[[ROWS:.*]]>
// CHECK-NEXT: %[[V:.*]] = "ttnn.reshape"(%[[R]])
// CHECK-NEXT: func.return %[[V]]
func.func public @returned(%x: tensor<1x32x128256xbf16, #logits>) -> tensor<32x1x128256xbf16, #users> {
  %0 = "ttnn.reshape"(%x) <{shape = [32 : i32, 1 : i32, 128256 : i32]}> : (tensor<1x32x128256xbf16, #logits>) -> tensor<32x1x128256xbf16, #users>
  func.return %0 : tensor<32x1x128256xbf16, #users>
}

// Other ops read tiles. Two reshapes of a value share its rows.
// CHECK-LABEL: func.func public @read(
// CHECK-NEXT: %[[R:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: %[[A:.*]] = "ttnn.reshape"(%[[R]])
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%[[A]])
// CHECK-NEXT: "ttnn.exp"(%[[T]])
// CHECK-NEXT: %[[B:.*]] = "ttnn.reshape"(%[[R]])
// CHECK-NEXT: func.return %{{.*}}, %[[B]]
func.func public @read(%x: tensor<1x32x4096xbf16, #rows>) -> (tensor<1x1024x128xbf16, #heads>, tensor<1x512x256xbf16, #more>) {
  %0 = "ttnn.reshape"(%x) <{shape = [1 : i32, 1024 : i32, 128 : i32]}> : (tensor<1x32x4096xbf16, #rows>) -> tensor<1x1024x128xbf16, #heads>
  %1 = "ttnn.exp"(%0) : (tensor<1x1024x128xbf16, #heads>) -> tensor<1x1024x128xbf16, #heads>
  %2 = "ttnn.reshape"(%x) <{shape = [1 : i32, 512 : i32, 256 : i32]}> : (tensor<1x32x4096xbf16, #rows>) -> tensor<1x512x256xbf16, #more>
  func.return %1, %2 : tensor<1x1024x128xbf16, #heads>, tensor<1x512x256xbf16, #more>
}

// A function that others call keeps the layout of its results.
// CHECK-LABEL: func.func private @called(
// CHECK: %[[T:.*]] = "ttnn.to_layout"({{.*}} -> tensor<1x1024x128xbf16, #[[TILES:.*]]>
// CHECK-NEXT: func.return %[[T]]
func.func private @called(%x: tensor<1x32x4096xbf16, #rows>) -> tensor<1x1024x128xbf16, #heads> attributes {tt.function_type = "forward_device"} {
  %0 = "ttnn.reshape"(%x) <{shape = [1 : i32, 1024 : i32, 128 : i32]}> : (tensor<1x32x4096xbf16, #rows>) -> tensor<1x1024x128xbf16, #heads>
  func.return %0 : tensor<1x1024x128xbf16, #heads>
}

// Block floats have no rows, and a view of tiles is free.
// CHECK-LABEL: func.func public @kept(
// CHECK-NEXT: "ttnn.reshape"(%x)
// CHECK-NEXT: "ttnn.reshape"(%y)
// CHECK-NEXT: func.return
func.func public @kept(%x: tensor<1x32x4096xbf16, #blocks>, %y: tensor<32x32xbf16, #small>) -> (tensor<1x1024x128xbf16, #block_heads>, tensor<1x32x32xbf16, #view>) {
  %0 = "ttnn.reshape"(%x) <{shape = [1 : i32, 1024 : i32, 128 : i32]}> : (tensor<1x32x4096xbf16, #blocks>) -> tensor<1x1024x128xbf16, #block_heads>
  %1 = "ttnn.reshape"(%y) <{shape = [1 : i32, 32 : i32, 32 : i32]}> : (tensor<32x32xbf16, #small>) -> tensor<1x32x32xbf16, #view>
  func.return %0, %1 : tensor<1x1024x128xbf16, #block_heads>, tensor<1x32x32xbf16, #view>
}
