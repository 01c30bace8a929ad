// RUN: compile level=2 enable_trace=true dtype=bfp8 arch=p150

// CHECK: memref<2x4x!ttcore.tile<32x32, bfp_bf8>, #dram>
// CHECK-LABEL: func.func private @main_const_eval_0(
// CHECK: "ttnn.to_layout"(%{{.*}}) : (tensor<64x128xbf16, #[[H:.*]]>) -> tensor<64x128xbf16, #[[T:.*]]>
// CHECK-LABEL: func.func private @trace_0_main(
// CHECK: "ttnn.linear"(%{{.*}}) <{transpose_a = false, transpose_b = false, activation = "relu", compute_config = #ttnn.device_compute_kernel_config<math_fidelity = hifi2, fp32_dest_acc_en = true>}>
// CHECK-LABEL: func.func public @main(
// CHECK: %[[W:.*]] = ttcore.load_cached(@main_const_eval_0
// CHECK: %[[R:.*]] = "ttnn.capture_or_execute_trace"(
// CHECK: func.return %[[R]]
func.func @main(%x: tensor<32x64xbf16> {ttir.name = "x"}, %w: tensor<64x128xbf16> {ttcore.argument_type = "parameter"}, %b: tensor<128xbf16> {ttcore.argument_type = "parameter"}) -> tensor<32x128xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<128xbf16>) -> tensor<32x128xbf16>
  %2 = stablehlo.add %0, %1 : tensor<32x128xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<32x128xbf16>
  %3 = stablehlo.maximum %2, %zero : tensor<32x128xbf16>
  return %3 : tensor<32x128xbf16>
}
