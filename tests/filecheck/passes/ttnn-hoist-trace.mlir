// RUN: pass=ttnn-hoist-trace

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xbf16, #dram>, <interleaved>>

func.func private @plain_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

// What the cached constants leave over is one function; they come in as arguments.
// CHECK-LABEL: func.func private @trace_0_plain(%0: {{.*}}, %1: {{.*}} attributes {tt.function_type = "trace_main"}
// CHECK-NEXT: "ttnn.get_device"
// CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%0)
// CHECK-NEXT: %[[A:.*]] = "ttnn.add"(%[[X]], %1)
// CHECK-NEXT: func.return %[[A]]
// CHECK-LABEL: func.func public @plain(
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: %[[C:.*]] = ttcore.load_cached(@plain_const_eval_0, [%w])
// CHECK-NEXT: %[[R:.*]] = "ttnn.capture_or_execute_trace"(%[[D]], %x, %[[C]]) <{callee = @trace_0_plain}>
// CHECK-NEXT: func.return %[[R]]
func.func public @plain(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2xbf16, #ttnn_layout> {
  %0 = ttcore.load_cached(@plain_const_eval_0, [%w]) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %1 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout>
  %2 = "ttnn.add"(%1, %0) : (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %2 : tensor<2x2xbf16, #ttnn_layout>
}

func.func private @arguments_and_constants_returned_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

// What is no result of the trace is returned past it; what is one twice comes out of it once.
// CHECK-LABEL: func.func private @trace_0_arguments_and_constants_returned(%0: {{[^,]*}}, #ttnn_layout{{[0-9]*}}>) -> tensor<2x2xbf16
// CHECK-LABEL: func.func public @arguments_and_constants_returned(
// CHECK: %[[C:.*]] = ttcore.load_cached(
// CHECK-NEXT: %[[R:.*]] = "ttnn.capture_or_execute_trace"(%{{.*}}, %x)
// CHECK-NEXT: func.return %[[C]], %w, %[[R]], %[[R]]
func.func public @arguments_and_constants_returned(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) {
  %0 = ttcore.load_cached(@arguments_and_constants_returned_const_eval_0, [%w]) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %1 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout>
  %2 = "ttnn.exp"(%1) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %0, %w, %2, %2 : tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func public @nothing_to_do(
// CHECK-NEXT: func.return %w, %w
func.func public @nothing_to_do(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) {
  func.return %w, %w : tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>
}
