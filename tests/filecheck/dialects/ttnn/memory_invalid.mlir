// RUN: invalid

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @to_layout(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %1 = "ttnn.to_layout"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#l1 = #ttnn.buffer_type<l1>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
func.func @to_memory_config(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %1 = "ttnn.to_memory_config"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
func.func @typecast(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xf32, #ttnn_layout1> {
  %1 = "ttnn.typecast"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xf32, #ttnn_layout1>
  func.return %1 : tensor<3x2xf32, #ttnn_layout1>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #system_memory>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x2xbf16, #dram>, <interleaved>>
func.func @to_device(%0: tensor<2x3xbf16, #ttnn_layout>, %1: !ttnn.device) -> tensor<3x2xbf16, #ttnn_layout1> {
  %2 = "ttnn.to_device"(%0, %1) : (tensor<2x3xbf16, #ttnn_layout>, !ttnn.device) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %2 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#system_memory = #ttnn.buffer_type<system_memory>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x3xbf16, #dram>, <interleaved>>
#ttnn_layout1 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x2xbf16, #system_memory>>
func.func @from_device(%0: tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout1> {
  %1 = "ttnn.from_device"(%0) : (tensor<2x3xbf16, #ttnn_layout>) -> tensor<3x2xbf16, #ttnn_layout1>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout1>
}

// -----

// expected-error: result has shape (3, 2), expected (2, 3)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @full(%0: !ttnn.device) -> tensor<3x2xbf16, #ttnn_layout> {
  %1 = "ttnn.full"(%0) <{shape = #ttnn.shape<2x3>, fill_value = 5.000000e-01 : f32}> : (!ttnn.device) -> tensor<3x2xbf16, #ttnn_layout>
  func.return %1 : tensor<3x2xbf16, #ttnn_layout>
}

// -----

// expected-error: expected #ttnn.shape<...>, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @full(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.full"(%0) <{shape = 1 : i8, fill_value = 5.000000e-01 : f32}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: expected an f32 float or i32 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @full(%0: !ttnn.device) -> tensor<2x3xbf16, #ttnn_layout> {
  %1 = "ttnn.full"(%0) <{shape = #ttnn.shape<2x3>, fill_value = 1 : i8}> : (!ttnn.device) -> tensor<2x3xbf16, #ttnn_layout>
  func.return %1 : tensor<2x3xbf16, #ttnn_layout>
}

// -----

// expected-error: result has shape (5,), expected (4,)
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x5xf32, #dram>, <interleaved>>
func.func @arange(%0: !ttnn.device) -> tensor<5xf32, #ttnn_layout> {
  %1 = "ttnn.arange"(%0) <{start = 1 : si64, end = 9 : si64, step = 2 : si64}> : (!ttnn.device) -> tensor<5xf32, #ttnn_layout>
  func.return %1 : tensor<5xf32, #ttnn_layout>
}

// -----

// expected-error: step is 0, expected another number
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xf32, #dram>, <interleaved>>
func.func @arange(%0: !ttnn.device) -> tensor<4xf32, #ttnn_layout> {
  %1 = "ttnn.arange"(%0) <{start = 1 : si64, end = 9 : si64, step = 0 : si64}> : (!ttnn.device) -> tensor<4xf32, #ttnn_layout>
  func.return %1 : tensor<4xf32, #ttnn_layout>
}

// -----

// expected-error: expected an si64 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xf32, #dram>, <interleaved>>
func.func @arange(%0: !ttnn.device) -> tensor<4xf32, #ttnn_layout> {
  %1 = "ttnn.arange"(%0) <{start = 1 : i8, end = 9 : si64, step = 2 : si64}> : (!ttnn.device) -> tensor<4xf32, #ttnn_layout>
  func.return %1 : tensor<4xf32, #ttnn_layout>
}

// -----

// expected-error: expected an si64 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xf32, #dram>, <interleaved>>
func.func @arange(%0: !ttnn.device) -> tensor<4xf32, #ttnn_layout> {
  %1 = "ttnn.arange"(%0) <{start = 1 : si64, end = 1 : i8, step = 2 : si64}> : (!ttnn.device) -> tensor<4xf32, #ttnn_layout>
  func.return %1 : tensor<4xf32, #ttnn_layout>
}

// -----

// expected-error: expected an si64 integer, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xf32, #dram>, <interleaved>>
func.func @arange(%0: !ttnn.device) -> tensor<4xf32, #ttnn_layout> {
  %1 = "ttnn.arange"(%0) <{start = 1 : si64, end = 9 : si64, step = 1 : i8}> : (!ttnn.device) -> tensor<4xf32, #ttnn_layout>
  func.return %1 : tensor<4xf32, #ttnn_layout>
}

// -----

// expected-error: value has type tensor<2x2xsi32>, expected the result's type tensor<4xsi32, #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xsi32, #ttnn.buffer_type<dram>>, <interleaved>>>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x4xsi32, #dram>, <interleaved>>
func.func @constant(%0: !ttnn.device) -> tensor<4xsi32, #ttnn_layout> {
  %1 = "ttnn.constant"(%0) <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xsi32>}> : (!ttnn.device) -> tensor<4xsi32, #ttnn_layout>
  func.return %1 : tensor<4xsi32, #ttnn_layout>
}

// -----

// expected-error: value has type tensor<2x2xsi32>, expected the result's type tensor<2x2xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xf32, #ttnn.buffer_type<dram>>, <interleaved>>>
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xf32, #dram>, <interleaved>>
func.func @constant(%0: !ttnn.device) -> tensor<2x2xf32, #ttnn_layout> {
  %1 = "ttnn.constant"(%0) <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xsi32>}> : (!ttnn.device) -> tensor<2x2xf32, #ttnn_layout>
  func.return %1 : tensor<2x2xf32, #ttnn_layout>
}

// -----

// expected-error: expected dense elements, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xsi32, #dram>, <interleaved>>
func.func @constant(%0: !ttnn.device) -> tensor<2x2xsi32, #ttnn_layout> {
  %1 = "ttnn.constant"(%0) <{value = 1 : i8}> : (!ttnn.device) -> tensor<2x2xsi32, #ttnn_layout>
  func.return %1 : tensor<2x2xsi32, #ttnn_layout>
}

// -----

// expected-error: expected a bool, got 1 : i8
#dram = #ttnn.buffer_type<dram>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
func.func @deallocate(%0: tensor<2x3xbf16, #ttnn_layout>) {
  "ttnn.deallocate"(%0) <{force = 1 : i8}> : (tensor<2x3xbf16, #ttnn_layout>) -> ()
  func.return
}

// -----

// expected-error: expected a tensor with a #ttnn.ttnn_layout, got tensor<2x3xbf16>
func.func @f(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
  func.return %1 : tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
}

// -----

// expected-error: expected a tensor with a #ttnn.ttnn_layout, got tensor<2x3xbf16>
func.func @f(%0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: expected a tensor with a #ttnn.ttnn_layout, got tensor<2x3xbf16>
func.func @f(%2: tensor<2x3xbf16>, %0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>> {
  "ttnn.deallocate"(%2) <{force = true}> : (tensor<2x3xbf16>) -> ()
  func.return %0 : tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
}

// -----

// expected-error: does not fit shape (2, 3), expected
func.func @f(%0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
  func.return %1 : tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
}

// -----

// expected-error: layout has data type f32, expected that of bf16 elements
func.func @f(%0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>>
  func.return %1 : tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>>
}

// -----

// expected-error: memory layout is interleaved in system_memory: a buffer on the device needs one, system memory has none
func.func @f(%0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<system_memory>>, <interleaved>>> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<system_memory>>, <interleaved>>>
  func.return %1 : tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<system_memory>>, <interleaved>>>
}

// -----

// expected-error: memory layout is absent in dram: a buffer on the device needs one, system memory has none
func.func @f(%0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>>> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>>>
  func.return %1 : tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>>>
}

// -----

// expected-error: tensor<*xbf16> should be of base attribute tensor
func.func @f(%0: tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<*xbf16> {
  %1 = "ttnn.abs"(%0) : (tensor<2x3xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>) -> tensor<*xbf16>
  func.return %1 : tensor<*xbf16>
}
