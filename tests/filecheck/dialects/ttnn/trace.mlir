// RUN: roundtrip

#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #system_memory>>

// CHECK-LABEL: func.func @begin_trace_capture(
// CHECK: "ttnn.begin_trace_capture"({{.*}}) <{cq_id = 0 : ui32}> :
func.func @begin_trace_capture(%0: !ttnn.device) -> tensor<ui32, #ttnn.trace_id> {
  %1 = "ttnn.begin_trace_capture"(%0) <{cq_id = 0 : ui32}> : (!ttnn.device) -> tensor<ui32, #ttnn.trace_id>
  func.return %1 : tensor<ui32, #ttnn.trace_id>
}

// CHECK-LABEL: func.func @end_trace_capture(
// CHECK: "ttnn.end_trace_capture"({{.*}}) <{cq_id = 0 : ui32}> :
func.func @end_trace_capture(%0: !ttnn.device, %1: tensor<ui32, #ttnn.trace_id>) {
  "ttnn.end_trace_capture"(%0, %1) <{cq_id = 0 : ui32}> : (!ttnn.device, tensor<ui32, #ttnn.trace_id>) -> ()
  func.return
}

// CHECK-LABEL: func.func @execute_trace(
// CHECK: "ttnn.execute_trace"({{.*}}) <{cq_id = 0 : ui32, blocking = false}> :
func.func @execute_trace(%0: !ttnn.device, %1: tensor<ui32, #ttnn.trace_id>) {
  "ttnn.execute_trace"(%0, %1) <{cq_id = 0 : ui32, blocking = false}> : (!ttnn.device, tensor<ui32, #ttnn.trace_id>) -> ()
  func.return
}

// CHECK-LABEL: func.func @capture_or_execute_trace(
// CHECK: "ttnn.capture_or_execute_trace"({{.*}}) <{allocate_slots_callee = @allocate, capture_callee = @capture, execute_callee = @execute, device_resident_input_count = 1 : i32, operandSegmentSizes = array<i32: 1, 2, 0>}> :
func.func @capture_or_execute_trace(%0: !ttnn.device, %1: tensor<2x3xbf16, #ttnn_layout>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.capture_or_execute_trace"(%0, %1, %2) <{allocate_slots_callee = @allocate, capture_callee = @capture, execute_callee = @execute, device_resident_input_count = 1 : i32, operandSegmentSizes = array<i32: 1, 2, 0>}> : (!ttnn.device, tensor<2x3xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @write_tensor(
// CHECK: "ttnn.write_tensor"({{.*}}) <{blocking = false, cq_id = 0 : ui32}> :
func.func @write_tensor(%0: tensor<2x3xbf16, #ttnn_layout2>, %1: tensor<2x3xbf16, #ttnn_layout>) {
  "ttnn.write_tensor"(%0, %1) <{blocking = false, cq_id = 0 : ui32}> : (tensor<2x3xbf16, #ttnn_layout2>, tensor<2x3xbf16, #ttnn_layout>) -> ()
  func.return
}

// CHECK-LABEL: func.func @copy(
// CHECK: "ttnn.copy"({{.*}}) :
func.func @copy(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x3xbf16, #ttnn_layout>) {
  "ttnn.copy"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x3xbf16, #ttnn_layout>) -> ()
  func.return
}
