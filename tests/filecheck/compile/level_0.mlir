// RUN: compile

// CHECK: func.func public @main(
// CHECK: %[[B:.*]] = "ttnn.linear"(%{{.*}}) <{transpose_a = false, transpose_b = false, compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>}>
// CHECK: %[[R:.*]] = "ttnn.relu"(%[[B]])
// CHECK-NEXT: "ttnn.deallocate"(%[[B]])
// CHECK-NEXT: func.return %[[R]]
func.func @main(%x: tensor<32x64xbf16> {ttir.name = "x"}, %w: tensor<64x128xbf16> {ttcore.argument_type = "parameter"}, %b: tensor<128xbf16> {ttcore.argument_type = "parameter"}) -> tensor<32x128xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<128xbf16>) -> tensor<32x128xbf16>
  %2 = stablehlo.add %0, %1 : tensor<32x128xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<32x128xbf16>
  %3 = stablehlo.maximum %2, %zero : tensor<32x128xbf16>
  return %3 : tensor<32x128xbf16>
}
