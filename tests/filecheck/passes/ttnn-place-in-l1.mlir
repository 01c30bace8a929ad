// RUN: pass=ttnn-place-in-l1

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x64xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<8192x8192xbf16, #dram>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<256x256x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4096x4096xbf16, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<128x128x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK: #[[L:ttnn_layout[0-9]*]] = {{.*}}<8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
// Results stay in L1 until their last use, but for those that are returned.
// CHECK-LABEL: func.func public @chain(
// CHECK: "ttnn.to_layout"(%x) : {{.*}} -> tensor<64x64xbf16, #[[L]]>
// CHECK-NEXT: "ttnn.matmul"({{.*}} -> tensor<64x64xbf16, #[[L]]>
// CHECK-NEXT: "ttnn.exp"({{.*}} -> tensor<64x64xbf16, #[[L]]>
// CHECK-NEXT: "ttnn.add"({{.*}} -> tensor<64x64xbf16, #[[D:.*]]>
// CHECK-NEXT: "ttnn.log"({{.*}} -> tensor<64x64xbf16, #[[D]]>
// CHECK-NEXT: func.return
func.func public @chain(%x: tensor<64x64xbf16, #ttnn_layout>, %w: tensor<64x64xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<64x64xbf16, #ttnn_layout1>, tensor<64x64xbf16, #ttnn_layout1>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<64x64xbf16, #ttnn_layout>) -> tensor<64x64xbf16, #ttnn_layout1>
  %1 = "ttnn.matmul"(%0, %w) <{transpose_a = false, transpose_b = false}> : (tensor<64x64xbf16, #ttnn_layout1>, tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  %2 = "ttnn.exp"(%1) : (tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%2, %1) : (tensor<64x64xbf16, #ttnn_layout1>, tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  %4 = "ttnn.log"(%3) : (tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  func.return %3, %4 : tensor<64x64xbf16, #ttnn_layout1>, tensor<64x64xbf16, #ttnn_layout1>
}

func.func private @constants_stay_const_eval_0(%0: tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  func.return %1 : tensor<64x64xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @constants_stay(
// CHECK: %[[C:.*]] = ttcore.load_cached({{.*}} -> tensor<64x64xbf16, #[[D]]>
// CHECK: "ttnn.add"(%{{.*}}, %[[C]]) : (tensor<64x64xbf16, #[[L]]>, tensor<64x64xbf16, #[[D]]>) -> tensor<64x64xbf16, #[[L]]>
func.func public @constants_stay(%x: tensor<64x64xbf16, #ttnn_layout>, %w: tensor<64x64xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<64x64xbf16, #ttnn_layout1> {
  %0 = ttcore.load_cached(@constants_stay_const_eval_0, [%w]) : (tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  %1 = "ttnn.to_layout"(%x) : (tensor<64x64xbf16, #ttnn_layout>) -> tensor<64x64xbf16, #ttnn_layout1>
  %2 = "ttnn.add"(%1, %0) : (tensor<64x64xbf16, #ttnn_layout1>, tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  %3 = "ttnn.exp"(%2) : (tensor<64x64xbf16, #ttnn_layout1>) -> tensor<64x64xbf16, #ttnn_layout1>
  func.return %3 : tensor<64x64xbf16, #ttnn_layout1>
}

// 2 MiB a core for each tensor.
// CHECK-LABEL: func.func public @too_large(
// CHECK: "ttnn.exp"({{.*}}) : (tensor<8192x8192xbf16, #[[H:.*]]>) -> tensor<8192x8192xbf16, #[[H]]>
// CHECK-NEXT: "ttnn.log"({{.*}}) : (tensor<8192x8192xbf16, #[[H]]>) -> tensor<8192x8192xbf16, #[[H]]>
func.func public @too_large(%x: tensor<8192x8192xbf16, #ttnn_layout2>) -> tensor<8192x8192xbf16, #ttnn_layout3> {
  %0 = "ttnn.to_layout"(%x) : (tensor<8192x8192xbf16, #ttnn_layout2>) -> tensor<8192x8192xbf16, #ttnn_layout3>
  %1 = "ttnn.exp"(%0) : (tensor<8192x8192xbf16, #ttnn_layout3>) -> tensor<8192x8192xbf16, #ttnn_layout3>
  %2 = "ttnn.log"(%1) : (tensor<8192x8192xbf16, #ttnn_layout3>) -> tensor<8192x8192xbf16, #ttnn_layout3>
  func.return %2 : tensor<8192x8192xbf16, #ttnn_layout3>
}

// 512 KiB a core for each tensor: what comes while one lives goes to DRAM.
// CHECK-LABEL: func.func public @room_for_one(
// CHECK: %[[X:.*]] = "ttnn.to_layout"(%x) : {{.*}} -> tensor<4096x4096xbf16, #[[M:.*]]>
// CHECK-NEXT: %[[A:.*]] = "ttnn.exp"(%[[X]]) : (tensor<4096x4096xbf16, #[[M]]>) -> tensor<4096x4096xbf16, #[[N:.*]]>
// CHECK-NEXT: %[[B:.*]] = "ttnn.log"(%[[A]]) : (tensor<4096x4096xbf16, #[[N]]>) -> tensor<4096x4096xbf16, #[[M]]>
// CHECK-NEXT: %[[C:.*]] = "ttnn.sin"(%[[B]]) : (tensor<4096x4096xbf16, #[[M]]>) -> tensor<4096x4096xbf16, #[[N]]>
// CHECK-NEXT: "ttnn.add"(%[[C]], %[[A]])
func.func public @room_for_one(%x: tensor<4096x4096xbf16, #ttnn_layout4>) -> tensor<4096x4096xbf16, #ttnn_layout5> {
  %0 = "ttnn.to_layout"(%x) : (tensor<4096x4096xbf16, #ttnn_layout4>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %1 = "ttnn.exp"(%0) : (tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %2 = "ttnn.log"(%1) : (tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %3 = "ttnn.sin"(%2) : (tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  %4 = "ttnn.add"(%3, %1) : (tensor<4096x4096xbf16, #ttnn_layout5>, tensor<4096x4096xbf16, #ttnn_layout5>) -> tensor<4096x4096xbf16, #ttnn_layout5>
  func.return %4 : tensor<4096x4096xbf16, #ttnn_layout5>
}
