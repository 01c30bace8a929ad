// RUN: roundtrip

// CHECK-LABEL: func.func @embedding_backward(
// CHECK: "ttir.embedding_backward"({{.*}}) :
func.func @embedding_backward(%0: tensor<2x3xui32>, %1: tensor<10x8xbf16>, %2: tensor<2x3x8xbf16>) -> tensor<10x8xbf16> {
  %3 = "ttir.embedding_backward"(%0, %1, %2) : (tensor<2x3xui32>, tensor<10x8xbf16>, tensor<2x3x8xbf16>) -> tensor<10x8xbf16>
  func.return %3 : tensor<10x8xbf16>
}

// CHECK-LABEL: func.func @scatter(
// CHECK: "ttir.scatter"({{.*}}) <{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<sum>}> :
func.func @scatter(%0: tensor<4x8xbf16>, %1: tensor<2x8xsi32>, %2: tensor<2x8xbf16>) -> tensor<4x8xbf16> {
  %3 = "ttir.scatter"(%0, %1, %2) <{dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<sum>}> : (tensor<4x8xbf16>, tensor<2x8xsi32>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @rows_gather(
// CHECK: "ttir.rows_gather"({{.*}}) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1>}> :
func.func @rows_gather(%0: tensor<1x512x64xbf16>, %1: tensor<1x1x64xsi32>) -> tensor<1x64x64xbf16> {
  %2 = "ttir.rows_gather"(%0, %1) <{column = false, fill_out_of_bounds = false, sizes = array<i64: 512>, windows = array<i64: 1>}> : (tensor<1x512x64xbf16>, tensor<1x1x64xsi32>) -> tensor<1x64x64xbf16>
  func.return %2 : tensor<1x64x64xbf16>
}

// CHECK-LABEL: func.func @rows_scatter(
// CHECK: "ttir.rows_scatter"({{.*}}) <{column = false, reduce = #ttcore.reduce_type<invalid>, sizes = array<i64: 64>, windows = array<i64: 1>}> :
func.func @rows_scatter(%0: tensor<4x64x32xbf16>, %1: tensor<1x1x1xsi32>, %2: tensor<4x1x32xbf16>) -> tensor<4x64x32xbf16> {
  %3 = "ttir.rows_scatter"(%0, %1, %2) <{column = false, reduce = #ttcore.reduce_type<invalid>, sizes = array<i64: 64>, windows = array<i64: 1>}> : (tensor<4x64x32xbf16>, tensor<1x1x1xsi32>, tensor<4x1x32xbf16>) -> tensor<4x64x32xbf16>
  func.return %3 : tensor<4x64x32xbf16>
}

// CHECK-LABEL: func.func @sort(
// CHECK: "ttir.sort"({{.*}}) <{dim = 1 : si32, descending = true, stable = false}> :
func.func @sort(%0: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xui16>) {
  %1:2 = "ttir.sort"(%0) <{dim = 1 : si32, descending = true, stable = false}> : (tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xui16>)
  func.return %1#0, %1#1 : tensor<4x8xbf16>, tensor<4x8xui16>
}

// CHECK-LABEL: func.func @topk(
// CHECK: "ttir.topk"({{.*}}) <{k = 3 : i32, dim = -1 : i32, largest = true, sorted = true}> :
func.func @topk(%0: tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xui16>) {
  %1:2 = "ttir.topk"(%0) <{k = 3 : i32, dim = -1 : i32, largest = true, sorted = true}> : (tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xui16>)
  func.return %1#0, %1#1 : tensor<4x3xbf16>, tensor<4x3xui16>
}

// CHECK-LABEL: func.func @topk_router_gpt(
// CHECK: "ttir.topk_router_gpt"({{.*}}) <{k = 4 : i32, num_experts = 128 : i32}> :
func.func @topk_router_gpt(%0: tensor<32x64xbf16>, %1: tensor<64x128xbf16>, %2: tensor<32x128xbf16>) -> (tensor<32x8xui16>, tensor<32x8xbf16>) {
  %3:2 = "ttir.topk_router_gpt"(%0, %1, %2) <{k = 4 : i32, num_experts = 128 : i32}> : (tensor<32x64xbf16>, tensor<64x128xbf16>, tensor<32x128xbf16>) -> (tensor<32x8xui16>, tensor<32x8xbf16>)
  func.return %3#0, %3#1 : tensor<32x8xui16>, tensor<32x8xbf16>
}

// CHECK-LABEL: func.func @sampling(
// CHECK: "ttir.sampling"({{.*}}) <{seed = 7 : ui32}> :
func.func @sampling(%0: tensor<32x64xbf16>, %1: tensor<32x64xsi32>, %2: tensor<32xui32>, %3: tensor<32xbf16>, %4: tensor<32xbf16>) -> tensor<32xsi32> {
  %5 = "ttir.sampling"(%0, %1, %2, %3, %4) <{seed = 7 : ui32}> : (tensor<32x64xbf16>, tensor<32x64xsi32>, tensor<32xui32>, tensor<32xbf16>, tensor<32xbf16>) -> tensor<32xsi32>
  func.return %5 : tensor<32xsi32>
}
