// RUN: pass=ttnn-hoist-const-eval

#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func private @separate_const_eval_0(
// CHECK-SAME: attributes {tt.function_type = "const_eval"}
// CHECK-NEXT: "ttnn.exp"
// CHECK-LABEL: func.func private @separate_const_eval_1(
// CHECK-NEXT: "ttnn.log"
// CHECK-LABEL: func.func public @separate(
// CHECK-DAG: %[[A:.*]] = ttcore.load_cached(@separate_const_eval_0, [%w])
// CHECK-DAG: %[[B:.*]] = ttcore.load_cached(@separate_const_eval_1, [%v])
// CHECK: %[[C:.*]] = "ttnn.add"(%{{.*}}, %[[A]])
// CHECK-NEXT: "ttnn.add"(%[[C]], %[[B]])
func.func public @separate(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = "ttnn.exp"(%w) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.log"(%v) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%2, %0) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %4 = "ttnn.add"(%3, %1) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %4 : tensor<2x2xbf16, #ttnn_layout1>
}

// Ops that pass values to each other become one function with several results.
// CHECK-LABEL: func.func private @joined_const_eval_0(
// CHECK-NEXT: %[[E:.*]] = "ttnn.exp"
// CHECK-NEXT: %[[L:.*]] = "ttnn.log"
// CHECK-NEXT: %[[M:.*]] = "ttnn.multiply"(%[[E]], %[[L]])
// CHECK-NEXT: func.return %[[E]], %[[M]]
// CHECK-LABEL: func.func public @joined(
// CHECK-NEXT: %[[A:.*]], %[[D:.*]] = ttcore.load_cached(@joined_const_eval_0, [%w, %v])
// CHECK: %[[C:.*]] = "ttnn.add"(%{{.*}}, %[[A]])
// CHECK-NEXT: "ttnn.add"(%[[C]], %[[D]])
func.func public @joined(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<constant>}) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = "ttnn.exp"(%w) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.log"(%v) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%2, %0) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %4 = "ttnn.multiply"(%0, %1) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %5 = "ttnn.add"(%3, %4) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %5 : tensor<2x2xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @raw_and_transformed(
// CHECK-NEXT: %[[E:.*]] = ttcore.load_cached(@raw_and_transformed_const_eval_0, [%w])
// CHECK: %[[A:.*]] = "ttnn.add"(%{{.*}}, %w)
// CHECK-NEXT: "ttnn.add"(%[[A]], %[[E]])
func.func public @raw_and_transformed(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.add"(%0, %w) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.exp"(%w) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%1, %2) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %3 : tensor<2x2xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func private @constants_alone_const_eval_0()
// CHECK-NEXT: %[[D:.*]] = "ttnn.get_device"
// CHECK-NEXT: "ttnn.full"(%[[D]])
// CHECK-LABEL: func.func public @constants_alone(
// CHECK-NEXT: ttcore.load_cached(@constants_alone_const_eval_0, [])
func.func public @constants_alone(%x: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = "ttnn.get_device"() : () -> !ttnn.device
  %1 = "ttnn.full"(%0) <{shape = #ttnn.shape<2x2>, fill_value = 2.000000e+00 : f32}> : (!ttnn.device) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %3 = "ttnn.add"(%2, %1) : (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %3 : tensor<2x2xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @constant_result(
// CHECK-NEXT: %[[E:.*]] = ttcore.load_cached(@constant_result_const_eval_0, [%w])
// CHECK: func.return %[[E]], %{{.*}}, %[[E]]
func.func public @constant_result(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) {
  %0 = "ttnn.exp"(%w) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %2 = "ttnn.exp"(%1) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %0, %2, %0 : tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @arguments_returned(
// CHECK-NOT: load_cached
// CHECK: func.return %w, %{{.*}}, %w
func.func public @arguments_returned(%x: tensor<2x2xbf16, #ttnn_layout>, %w: tensor<2x2xbf16, #ttnn_layout1> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>) {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %w, %0, %w : tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>, tensor<2x2xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func public @inputs_alone(
// CHECK-NOT: load_cached
// CHECK: "ttnn.exp"
func.func public @inputs_alone(%x: tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1> {
  %0 = "ttnn.to_layout"(%x) : (tensor<2x2xbf16, #ttnn_layout>) -> tensor<2x2xbf16, #ttnn_layout1>
  %1 = "ttnn.exp"(%0) : (tensor<2x2xbf16, #ttnn_layout1>) -> tensor<2x2xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x2xbf16, #ttnn_layout1>
}
