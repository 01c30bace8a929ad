// RUN: pass=ttnn-fuse

#dram = #ttnn.buffer_type<dram>
#whole = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#part = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
!x = tensor<1x1x32x64xbf16, #whole>
!half = tensor<1x1x32x32xbf16, #part>

// CHECK-LABEL: func.func @rotated(
func.func @rotated(%x: !x, %cos: !x, %sin: !x) -> !x {
  // CHECK-NEXT: %[[R:.*]] = "ttnn.rotary_embedding"(%x, %cos, %sin)
  // CHECK-NEXT: func.return %[[R]]
  %lo = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 32 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %hi = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 32 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %n = "ttnn.neg"(%hi) : (!half) -> !half
  %j = "ttnn.concat"(%n, %lo) <{dim = 3 : si32}> : (!half, !half) -> !x
  %0 = "ttnn.multiply"(%x, %cos) : (!x, !x) -> !x
  %1 = "ttnn.multiply"(%j, %sin) : (!x, !x) -> !x
  %2 = "ttnn.add"(%0, %1) : (!x, !x) -> !x
  func.return %2 : !x
}

// Not fused: negating the first half rotates in the other direction.
// CHECK-LABEL: func.func @turned_back(
func.func @turned_back(%x: !x, %cos: !x, %sin: !x) -> !x {
  // CHECK-NOT: "ttnn.rotary_embedding"
  // CHECK: func.return
  %lo = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 32 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %hi = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 32 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %n = "ttnn.neg"(%lo) : (!half) -> !half
  %j = "ttnn.concat"(%n, %hi) <{dim = 3 : si32}> : (!half, !half) -> !x
  %0 = "ttnn.multiply"(%x, %cos) : (!x, !x) -> !x
  %1 = "ttnn.multiply"(%j, %sin) : (!x, !x) -> !x
  %2 = "ttnn.add"(%0, %1) : (!x, !x) -> !x
  func.return %2 : !x
}

// CHECK-LABEL: func.func @product_used_elsewhere(
func.func @product_used_elsewhere(%x: !x, %cos: !x, %sin: !x) -> (!x, !x) {
  // CHECK-NOT: "ttnn.rotary_embedding"
  // CHECK: func.return
  %lo = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 32 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %hi = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 32 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %n = "ttnn.neg"(%hi) : (!half) -> !half
  %j = "ttnn.concat"(%n, %lo) <{dim = 3 : si32}> : (!half, !half) -> !x
  %0 = "ttnn.multiply"(%x, %cos) : (!x, !x) -> !x
  %1 = "ttnn.multiply"(%j, %sin) : (!x, !x) -> !x
  %2 = "ttnn.add"(%0, %1) : (!x, !x) -> !x
  func.return %0, %2 : !x, !x
}

// If rows do not fill a tile, TT-NN's result has padding rows, which a slice removes.
!one = tensor<1x1x1x64xbf16, #whole>
!one_half = tensor<1x1x1x32xbf16, #part>
// CHECK-LABEL: func.func @one_row(
func.func @one_row(%x: !one, %cos: !one, %sin: !one) -> !one {
  // CHECK-NEXT: %[[R:.*]] = "ttnn.rotary_embedding"(%x, %cos, %sin) {{.*}} -> tensor<1x1x32x64xbf16
  // CHECK-NEXT: "ttnn.slice_static"(%[[R]]) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 1 : i32, 64 : i32]
  // CHECK-NEXT: func.return
  %lo = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 1 : i32, 32 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!one) -> !one_half
  %hi = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 32 : i32], ends = [1 : i32, 1 : i32, 1 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!one) -> !one_half
  %n = "ttnn.neg"(%hi) : (!one_half) -> !one_half
  %j = "ttnn.concat"(%n, %lo) <{dim = 3 : si32}> : (!one_half, !one_half) -> !one
  %0 = "ttnn.multiply"(%x, %cos) : (!one, !one) -> !one
  %1 = "ttnn.multiply"(%j, %sin) : (!one, !one) -> !one
  %2 = "ttnn.add"(%0, %1) : (!one, !one) -> !one
  func.return %2 : !one
}

// The embedding is written half by half, with tables for one half.
// CHECK-LABEL: func.func @by_halves(
func.func @by_halves(%x: !x, %cos: !half, %sin: !half) -> !x {
  // CHECK-DAG: %[[C:.*]] = "ttnn.concat"(%cos, %cos) <{dim = 3 : si32}>
  // CHECK-DAG: %[[S:.*]] = "ttnn.concat"(%sin, %sin) <{dim = 3 : si32}>
  // CHECK: "ttnn.rotary_embedding"(%x, %[[C]], %[[S]])
  // CHECK-NEXT: func.return
  %a = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 32 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %b = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 32 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %0 = "ttnn.multiply"(%a, %cos) : (!half, !half) -> !half
  %1 = "ttnn.multiply"(%b, %sin) : (!half, !half) -> !half
  %2 = "ttnn.subtract"(%0, %1) : (!half, !half) -> !half
  %3 = "ttnn.multiply"(%b, %cos) : (!half, !half) -> !half
  %4 = "ttnn.multiply"(%sin, %a) : (!half, !half) -> !half
  %5 = "ttnn.add"(%4, %3) : (!half, !half) -> !half
  %6 = "ttnn.concat"(%2, %5) <{dim = 3 : si32}> : (!half, !half) -> !x
  func.return %6 : !x
}

// Not fused: each half is multiplied by the other's table.
// CHECK-LABEL: func.func @by_halves_mixed(
func.func @by_halves_mixed(%x: !x, %cos: !half, %sin: !half) -> !x {
  // CHECK-NOT: "ttnn.rotary_embedding"
  // CHECK: func.return
  %a = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 32 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %b = "ttnn.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32, 32 : i32], ends = [1 : i32, 1 : i32, 32 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (!x) -> !half
  %0 = "ttnn.multiply"(%a, %cos) : (!half, !half) -> !half
  %1 = "ttnn.multiply"(%b, %sin) : (!half, !half) -> !half
  %2 = "ttnn.subtract"(%0, %1) : (!half, !half) -> !half
  %3 = "ttnn.multiply"(%a, %cos) : (!half, !half) -> !half
  %4 = "ttnn.multiply"(%b, %sin) : (!half, !half) -> !half
  %5 = "ttnn.add"(%4, %3) : (!half, !half) -> !half
  %6 = "ttnn.concat"(%2, %5) <{dim = 3 : si32}> : (!half, !half) -> !x
  func.return %6 : !x
}
