// RUN: invalid

#dram = #ttnn.buffer_type<dram>
#bits = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2xbf16, #dram>, <interleaved>>

// expected-error: 'ttnn.host_call' op: expected row-major tensors in system memory
func.func @host_call(%0: tensor<2xbf16, #bits>) -> tensor<2xbf16, #bits> {
  %1 = "ttnn.host_call"(%0) <{module = "module {}", ops = [], input_types = ["bf16"], output_types = ["bf16"]}> : (tensor<2xbf16, #bits>) -> tensor<2xbf16, #bits>
  func.return %1 : tensor<2xbf16, #bits>
}

// -----

// expected-error: output_types has 2 types for 0 values
func.func @host_call() {
  "ttnn.host_call"() <{module = "module {}", ops = [], input_types = [], output_types = ["bf16", "f32"]}> : () -> ()
  func.return
}

// -----

#dram = #ttnn.buffer_type<dram>
#bits = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2xbf16, #dram>, <interleaved>>

// expected-error: 'ttnn.host_callback' op: expected row-major tensors in system memory
func.func @host_callback(%0: tensor<2xbf16, #bits>) {
  "ttnn.host_callback"(%0) <{callback = "7", input_types = ["bf16"], output_types = []}> : (tensor<2xbf16, #bits>) -> ()
  func.return
}
