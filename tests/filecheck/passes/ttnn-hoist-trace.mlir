// RUN: pass=ttnn-hoist-trace

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xbf16, #dram>, <interleaved>>

func.func private @plain_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

// The ops after the cached constants become one function. Its arguments are the constants and, last, the slot of the result.
// CHECK-LABEL: func.func private @trace_0_plain(%0: {{.*}}, %1: {{.*}}, %2: {{.*}} attributes {tt.function_type = "trace_main"}
// CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%1)
// CHECK-NEXT: %[[A:.*]] = "ttnn.add"(%[[X]], %0)
// CHECK-NEXT: "ttnn.copy"(%[[A]], %2)
// CHECK-NEXT: func.return
// There is a slot for the input, which every call passes, and a slot for the result.
// CHECK-LABEL: func.func private @allocate_slots_trace_0_plain() -> (tensor<2x2xbf16, #ttnn_layout{{[0-9]*}}>, tensor<2x2xbf16, #ttnn_layout{{[0-9]*}}>) attributes {tt.function_type = "trace_allocate_slots"}
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: %[[S:.*]] = "ttnn.empty"(%[[D]]) <{shape = #ttnn.shape<2x2>}>
// CHECK-NEXT: %[[R:.*]] = "ttnn.empty"(%[[D]])
// CHECK-NEXT: func.return %[[S]], %[[R]]
// CHECK-LABEL: func.func private @run_and_capture_trace_0_plain(%0: {{.*}}, %1: {{.*}}, %2: {{.*}}, %3: {{.*}}) -> tensor<ui32, #ttnn.trace_id> attributes {tt.function_type = "trace_run_and_capture"}
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: "ttnn.write_tensor"(%1, %2) <{blocking = false, cq_id = 0 : ui32}>
// CHECK-NEXT: func.call @trace_0_plain(%0, %2, %3)
// CHECK-NEXT: %[[T:.*]] = "ttnn.begin_trace_capture"(%[[D]])
// CHECK-NEXT: func.call @trace_0_plain(%0, %2, %3)
// CHECK-NEXT: "ttnn.end_trace_capture"(%[[D]], %[[T]])
// CHECK-NEXT: "ttnn.execute_trace"(%[[D]], %[[T]])
// CHECK-NEXT: func.return %[[T]]
// CHECK-LABEL: func.func private @execute_trace_0_plain(%0: tensor<ui32, #ttnn.trace_id>) attributes {tt.function_type = "trace_execute"}
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: "ttnn.execute_trace"(%[[D]], %0)
// CHECK-NEXT: func.return
// The input is now a host tensor.
// CHECK-LABEL: func.func public @plain(
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: %[[C:.*]] = ttcore.load_cached(@plain_const_eval_0, [%w])
// CHECK-NEXT: %[[R:.*]] = "ttnn.capture_or_execute_trace"(%[[D]], %[[C]], %x) <{allocate_slots_callee = @allocate_slots_trace_0_plain, capture_callee = @run_and_capture_trace_0_plain, execute_callee = @execute_trace_0_plain, device_resident_input_count = 1 : i32, operandSegmentSizes = array<i32: 1, 2, 0>}>
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

// A value that the trace does not compute is returned around it. A value that is returned twice is one result of the trace.
// CHECK-LABEL: func.func private @trace_0_arguments_and_constants_returned(%0: {{[^,]*}}, #ttnn_layout{{[0-9]*}}>, %1: {{[^,]*}}, #ttnn_layout{{[0-9]*}}>) attributes
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
