// RUN: pass=ttnn-propagate-row-major

#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), <1x1>, memref<576x64xbf16, #dram>, <interleaved>>
#tiles = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), <1x1>, memref<18x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#permuted_tiles = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 2048 + d1 * 32 + d2, d3), <1x1>, memref<4096x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#permuted_rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 3 + d2, d3), <1x1>, memref<12288x3xbf16, #dram>, <interleaved>>
#plain_rows = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x64xbf16, #dram>, <interleaved>>
#plain_tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Tiles would pad 3x3 to 32x32, so the tensor is never tilized.
// CHECK-LABEL: func.func public @weights(
// CHECK-NEXT: %[[P:.*]] = "ttnn.permute"(%w) {{.*}} -> tensor<64x64x3x3xbf16, #[[R:.*]]>
// CHECK-NEXT: func.return %[[P]]
func.func public @weights(%w: tensor<3x3x64x64xbf16, #rows>) -> tensor<64x64x3x3xbf16, #permuted_rows> {
  %0 = "ttnn.to_layout"(%w) : (tensor<3x3x64x64xbf16, #rows>) -> tensor<3x3x64x64xbf16, #tiles>
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 3, 2, 0, 1>}> : (tensor<3x3x64x64xbf16, #tiles>) -> tensor<64x64x3x3xbf16, #permuted_tiles>
  %2 = "ttnn.to_layout"(%1) : (tensor<64x64x3x3xbf16, #permuted_tiles>) -> tensor<64x64x3x3xbf16, #permuted_rows>
  func.return %2 : tensor<64x64x3x3xbf16, #permuted_rows>
}

// Transposing a matrix tile by tile is faster than element by element.
// CHECK-LABEL: func.func public @matrix(
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: "ttnn.permute"(%[[T]])
func.func public @matrix(%x: tensor<64x64xbf16, #plain_rows>) -> tensor<64x64xbf16, #plain_tiles> {
  %0 = "ttnn.to_layout"(%x) : (tensor<64x64xbf16, #plain_rows>) -> tensor<64x64xbf16, #plain_tiles>
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<64x64xbf16, #plain_tiles>) -> tensor<64x64xbf16, #plain_tiles>
  %2 = "ttnn.exp"(%1) : (tensor<64x64xbf16, #plain_tiles>) -> tensor<64x64xbf16, #plain_tiles>
  func.return %2 : tensor<64x64xbf16, #plain_tiles>
}

// Another user of the tiles keeps the conversion in its place.
// CHECK-LABEL: func.func public @shared(
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%w)
// CHECK-NEXT: "ttnn.permute"(%[[T]])
func.func public @shared(%w: tensor<3x3x64x64xbf16, #rows>) -> (tensor<64x64x3x3xbf16, #permuted_tiles>, tensor<3x3x64x64xbf16, #tiles>) {
  %0 = "ttnn.to_layout"(%w) : (tensor<3x3x64x64xbf16, #rows>) -> tensor<3x3x64x64xbf16, #tiles>
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 3, 2, 0, 1>}> : (tensor<3x3x64x64xbf16, #tiles>) -> tensor<64x64x3x3xbf16, #permuted_tiles>
  func.return %1, %0 : tensor<64x64x3x3xbf16, #permuted_tiles>, tensor<3x3x64x64xbf16, #tiles>
}

#heads_rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 4 + d2, d3), <1x1>, memref<256x32xbf16, #dram>, <interleaved>>
#heads_tiles = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 2048 + d1 * 32 + d2, d3), <1x1>, memref<64x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#split_tiles = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// Tilizing an input is free, because the caller does it; a parameter is converted on the device, once.
// CHECK-LABEL: func.func public @heads(
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: "ttnn.permute"(%[[T]])
// CHECK-NEXT: %[[P:.*]] = "ttnn.permute"(%w)
// CHECK-NEXT: "ttnn.to_layout"(%[[P]])
func.func public @heads(%x: tensor<1x64x4x32xbf16, #heads_rows>, %w: tensor<1x64x4x32xbf16, #heads_rows> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<1x4x64x32xbf16, #split_tiles>, tensor<1x4x64x32xbf16, #split_tiles>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<1x64x4x32xbf16, #heads_rows>) -> tensor<1x64x4x32xbf16, #heads_tiles>
  %1 = "ttnn.permute"(%0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<1x64x4x32xbf16, #heads_tiles>) -> tensor<1x4x64x32xbf16, #split_tiles>
  %2 = "ttnn.to_layout"(%w) : (tensor<1x64x4x32xbf16, #heads_rows>) -> tensor<1x64x4x32xbf16, #heads_tiles>
  %3 = "ttnn.permute"(%2) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<1x64x4x32xbf16, #heads_tiles>) -> tensor<1x4x64x32xbf16, #split_tiles>
  func.return %1, %3 : tensor<1x4x64x32xbf16, #split_tiles>, tensor<1x4x64x32xbf16, #split_tiles>
}
