// RUN: pass=ttir-rows-of-images optimization_level=2

// Positions that fill tiles are regrouped without a copy.
// CHECK-LABEL: func.func @positions_that_fill_tiles(
func.func @positions_that_fill_tiles(%x: tensor<2x8x8x64xbf16>, %w: tensor<64x64x1x1xbf16>) -> tensor<2x64xbf16> {
  // CHECK: %[[R:.*]] = "ttir.reshape"({{.*}}) <{shape = [2 : i32, 1 : i32, 64 : i32, 64 : i32]}>
  // CHECK-NEXT: "ttir.mean"(%[[R]]) <{dim_arg = [1 : i32, 2 : i32], keep_dim = false}>
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x8x8x64xbf16>, tensor<64x64x1x1xbf16>) -> tensor<2x8x8x64xbf16>
  %b = "ttir.mean"(%a) <{dim_arg = [1 : i32, 2 : i32], keep_dim = false}> : (tensor<2x8x8x64xbf16>) -> tensor<2x64xbf16>
  func.return %b : tensor<2x64xbf16>
}

// The mean of few positions is a pooling, which reads rows.
// CHECK-LABEL: func.func @few_positions(
func.func @few_positions(%y: tensor<33x7x7x64xbf16>, %w: tensor<64x64x1x1xbf16>) -> tensor<33x64xbf16> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.conv2d"(%y, %w)
  // CHECK-NEXT: %[[P:.*]] = "ttir.avg_pool2d"(%[[A]]) <{ceil_mode = false, kernel = array<i32: 7, 7>
  // CHECK-NEXT: "ttir.reshape"(%[[P]])
  %b = "ttir.conv2d"(%y, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<33x7x7x64xbf16>, tensor<64x64x1x1xbf16>) -> tensor<33x7x7x64xbf16>
  %c = "ttir.mean"(%b) <{dim_arg = [1 : i32, 2 : i32], keep_dim = false}> : (tensor<33x7x7x64xbf16>) -> tensor<33x64xbf16>
  func.return %c : tensor<33x64xbf16>
}

// An argument does not have rows, and 81 positions of float32 neither fill tiles nor are few.
// CHECK-LABEL: func.func @others_stay(
func.func @others_stay(%x: tensor<2x7x7x64xbf16>, %y: tensor<33x9x9x64xf32>, %w: tensor<64x64x1x1xf32>) -> (tensor<2x64xbf16>, tensor<33x64xf32>) {
  // CHECK-NEXT: "ttir.mean"(%x)
  // CHECK-NEXT: %[[A:.*]] = "ttir.conv2d"(%y, %w)
  // CHECK-NEXT: "ttir.mean"(%[[A]])
  %a = "ttir.mean"(%x) <{dim_arg = [1 : i32, 2 : i32], keep_dim = false}> : (tensor<2x7x7x64xbf16>) -> tensor<2x64xbf16>
  %b = "ttir.conv2d"(%y, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<33x9x9x64xf32>, tensor<64x64x1x1xf32>) -> tensor<33x9x9x64xf32>
  %c = "ttir.mean"(%b) <{dim_arg = [1 : i32, 2 : i32], keep_dim = false}> : (tensor<33x9x9x64xf32>) -> tensor<33x64xf32>
  func.return %a, %c : tensor<2x64xbf16>, tensor<33x64xf32>
}

// The numbers of an image's channels are looked up for each of its rows.
// CHECK-LABEL: func.func @squeeze_and_excitation(
func.func @squeeze_and_excitation(%y: tensor<2x7x7x64xbf16>, %w: tensor<64x64x1x1xbf16>, %s: tensor<2x1x1x64xbf16>) -> tensor<2x7x7x64xbf16> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.conv2d"(%y, %w)
  // CHECK: %[[N:.*]] = "ttir.constant"() {{.*}} -> tensor<98xsi32>
  // CHECK: %[[T:.*]] = "ttir.reshape"(%s) <{shape = [2 : i32, 64 : i32]}>
  // CHECK: %[[E:.*]] = "ttir.embedding"(%[[N]], %[[T]])
  // CHECK-DAG: %[[R:.*]] = "ttir.reshape"(%[[A]]) <{shape = [1 : i32, 1 : i32, 98 : i32, 64 : i32]}>
  // CHECK-DAG: %[[F:.*]] = "ttir.reshape"(%[[E]]) <{shape = [1 : i32, 1 : i32, 98 : i32, 64 : i32]}>
  // CHECK: "ttir.multiply"(%[[R]], %[[F]])
  %a = "ttir.conv2d"(%y, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x7x64xbf16>, tensor<64x64x1x1xbf16>) -> tensor<2x7x7x64xbf16>
  %b = "ttir.multiply"(%a, %s) : (tensor<2x7x7x64xbf16>, tensor<2x1x1x64xbf16>) -> tensor<2x7x7x64xbf16>
  %c = "ttir.conv2d"(%b, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x7x64xbf16>, tensor<64x64x1x1xbf16>) -> tensor<2x7x7x64xbf16>
  func.return %c : tensor<2x7x7x64xbf16>
}

// A result of the program is no rows, so that a look-up would save nothing.
// CHECK-LABEL: func.func @no_rows_after(
func.func @no_rows_after(%y: tensor<2x7x7x64xbf16>, %w: tensor<64x64x1x1xbf16>, %s: tensor<2x1x1x64xbf16>) -> tensor<2x7x7x64xbf16> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.conv2d"(%y, %w)
  // CHECK-NEXT: "ttir.multiply"(%[[A]], %s)
  %a = "ttir.conv2d"(%y, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x7x64xbf16>, tensor<64x64x1x1xbf16>) -> tensor<2x7x7x64xbf16>
  %b = "ttir.multiply"(%a, %s) : (tensor<2x7x7x64xbf16>, tensor<2x1x1x64xbf16>) -> tensor<2x7x7x64xbf16>
  func.return %b : tensor<2x7x7x64xbf16>
}

// A convolution of single positions is a product of rows where its weights are constant.
// CHECK-LABEL: func.func @pointwise_convolutions(
func.func @pointwise_convolutions(%x: tensor<2x7x7x64xbf16>, %w: tensor<96x64x1x1xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %b: tensor<1x1x1x96xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x7x7x96xbf16>, tensor<2x4x4x96xbf16>) {
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%x) <{shape = [1 : i32, 1 : i32, 98 : i32, 64 : i32]}>
  // CHECK: "ttir.linear"(%[[R]], {{.*}}) {{.*}} : (tensor<1x1x98x64xbf16>, tensor<64x96xbf16>, tensor<96xbf16>) -> tensor<1x1x98x96xbf16>
  // CHECK: "ttir.conv2d"(%x, %w, %b)
  %a = "ttir.conv2d"(%x, %w, %b) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x7x64xbf16>, tensor<96x64x1x1xbf16>, tensor<1x1x1x96xbf16>) -> tensor<2x7x7x96xbf16>
  %c = "ttir.conv2d"(%x, %w, %b) <{stride = array<i32: 2, 2>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x7x64xbf16>, tensor<96x64x1x1xbf16>, tensor<1x1x1x96xbf16>) -> tensor<2x4x4x96xbf16>
  func.return %a, %c : tensor<2x7x7x96xbf16>, tensor<2x4x4x96xbf16>
}
