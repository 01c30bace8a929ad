// RUN: roundtrip

// CHECK-LABEL: func.func @host_call(
func.func @host_call(%0: tensor<2xbf16>, %1: tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<si32>) {
  // CHECK: "ttir.host_call"(%{{.*}}, %{{.*}}) <{module = "module {}", ops = ["stablehlo.complex at f.py:1"], input_types = ["bf16", "complex<f32>"], output_types = ["complex<f32>", "i64"]}> : (tensor<2xbf16>, tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<si32>)
  %2, %3 = "ttir.host_call"(%0, %1) <{module = "module {}", ops = ["stablehlo.complex at f.py:1"], input_types = ["bf16", "complex<f32>"], output_types = ["complex<f32>", "i64"]}> : (tensor<2xbf16>, tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<si32>)
  func.return %2, %3 : tensor<2xcomplex<f32>>, tensor<si32>
}

// CHECK-LABEL: func.func @host_callback(
func.func @host_callback(%0: tensor<2xbf16>) -> tensor<si32> {
  // CHECK: "ttir.host_callback"(%{{.*}}) <{callback = "7", input_types = ["bf16"], output_types = ["i32"]}> : (tensor<2xbf16>) -> tensor<si32>
  %1 = "ttir.host_callback"(%0) <{callback = "7", input_types = ["bf16"], output_types = ["i32"]}> : (tensor<2xbf16>) -> tensor<si32>
  func.return %1 : tensor<si32>
}
