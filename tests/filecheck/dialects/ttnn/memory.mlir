// RUN: roundtrip

#system_memory = #ttnn.buffer_type<system_memory>
#l1 = #ttnn.buffer_type<l1>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout2 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
#ttnn_layout3 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#ttnn_layout4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#ttnn_layout5 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #system_memory>>
#ttnn_layout6 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xsi32, #system_memory>>
#ttnn_layout7 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xf32, #dram>, <interleaved>>
#ttnn_layout8 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xsi32, #dram>, <interleaved>>
#ttnn_layout9 = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @get_device(
// CHECK: "ttnn.get_device"() : () -> !ttnn.device
func.func @get_device() -> !ttnn.device {
  %0 = "ttnn.get_device"() : () -> !ttnn.device
  func.return %0 : !ttnn.device
}

// CHECK-LABEL: func.func @to_layout(
// CHECK: "ttnn.to_layout"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout1>
func.func @to_layout(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.to_layout"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @to_memory_config(
// CHECK: "ttnn.to_memory_config"(%0) : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout2>
func.func @to_memory_config(%0: tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout2> {
  %1 = "ttnn.to_memory_config"(%0) : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout2>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout2>
}

// CHECK-LABEL: func.func @typecast(
// CHECK: "ttnn.typecast"(%0) : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xf32, #ttnn_layout3>
func.func @typecast(%0: tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xf32, #ttnn_layout3> {
  %1 = "ttnn.typecast"(%0) : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xf32, #ttnn_layout3>
  func.return %1 : tensor<2x3xf32, #ttnn_layout3>
}

// CHECK-LABEL: func.func @typecast_to_block_floats(
// CHECK: "ttnn.typecast"(%0) : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout4>
func.func @typecast_to_block_floats(%0: tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout4> {
  %1 = "ttnn.typecast"(%0) : (tensor<2x3xbf16, #ttnn_layout1>) -> tensor<2x3xbf16, #ttnn_layout4>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout4>
}

// CHECK-LABEL: func.func @to_device(
// CHECK: "ttnn.to_device"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout5>, !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout>
func.func @to_device(%0: tensor<2x3xbf16, #ttnn_layout5>, %1: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout> {
  %2 = "ttnn.to_device"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout5>, !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %2 : tensor<2x3xbf16, #ttnn_layout>
}

// CHECK-LABEL: func.func @from_device(
// CHECK: "ttnn.from_device"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout5>
func.func @from_device(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout5> {
  %1 = "ttnn.from_device"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<2x3xbf16, #ttnn_layout5>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout5>
}

// CHECK-LABEL: func.func @full(
// CHECK: "ttnn.full"(%0) <{shape = #ttnn.shape<2x3>, fill_value = 5.000000e-01 : f32}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout1>
func.func @full(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout1> {
  %1 = "ttnn.full"(%0) <{shape = #ttnn.shape<2x3>, fill_value = 5.000000e-01 : f32}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout1>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout1>
}

// CHECK-LABEL: func.func @full_on_host(
// CHECK: "ttnn.full"() <{shape = #ttnn.shape<2x3>, fill_value = 5 : i32}> : () -> tensor<2x3xsi32, #ttnn_layout6>
func.func @full_on_host() -> tensor<2x3xsi32, #ttnn_layout6> {
  %0 = "ttnn.full"() <{shape = #ttnn.shape<2x3>, fill_value = 5 : i32}> : () -> tensor<2x3xsi32, #ttnn_layout6>
  func.return %0 : tensor<2x3xsi32, #ttnn_layout6>
}

// CHECK-LABEL: func.func @arange(
// CHECK: "ttnn.arange"(%0) <{start = 1 : si64, end = 9 : si64, step = 2 : si64}> : (!ttnn.device) -> tensor<4xf32, #ttnn_layout7>
func.func @arange(%0: !ttnn.device) -> tensor<4xf32, #ttnn_layout7> {
  %1 = "ttnn.arange"(%0) <{start = 1 : si64, end = 9 : si64, step = 2 : si64}> : (!ttnn.device) -> tensor<4xf32, #ttnn_layout7>
  func.return %1 : tensor<4xf32, #ttnn_layout7>
}

// CHECK-LABEL: func.func @constant(
// CHECK: "ttnn.constant"(%0) <{value = dense<{{\[\[}}1, 2], [3, -4]]> : tensor<2x2xsi32>}> : (!ttnn.device) -> tensor<2x2xsi32, #ttnn_layout8>
func.func @constant(%0: !ttnn.device) -> tensor<2x2xsi32, #ttnn_layout8> {
  %1 = "ttnn.constant"(%0) <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xsi32>}> : (!ttnn.device) -> tensor<2x2xsi32, #ttnn_layout8>
  func.return %1 : tensor<2x2xsi32, #ttnn_layout8>
}

// CHECK-LABEL: func.func @deallocate(
// CHECK: "ttnn.deallocate"(%0) <{force = false}> : (tensor<2x3xbf16, #ttnn_layout1>) -> ()
func.func @deallocate(%0: tensor<2x3xbf16, #ttnn_layout1>) {
  "ttnn.deallocate"(%0) <{force = false}> : (tensor<2x3xbf16, #ttnn_layout1>) -> ()
  func.return
}
