// RUN: invalid

// expected-error: 'ttir.host_call' op: input_types has 0 types for 1 values
func.func @host_call(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = "ttir.host_call"(%0) <{module = "module {}", ops = [], input_types = [], output_types = ["bf16"]}> : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: expected a list of strings, ["a", "b"], got [1 : i8]
func.func @host_call(%0: tensor<2xbf16>) -> tensor<2xbf16> {
  %1 = "ttir.host_call"(%0) <{module = "module {}", ops = [1 : i8], input_types = ["bf16"], output_types = ["bf16"]}> : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %1 : tensor<2xbf16>
}

// -----

// expected-error: 'ttir.host_callback' op: output_types has 1 types for 0 values
func.func @host_callback(%0: tensor<2xbf16>) {
  "ttir.host_callback"(%0) <{callback = "7", input_types = ["bf16"], output_types = ["bf16"]}> : (tensor<2xbf16>) -> ()
  func.return
}
