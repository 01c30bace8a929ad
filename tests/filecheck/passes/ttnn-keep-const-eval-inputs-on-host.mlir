// RUN: pass=ttnn-keep-const-eval-inputs-on-host

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xbf16, #dram>, <interleaved>>
#matrix = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#kernels = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3), <1x1>, memref<2048x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

func.func private @separate_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

func.func private @separate_const_eval_1(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.log"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func private @separate_const_eval_0(
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%0)
// CHECK-NEXT: %[[M:.*]] = "ttnn.to_device"(%[[T]], %[[D]])
// CHECK-NEXT: "ttnn.exp"(%[[M]])
// CHECK-LABEL: func.func public @separate(
func.func public @separate(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2xbf16, #ttnn_layout> {
  %0 = ttcore.load_cached(@separate_const_eval_1, [%v]) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %1 = ttcore.load_cached(@separate_const_eval_0, [%w]) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %2 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout>
  %3 = "ttnn.add"(%2, %1) : (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %4 = "ttnn.add"(%3, %0) : (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %4 : tensor<2x2xbf16, #ttnn_layout>
}

func.func private @raw_and_transformed_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

// The program itself reads the parameter too, so it stays on the device.
// CHECK-LABEL: func.func private @raw_and_transformed_const_eval_0(
// CHECK-NEXT: "ttnn.exp"(%0)
// CHECK-LABEL: func.func public @raw_and_transformed(
func.func public @raw_and_transformed(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2xbf16, #ttnn_layout> {
  %0 = ttcore.load_cached(@raw_and_transformed_const_eval_0, [%w]) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %1 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout>
  %2 = "ttnn.add"(%1, %w) : (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %3 = "ttnn.add"(%2, %0) : (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %3 : tensor<2x2xbf16, #ttnn_layout>
}

func.func private @constant_result_const_eval_0(%0: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func private @constant_result_const_eval_0(
// CHECK: "ttnn.to_device"
// CHECK-LABEL: func.func public @constant_result(
func.func public @constant_result(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) {
  %0 = ttcore.load_cached(@constant_result_const_eval_0, [%w]) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  %1 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout>
  %2 = "ttnn.exp"(%1) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %0, %2, %0 : tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func public @arguments_returned(
// CHECK-NOT: to_device
// CHECK: func.return %w, %{{.*}}, %w
func.func public @arguments_returned(%x: tensor<2x2xbf16, #ttnn_layout1>, %w: tensor<2x2xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout>
  func.return %w, %0, %w : tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>, tensor<2x2xbf16, #ttnn_layout>
}

func.func private @weights_const_eval_0(%0: tensor<64x32x1x1xbf16, #kernels>) -> tensor<64x32xbf16, #matrix> attributes {tt.function_type = "const_eval"} {
  %1 = "ttnn.reshape"(%0) <{shape = [64 : i32, 32 : i32]}> : (tensor<64x32x1x1xbf16, #kernels>) -> tensor<64x32xbf16, #matrix>
  %2 = "ttnn.exp"(%1) : (tensor<64x32xbf16, #matrix>) -> tensor<64x32xbf16, #matrix>
  func.return %2 : tensor<64x32xbf16, #matrix>
}

// The host reshapes weights that would take a tile per element on the device.
// CHECK-LABEL: func.func private @weights_const_eval_0(
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: %[[W:.*]] = "ttnn.reshape"(%0)
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%[[W]])
// CHECK-NEXT: %[[M:.*]] = "ttnn.to_device"(%[[T]], %[[D]])
// CHECK-NEXT: "ttnn.exp"(%[[M]])
func.func public @weights(%w: tensor<64x32x1x1xbf16, #kernels> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<64x32xbf16, #matrix> {
  %0 = ttcore.load_cached(@weights_const_eval_0, [%w]) : (tensor<64x32x1x1xbf16, #kernels>) -> tensor<64x32xbf16, #matrix>
  func.return %0 : tensor<64x32xbf16, #matrix>
}
