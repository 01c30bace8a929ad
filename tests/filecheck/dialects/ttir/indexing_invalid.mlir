// RUN: invalid

// expected-error: has shape (10, 9), expected (10, 8)
func.func @embedding_backward(%0: tensor<2x3xui32>, %1: tensor<10x8xbf16>, %2: tensor<2x3x8xbf16>) -> tensor<10x9xbf16> {
  %3 = "ttir.embedding_backward"(%0, %1, %2) : (tensor<2x3xui32>, tensor<10x8xbf16>, tensor<2x3x8xbf16>) -> tensor<10x9xbf16>
  func.return %3 : tensor<10x9xbf16>
}

// -----

// expected-error: in_gradient has shape (2, 3, 7), weight has (10, 8)
func.func @embedding_backward(%0: tensor<2x3xui32>, %1: tensor<10x8xbf16>, %2: tensor<2x3x7xbf16>) -> tensor<10x8xbf16> {
  %3 = "ttir.embedding_backward"(%0, %1, %2) : (tensor<2x3xui32>, tensor<10x8xbf16>, tensor<2x3x7xbf16>) -> tensor<10x8xbf16>
  func.return %3 : tensor<10x8xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @scatter(%0: tensor<4x8xbf16>, %1: tensor<2x8xsi32>, %2: tensor<2x8xbf16>) -> tensor<4x9xbf16> {
  %3 = "ttir.scatter"(%0, %1, %2) <{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16>, tensor<2x8xsi32>, tensor<2x8xbf16>) -> tensor<4x9xbf16>
  func.return %3 : tensor<4x9xbf16>
}

// -----

// expected-error: does not lie in an operand of shape (4, 8) along 0
func.func @scatter(%0: tensor<4x8xbf16>, %1: tensor<2x9xsi32>, %2: tensor<2x9xbf16>) -> tensor<4x8xbf16> {
  %3 = "ttir.scatter"(%0, %1, %2) <{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16>, tensor<2x9xsi32>, tensor<2x9xbf16>) -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// -----

// expected-error: source has shape (1, 8), expected (2, 8)
func.func @scatter(%0: tensor<4x8xbf16>, %1: tensor<2x8xsi32>, %2: tensor<1x8xbf16>) -> tensor<4x8xbf16> {
  %3 = "ttir.scatter"(%0, %1, %2) <{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16>, tensor<2x8xsi32>, tensor<1x8xbf16>) -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// -----

// expected-error: expected one of sum, mean, max
func.func @scatter(%0: tensor<4x8xbf16>, %1: tensor<2x8xsi32>, %2: tensor<2x8xbf16>) -> tensor<4x8xbf16> {
  %3 = "ttir.scatter"(%0, %1, %2) <{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<norm>}> : (tensor<4x8xbf16>, tensor<2x8xsi32>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// -----

// expected-error: differ in length
func.func @rows_gather(%0: tensor<1x512x64xbf16>, %1: tensor<1x1x64xsi32>) -> tensor<1x64x64xbf16> {
  %2 = "ttir.rows_gather"(%0, %1) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1, 1>}> : (tensor<1x512x64xbf16>, tensor<1x1x64xsi32>) -> tensor<1x64x64xbf16>
  func.return %2 : tensor<1x64x64xbf16>
}

// -----

// expected-error: input has shape (512, 64), expected rank 3
func.func @rows_gather(%0: tensor<512x64xbf16>, %1: tensor<1x1x64xsi32>) -> tensor<1x64x64xbf16> {
  %2 = "ttir.rows_gather"(%0, %1) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1>}> : (tensor<512x64xbf16>, tensor<1x1x64xsi32>) -> tensor<1x64x64xbf16>
  func.return %2 : tensor<1x64x64xbf16>
}

// -----

// expected-error: has shape (4, 64, 33), expected (4, 64, 32)
func.func @rows_scatter(%0: tensor<4x64x32xbf16>, %1: tensor<1x1x1xsi32>, %2: tensor<4x1x32xbf16>) -> tensor<4x64x33xbf16> {
  %3 = "ttir.rows_scatter"(%0, %1, %2) <{column = false, reduce = #ttcore.reduce_type<invalid>, sizes = array<i64: 64>, windows = array<i64: 1>}> : (tensor<4x64x32xbf16>, tensor<1x1x1xsi32>, tensor<4x1x32xbf16>) -> tensor<4x64x33xbf16>
  func.return %3 : tensor<4x64x33xbf16>
}

// -----

// expected-error: dimensions [2] are not distinct dimensions of rank 2
func.func @sort(%0: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xui16>) {
  %1:2 = "ttir.sort"(%0) <{dim = 2 : si32}> : (tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xui16>)
  func.return %1#0, %1#1 : tensor<4x8xbf16>, tensor<4x8xui16>
}

// -----

// expected-error: indices has shape (4, 7), expected (4, 8)
func.func @sort(%0: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x7xui16>) {
  %1:2 = "ttir.sort"(%0) <{dim = 1 : si32, descending = true, stable = false}> : (tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x7xui16>)
  func.return %1#0, %1#1 : tensor<4x8xbf16>, tensor<4x7xui16>
}

// -----

// expected-error: k = 9 is not within 1 to 8
func.func @topk(%0: tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xui16>) {
  %1:2 = "ttir.topk"(%0) <{k = 9 : i32}> : (tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xui16>)
  func.return %1#0, %1#1 : tensor<4x3xbf16>, tensor<4x3xui16>
}

// -----

// expected-error: indices has shape (4, 8), expected (4, 3)
func.func @topk(%0: tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x8xui16>) {
  %1:2 = "ttir.topk"(%0) <{k = 3 : i32, dim = -1 : i32, largest = true, sorted = true}> : (tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x8xui16>)
  func.return %1#0, %1#1 : tensor<4x3xbf16>, tensor<4x8xui16>
}

// -----

// expected-error: expert_indices has shape (32, 4), expected (32, 8)
func.func @topk_router_gpt(%0: tensor<32x64xbf16>, %1: tensor<64x128xbf16>, %2: tensor<32x128xbf16>) -> (tensor<32x4xui16>, tensor<32x8xbf16>) {
  %3:2 = "ttir.topk_router_gpt"(%0, %1, %2) <{k = 4 : i32, num_experts = 128 : i32}> : (tensor<32x64xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>) -> (tensor<32x4xui16>, tensor<32x8xbf16>)
  func.return %3#0, %3#1 : tensor<32x4xui16>, tensor<32x8xbf16>
}

// -----

// expected-error: weight has shape (64, 128), expected (64, 64)
func.func @topk_router_gpt(%0: tensor<32x64xbf16>, %1: tensor<64x128xbf16>, %2: tensor<32x128xbf16>) -> (tensor<32x8xui16>, tensor<32x8xbf16>) {
  %3:2 = "ttir.topk_router_gpt"(%0, %1, %2) <{k = 4 : i32, num_experts = 64 : i32}> : (tensor<32x64xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>) -> (tensor<32x8xui16>, tensor<32x8xbf16>)
  func.return %3#0, %3#1 : tensor<32x8xui16>, tensor<32x8xbf16>
}

// -----

// expected-error: has shape (33,), expected (32,)
func.func @sampling(%0: tensor<32x64xbf16>, %1: tensor<32x64xsi32>, %2: tensor<32xui32>, %3: tensor<32xbf16>, %4: tensor<32xbf16>) -> tensor<33xsi32> {
  %5 = "ttir.sampling"(%0, %1, %2, %3, %4) <{seed = 7 : ui32}> : (tensor<32x64xbf16>, tensor<32x64xsi32>, tensor<32xui32>, tensor<32xbf16>, tensor<32xbf16>) -> tensor<33xsi32>
  func.return %5 : tensor<33xsi32>
}

// -----

// expected-error: p has shape (31,), expected (32,)
func.func @sampling(%0: tensor<32x64xbf16>, %1: tensor<32x64xsi32>, %2: tensor<32xui32>, %3: tensor<31xbf16>, %4: tensor<32xbf16>) -> tensor<32xsi32> {
  %5 = "ttir.sampling"(%0, %1, %2, %3, %4) <{seed = 7 : ui32}> : (tensor<32x64xbf16>, tensor<32x64xsi32>, tensor<32xui32>, tensor<31xbf16>, tensor<32xbf16>) -> tensor<32xsi32>
  func.return %5 : tensor<32xsi32>
}
