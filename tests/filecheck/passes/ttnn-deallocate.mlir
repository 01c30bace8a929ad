// RUN: pass=ttnn-deallocate

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// A value is freed once, after its last use, also if one op uses it twice. Parameters and returned values are not freed.
// CHECK-LABEL: func.func public @last_uses(
// CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: "ttnn.deallocate"(%x) <{force = false}>
// CHECK-NEXT: %[[A:.*]] = "ttnn.exp"(%[[X]])
// CHECK-NEXT: %[[B:.*]] = "ttnn.multiply"(%[[A]], %[[A]])
// CHECK-NEXT: "ttnn.deallocate"(%[[A]])
// CHECK-NEXT: %[[C:.*]] = "ttnn.add"(%[[B]], %w)
// CHECK-NEXT: "ttnn.deallocate"(%[[B]])
// CHECK-NEXT: "ttnn.add"(%[[C]], %[[X]])
// CHECK-NEXT: "ttnn.deallocate"(%[[X]])
// CHECK-NEXT: func.return
func.func public @last_uses(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.multiply"(%1, %1) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%2, %w) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %4 = "ttnn.add"(%3, %0) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %3, %4 : tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @unused(
// CHECK: %[[B:.*]] = "ttnn.log"
// CHECK-NEXT: "ttnn.deallocate"(%[[B]])
// CHECK-NEXT: func.return
func.func public @unused(%x: tensor<2x2xbf16, #ttnn_layout>, %y: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.log"(%1) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout1>
}

func.func private @cached_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.log"(%1) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<2x2xbf16, #ttnn_layout1>
}

// A const-eval function does not free its arguments, which belong to the caller; the caller does not free its results.
// CHECK-LABEL: func.func private @cached_const_eval_0(
// CHECK-NEXT: %[[A:.*]] = "ttnn.exp"(%0)
// CHECK-NEXT: %[[B:.*]] = "ttnn.log"(%[[A]])
// CHECK-NEXT: "ttnn.deallocate"(%[[A]])
// CHECK-NEXT: func.return %[[B]]
// CHECK-LABEL: func.func public @cached(
// CHECK-NEXT: %[[C:.*]] = ttcore.load_cached
// CHECK: "ttnn.add"(%[[X:.*]], %[[C]])
// CHECK-NEXT: "ttnn.deallocate"(%[[X]])
// CHECK-NEXT: func.return
func.func public @cached(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = ttcore.load_cached(@cached_const_eval_0, [%w]) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.add"(%1, %0) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<2x2xbf16, #ttnn_layout1>
}
