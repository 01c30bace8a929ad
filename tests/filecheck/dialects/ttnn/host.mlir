// RUN: roundtrip

#system_memory = #ttnn.buffer_type<system_memory>
#bits = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2xbf16, #system_memory>>
#pairs = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2xcomplex<f32>, #system_memory>>

// CHECK-LABEL: func.func @host_call(
func.func @host_call(%0: tensor<2xbf16, #bits>) -> tensor<2xcomplex<f32>, #pairs> {
  // CHECK: "ttnn.host_call"(%{{.*}}) <{module = "module {}", ops = ["stablehlo.convert"], input_types = ["bf16"], output_types = ["complex<f32>"]}> : (tensor<2xbf16, {{.*}}>) -> tensor<2xcomplex<f32>, {{.*}}>
  %1 = "ttnn.host_call"(%0) <{module = "module {}", ops = ["stablehlo.convert"], input_types = ["bf16"], output_types = ["complex<f32>"]}> : (tensor<2xbf16, #bits>) -> tensor<2xcomplex<f32>, #pairs>
  func.return %1 : tensor<2xcomplex<f32>, #pairs>
}

// CHECK-LABEL: func.func @host_callback(
func.func @host_callback(%0: tensor<2xbf16, #bits>) {
  // CHECK: "ttnn.host_callback"(%{{.*}}) <{callback = "7", input_types = ["bf16"], output_types = []}> : (tensor<2xbf16, {{.*}}>) -> ()
  "ttnn.host_callback"(%0) <{callback = "7", input_types = ["bf16"], output_types = []}> : (tensor<2xbf16, #bits>) -> ()
  func.return
}
