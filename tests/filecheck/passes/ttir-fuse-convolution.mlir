// RUN: pass=ttir-fuse

// New weights and biases are computed from parameters alone.
// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %m: tensor<4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %s: tensor<4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %b: tensor<4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // Each row of the product holds a whole kernel: kernels in tiles of their own would be mostly padding.
  // CHECK: %[[ROWS:.*]] = "ttir.multiply"({{.*}}) : (tensor<4x36xf32>, tensor<4x1xf32>)
  // CHECK-NEXT: %[[WEIGHT:.*]] = "ttir.reshape"(%[[ROWS]])
  // CHECK: %[[BIAS:.*]] = "ttir.add"({{.*}}) : (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>)
  // CHECK: "ttir.conv2d"(%x, %[[WEIGHT]], %[[BIAS]])
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.subtract"(%a, %m) : (tensor<1x6x6x4xf32>, tensor<4xf32>) -> tensor<1x6x6x4xf32>
  %d = "ttir.multiply"(%c, %s) : (tensor<1x6x6x4xf32>, tensor<4xf32>) -> tensor<1x6x6x4xf32>
  %e = "ttir.add"(%d, %b) : (tensor<1x6x6x4xf32>, tensor<4xf32>) -> tensor<1x6x6x4xf32>
  func.return %e : tensor<1x6x6x4xf32>
}

// The scale is read in float32, before its cast, because its product with a weight is rounded anyway.
// CHECK-LABEL: func.func @rounded_scale(
func.func @rounded_scale(%x: tensor<1x6x6x4xbf16>, %w: tensor<4x4x3x3xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %s: tensor<4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xbf16> {
  // CHECK: "ttir.multiply"({{.*}}) : (tensor<4x36xf32>, tensor<4x1xf32>) -> tensor<4x36xf32>
  // CHECK: "ttir.conv2d"(%x
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xbf16>, tensor<4x4x3x3xbf16>) -> tensor<1x6x6x4xbf16>
  %b = "ttir.typecast"(%s) <{conservative_folding = false}> : (tensor<4xf32>) -> tensor<4xbf16>
  %c = "ttir.multiply"(%a, %b) : (tensor<1x6x6x4xbf16>, tensor<4xbf16>) -> tensor<1x6x6x4xbf16>
  func.return %c : tensor<1x6x6x4xbf16>
}

// CHECK-LABEL: func.func @batch_norm_of_inputs(
func.func @batch_norm_of_inputs(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %s: tensor<4xf32>) -> tensor<1x6x6x4xf32> {
  // CHECK-NEXT: "ttir.conv2d"(%x, %w)
  // CHECK-NEXT: "ttir.multiply"
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %d = "ttir.multiply"(%a, %s) : (tensor<1x6x6x4xf32>, tensor<4xf32>) -> tensor<1x6x6x4xf32>
  func.return %d : tensor<1x6x6x4xf32>
}

// The smaller kernel is padded to the size of the larger one. The sum is computed on rows that hold whole kernels.
// CHECK-LABEL: func.func @sum_of_convs(
func.func @sum_of_convs(%x: tensor<1x6x6x4xf32>, %v: tensor<4x4x1x1xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // CHECK-NEXT: %[[V:.*]] = "ttir.reshape"(%v) <{shape = [16 : i32, 1 : i32]}>
  // CHECK-NEXT: %[[PADDED:.*]] = "ttir.pad"(%[[V]]) <{padding = array<i32: 0, 0, 4, 4>, value = 0.000000e+00 : f32}>
  // CHECK: %[[SUM:.*]] = "ttir.add"({{.*}}) : (tensor<4x36xf32>, tensor<4x36xf32>)
  // CHECK-NEXT: %[[WEIGHT:.*]] = "ttir.reshape"(%[[SUM]])
  // CHECK-NEXT: "ttir.conv2d"(%x, %[[WEIGHT]])
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %v) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x6x6x4xf32>
  %b = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.add"(%a, %b) : (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return %c : tensor<1x6x6x4xf32>
}

// CHECK-LABEL: func.func @sum_of_convs_with_biases(
func.func @sum_of_convs_with_biases(%x: tensor<1x6x6x4xf32>, %v: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %p: tensor<1x1x1x4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %q: tensor<1x1x1x4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // CHECK: %[[BIAS:.*]] = "ttir.add"(%{{[pq]}}, %{{[pq]}})
  // CHECK-NEXT: "ttir.conv2d"(%x, %{{.*}}, %[[BIAS]])
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %v, %p) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>, tensor<1x1x1x4xf32>) -> tensor<1x6x6x4xf32>
  %b = "ttir.conv2d"(%x, %w, %q) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>, tensor<1x1x1x4xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.add"(%a, %b) : (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return %c : tensor<1x6x6x4xf32>
}

// CHECK-LABEL: func.func @sum_of_convs_with_one_bias(
func.func @sum_of_convs_with_one_bias(%x: tensor<1x6x6x4xf32>, %v: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %p: tensor<1x1x1x4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // CHECK: "ttir.conv2d"(%x, %{{.*}}, %p)
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %v, %p) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>, tensor<1x1x1x4xf32>) -> tensor<1x6x6x4xf32>
  %b = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.add"(%a, %b) : (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return %c : tensor<1x6x6x4xf32>
}

// CHECK-LABEL: func.func @convs_that_read_elsewhere(
func.func @convs_that_read_elsewhere(%x: tensor<1x6x6x4xf32>, %v: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // CHECK: "ttir.conv2d"(%x, %v)
  // CHECK: "ttir.conv2d"(%x, %w)
  %a = "ttir.conv2d"(%x, %v) <{stride = array<i32: 1, 1>, padding = array<i32: 2, 0, 0, 2>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %b = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.add"(%a, %b) : (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return %c : tensor<1x6x6x4xf32>
}

// CHECK-LABEL: func.func @identity(
func.func @identity(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %s: tensor<4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // CHECK: %[[EYE:.*]] = "ttir.eq"({{.*}}) : (tensor<4x1x1x1xsi32>, tensor<1x4x1x1xsi32>) -> tensor<4x4x1x1xf32>
  // CHECK: %[[ROWS:.*]] = "ttir.reshape"(%[[EYE]])
  // CHECK: "ttir.multiply"(%[[ROWS]]
  // CHECK: "ttir.conv2d"(%x
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %b = "ttir.multiply"(%x, %s) : (tensor<1x6x6x4xf32>, tensor<4xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.add"(%a, %b) : (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return %c : tensor<1x6x6x4xf32>
}

// CHECK-LABEL: func.func @residual(
func.func @residual(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x6x6x4xf32> {
  // CHECK-NEXT: "ttir.conv2d"(%x, %w)
  // CHECK-NEXT: "ttir.add"
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x6x6x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x6x6x4xf32>
  %c = "ttir.add"(%a, %x) : (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return %c : tensor<1x6x6x4xf32>
}
