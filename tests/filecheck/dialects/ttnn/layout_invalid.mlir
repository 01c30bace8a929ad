// RUN: invalid

// expected-error: a range of cores from (3, 0) to (0, 0) is empty
func.func @f() attributes {x = #ttnn.core_range<(3,0), (0,0)>} {
  func.return
}

// -----

// expected-error: expected #ttnn.core_range<...>, got #ttnn.core_coord<1, 2>
func.func @f() attributes {x = #ttnn.core_range_set<[#ttnn.core_coord<1, 2>]>} {
  func.return
}

// -----

// expected-error: does not fit shape (400, 64), expected
#l1 = #ttnn.buffer_type<l1>
#height = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <12x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>>
func.func @f(%0: tensor<400x64xbf16, #height>) -> tensor<400x64xbf16, #height> {
  %1 = "ttnn.relu"(%0) : (tensor<400x64xbf16, #height>) -> tensor<400x64xbf16, #height>
  func.return %1 : tensor<400x64xbf16, #height>
}

// -----

// expected-error: does not fit shape (400, 64), expected
#l1 = #ttnn.buffer_type<l1>
#spread = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x5>, memref<2x2x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
func.func @f(%0: tensor<400x64xbf16, #spread>) -> tensor<400x64xbf16, #spread> {
  %1 = "ttnn.to_memory_config"(%0) : (tensor<400x64xbf16, #spread>) -> tensor<400x64xbf16, #spread>
  func.return %1 : tensor<400x64xbf16, #spread>
}

// -----

// expected-error: expected rows and columns such as 1x2
func.func @f() attributes {x = #ttnn<mesh_shape 1x2x3>} {
  func.return
}

// -----

// expected-error: expected #ttnn.buffer_type<...>, got
func.func @f() attributes {x = #ttnn.memory_config<#ttnn.layout<tile>>} {
  func.return
}
