// RUN: pass=ttnn-choose-argument-layouts

#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#rows = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x64xbf16, #dram>, <interleaved>>
#tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x64xbf16, #system_memory>>
!rows = tensor<64x64xbf16, #rows>
!tiles = tensor<64x64xbf16, #tiles>
!host = tensor<64x64xbf16, #host>

// All users convert the argument alike, so the caller converts it.
// CHECK-LABEL: func.func @tiles(%x: tensor<64x64xbf16, #ttnn_layout>)
func.func @tiles(%x: !rows) -> (!tiles, !tiles) {
  // CHECK-NEXT: %[[E:.*]] = "ttnn.exp"(%x)
  // CHECK-NEXT: %[[R:.*]] = "ttnn.relu"(%x)
  // CHECK-NEXT: func.return %[[E]], %[[R]]
  %0 = "ttnn.to_layout"(%x) : (!rows) -> !tiles
  %1 = "ttnn.to_layout"(%x) : (!rows) -> !tiles
  %2 = "ttnn.exp"(%0) : (!tiles) -> !tiles
  %3 = "ttnn.relu"(%1) : (!tiles) -> !tiles
  func.return %2, %3 : !tiles, !tiles
}

// Conversions move to the caller one by one: first the one to row-major, then the one to the host.
// CHECK-LABEL: func.func @host(
func.func @host(%x: !tiles) -> !host {
  // CHECK-NEXT: func.return %x
  %0 = "ttnn.to_layout"(%x) : (!tiles) -> !rows
  %1 = "ttnn.from_device"(%0) : (!rows) -> !host
  func.return %1 : !host
}

// One user reads the row-major tensor, so the argument stays row-major.
// CHECK-LABEL: func.func @both(
func.func @both(%x: !rows) -> (!tiles, !rows) {
  // CHECK-NEXT: "ttnn.to_layout"
  %0 = "ttnn.to_layout"(%x) : (!rows) -> !tiles
  func.return %0, %x : !tiles, !rows
}
