// RUN: invalid

// expected-error: expected tensor<ui32, #ttnn.trace_id>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @begin_trace_capture(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.begin_trace_capture"(%0) <{cq_id = 0 : ui32}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected tensor<ui32, #ttnn.trace_id>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @end_trace_capture(%0: !ttnn.device, %1: tensor<2x3xbf16, #ttnn_layout>) {
  "ttnn.end_trace_capture"(%0, %1) <{cq_id = 0 : ui32}> : (!ttnn.device, tensor<2x3xbf16, #ttnn_layout>) -> ()
  func.return
}

// -----

// expected-error: expected tensor<ui32, #ttnn.trace_id>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @execute_trace(%0: !ttnn.device, %1: tensor<2x3xbf16, #ttnn_layout>) {
  "ttnn.execute_trace"(%0, %1) <{cq_id = 0 : ui32, blocking = false}> : (!ttnn.device, tensor<2x3xbf16, #ttnn_layout>) -> ()
  func.return
}

// -----

// expected-error: device_resident_input_count is 3, expected 0 to 2, the number of inputs
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @capture_or_execute_trace(%0: !ttnn.device, %1: tensor<2x3xbf16, #ttnn_layout>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.capture_or_execute_trace"(%0, %1, %2) <{allocate_slots_callee = @allocate, capture_callee = @capture, execute_callee = @execute, device_resident_input_count = 3 : i32, operandSegmentSizes = array<i32: 1, 2, 0>}> : (!ttnn.device, tensor<2x3xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: capture_callee
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @capture_or_execute_trace(%0: !ttnn.device, %1: tensor<2x3xbf16, #ttnn_layout>, %2: tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout> {
  %3 = "ttnn.capture_or_execute_trace"(%0, %1, %2) <{allocate_slots_callee = @allocate, execute_callee = @execute, operandSegmentSizes = array<i32: 1, 2, 0>}> : (!ttnn.device, tensor<2x3xbf16, #ttnn_layout>, tensor<4xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %3 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: host_tensor has shape (2, 3), expected device_tensor's (2, 4)
#dram = #ttnn.buffer_type<dram>
#system_memory = #ttnn.buffer_type<system_memory>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @write_tensor(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout1>) {
  "ttnn.write_tensor"(%0, %1) <{blocking = false, cq_id = 0 : ui32}> : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout1>) -> ()
  func.return
}

// -----

// expected-error: src has shape (2, 3), expected dst's (2, 4)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @copy(%0: tensor<2x3xbf16, #ttnn_layout>, %1: tensor<2x4xbf16, #ttnn_layout>) {
  "ttnn.copy"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, tensor<2x4xbf16, #ttnn_layout>) -> ()
  func.return
}
