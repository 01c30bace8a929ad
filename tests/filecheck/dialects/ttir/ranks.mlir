// RUN: roundtrip

// CHECK-LABEL: func.func @gather(
func.func @gather(%0: tensor<2x3xbf16>) -> tensor<8x3xbf16> {
  // CHECK: "ttir.rank_collective"(%{{.*}}) <{kind = "all_gather", process_group = "0", ranks = 4 : ui32, chips = array<i64: 0, 1, 2, 3>, element_type = "bf16"}> : (tensor<2x3xbf16>) -> tensor<8x3xbf16>
  %1 = "ttir.rank_collective"(%0) <{kind = "all_gather", process_group = "0", ranks = 4 : ui32, chips = array<i64: 0, 1, 2, 3>, element_type = "bf16"}> : (tensor<2x3xbf16>) -> tensor<8x3xbf16>
  func.return %1 : tensor<8x3xbf16>
}

// CHECK-LABEL: func.func @scatter(
func.func @scatter(%0: tensor<8x3xsi32>) -> tensor<2x3xsi32> {
  // CHECK: "ttir.rank_collective"(%{{.*}}) <{kind = "reduce_scatter", process_group = "rows", ranks = 4 : ui32, reduce_type = #ttcore.reduce_type<sum>, element_type = "i64"}> : (tensor<8x3xsi32>) -> tensor<2x3xsi32>
  %1 = "ttir.rank_collective"(%0) <{kind = "reduce_scatter", process_group = "rows", ranks = 4 : ui32, reduce_type = #ttcore.reduce_type<sum>, element_type = "i64"}> : (tensor<8x3xsi32>) -> tensor<2x3xsi32>
  func.return %1 : tensor<2x3xsi32>
}
