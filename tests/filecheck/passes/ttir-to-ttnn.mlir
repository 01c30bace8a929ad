// RUN: pass=ttir-to-ttnn

// Inputs arrive row-major and are tilized once; parameters arrive in tiles.
// CHECK-LABEL: func.func public @moves(
// CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: "ttnn.matmul"(%[[X]], %w) <{transpose_a = false, transpose_b = false}>
// CHECK-NEXT: "ttnn.exp"(%[[X]])
// CHECK-NEXT: func.return
func.func @moves(%x: tensor<2x3xbf16>, %w: tensor<3x4xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x4xbf16>, tensor<2x3xbf16>) {
  %a = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
  %b = "ttir.exp"(%x) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %a, %b : tensor<2x4xbf16>, tensor<2x3xbf16>
}

// CHECK-LABEL: func.func public @constants(
// CHECK: "ttnn.full"(%{{.*}}) <{shape = #ttnn.shape<2x3>, fill_value = 1.500000e+00 : f32}>
// CHECK-NEXT: %[[B:.*]] = "ttnn.constant"(%{{.*}}) <{value = dense<[1, 2, 3]> : tensor<3xsi32>}>
// CHECK-NEXT: "ttnn.full"(%{{.*}}) <{shape = #ttnn.shape<2x2>, fill_value = 7 : i32}>
// CHECK-NEXT: "ttnn.arange"(%{{.*}}) <{start = 0 : si64, end = 5 : si64, step = 1 : si64}>
// CHECK-NEXT: "ttnn.to_layout"(%[[B]])
// CHECK-NEXT: func.return
func.func @constants() -> (tensor<2x3xbf16>, tensor<3xsi32>, tensor<2x2xsi32>, tensor<5xf32>) {
  %a = "ttir.constant"() <{value = dense<1.5> : tensor<2x3xbf16>}> : () -> tensor<2x3xbf16>
  %b = "ttir.constant"() <{value = dense<[1, 2, 3]> : tensor<3xsi32>}> : () -> tensor<3xsi32>
  %c = "ttir.full"() <{shape = array<i32: 2, 2>, fill_value = 7 : i32}> : () -> tensor<2x2xsi32>
  %d = "ttir.arange"() <{start = 0 : si64, end = 5 : si64, step = 1 : si64, arange_dimension = 0 : i64}> : () -> tensor<5xf32>
  func.return %a, %b, %c, %d : tensor<2x3xbf16>, tensor<3xsi32>, tensor<2x2xsi32>, tensor<5xf32>
}

// Integers are summed in float32, products are computed one dimension at a time, and positions are u32.
// CHECK-LABEL: func.func public @integers(
// CHECK: %[[F:.*]] = "ttnn.typecast"(%{{.*}}) : {{.*}} -> tensor<4x6xf32,
// CHECK-NEXT: %[[S:.*]] = "ttnn.sum"(%[[F]]) <{dim_arg = [1 : i32], keep_dim = false}>
// CHECK-NEXT: "ttnn.typecast"(%[[S]]) : {{.*}} -> tensor<4xsi32,
// CHECK-NEXT: %[[P:.*]] = "ttnn.prod"(%{{.*}}) <{dim_arg = 1 : si64, keep_dim = true}>
// CHECK-NEXT: %[[Q:.*]] = "ttnn.prod"(%[[P]]) <{dim_arg = 0 : si64, keep_dim = true}>
// CHECK-NEXT: %[[R:.*]] = "ttnn.reshape"(%[[Q]]) <{shape = []}>
// CHECK-NEXT: "ttnn.typecast"(%[[R]]) : {{.*}} -> tensor<si32,
// CHECK-NEXT: %[[A:.*]] = "ttnn.argmax"(%x) <{dim = 1 : si32, keep_dim = false}> : {{.*}} -> tensor<4xui32,
// CHECK-NEXT: %[[T:.*]] = "ttnn.to_layout"(%[[A]])
// CHECK-NEXT: "ttnn.typecast"(%[[T]]) : {{.*}} -> tensor<4xsi32,
func.func @integers(%x: tensor<4x6xsi32>) -> (tensor<4xsi32>, tensor<si32>, tensor<4xsi32>) {
  %a = "ttir.sum"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x6xsi32>) -> tensor<4xsi32>
  %b = "ttir.prod"(%x) <{dim_arg = [0 : i32, 1 : i32], keep_dim = false}> : (tensor<4x6xsi32>) -> tensor<si32>
  %c = "ttir.argmax"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x6xsi32>) -> tensor<4xsi32>
  func.return %a, %b, %c : tensor<4xsi32>, tensor<si32>, tensor<4xsi32>
}

// CHECK-LABEL: func.func public @table(
// CHECK-NEXT: %[[I:.*]] = "ttnn.typecast"(%i) : {{.*}} -> tensor<2x5xui32,
// CHECK-NEXT: %[[B:.*]] = "ttnn.typecast"(%t) : {{.*}} -> tensor<9x4xbf16,
// CHECK-NEXT: %[[R:.*]] = "ttnn.to_layout"(%[[B]])
// CHECK-NEXT: %[[E:.*]] = "ttnn.embedding"(%[[I]], %[[R]]) : {{.*}} -> tensor<2x5x4xbf16,
// CHECK-NEXT: "ttnn.typecast"(%[[E]]) : {{.*}} -> tensor<2x5x4xf32,
func.func @table(%i: tensor<2x5xsi32>, %t: tensor<9x4xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x5x4xf32> {
  %a = "ttir.embedding"(%i, %t) : (tensor<2x5xsi32>, tensor<9x4xf32>) -> tensor<2x5x4xf32>
  func.return %a : tensor<2x5x4xf32>
}

// Padding behind runs on tiles; padding in front runs on row-major tensors.
// CHECK-LABEL: func.func public @padding(
// CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: "ttnn.pad"(%[[X]]) <{padding = array<i32: 0, 1, 0, 2>
// CHECK-NEXT: %[[B:.*]] = "ttnn.pad"(%x) <{padding = array<i32: 1, 0, 0, 0>
// CHECK-NEXT: "ttnn.to_layout"(%[[B]])
func.func @padding(%x: tensor<2x3xbf16>) -> (tensor<3x5xbf16>, tensor<3x3xbf16>) {
  %a = "ttir.pad"(%x) <{padding = array<i32: 0, 1, 0, 2>, value = 0.5 : f32}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
  %b = "ttir.pad"(%x) <{padding = array<i32: 1, 0, 0, 0>, value = 0.5 : f32}> : (tensor<2x3xbf16>) -> tensor<3x3xbf16>
  func.return %a, %b : tensor<3x5xbf16>, tensor<3x3xbf16>
}

// CHECK-LABEL: func.func public @choice(
// CHECK: %[[P:.*]] = "ttnn.typecast"(%{{.*}}) : {{.*}} -> tensor<2x3xsi32,
// CHECK: "ttnn.where"(%[[P]],
func.func @choice(%p: tensor<2x3xbf16>, %x: tensor<2x3xsi32>, %y: tensor<2x3xsi32>) -> tensor<2x3xsi32> {
  %a = "ttir.where"(%p, %x, %y) : (tensor<2x3xbf16>, tensor<2x3xsi32>, tensor<2x3xsi32>) -> tensor<2x3xsi32>
  func.return %a : tensor<2x3xsi32>
}

// CHECK-LABEL: func.func public @norm(
// CHECK: %[[X:.*]] = "ttnn.reshape"(%{{.*}}) <{shape = [2 : i32, 12 : i32]}>
// CHECK-NEXT: %[[G:.*]] = "ttnn.reshape"(%g) <{shape = [12 : i32]}>
// CHECK-NEXT: %[[N:.*]] = "ttnn.layer_norm"(%[[X]], %[[G]]) <{epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 0>}>
// CHECK-NEXT: "ttnn.reshape"(%[[N]]) <{shape = [2 : i32, 3 : i32, 4 : i32]}>
func.func @norm(%x: tensor<2x3x4xbf16>, %g: tensor<3x4xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x3x4xbf16> {
  %a = "ttir.layer_norm"(%x, %g) <{normalized_shape = array<i64: 3, 4>, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<2x3x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %a : tensor<2x3x4xbf16>
}

// Weights stay on the host; the activation is [1, 1, N * H * W, C] and row-major; padding is top, bottom, left, right.
// CHECK-LABEL: func.func public @conv(
// CHECK: %[[B:.*]] = "ttnn.from_device"
// CHECK: %[[C:.*]] = "ttnn.conv2d"(%{{.*}}, %w, %[[B]], %{{.*}}) <{in_channels = 4 : i32, out_channels = 6 : i32, batch_size = 2 : i32, input_height = 7 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 2>, padding = array<i32: 1, 2, 0, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32, conv2d_config = #ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>}>
// CHECK-NEXT: "ttnn.reshape"(%[[C]]) <{shape = [2 : i32, 8 : i32, 5 : i32, 6 : i32]}>
func.func @conv(%x: tensor<2x7x8x4xbf16>, %w: tensor<6x4x3x3xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %b: tensor<1x1x1x6xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x8x5x6xbf16> {
  %a = "ttir.conv2d"(%x, %w, %b) <{stride = array<i32: 1, 2>, padding = array<i32: 1, 0, 2, 3>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x4xbf16>, tensor<6x4x3x3xbf16>, tensor<1x1x1x6xbf16>) -> tensor<2x8x5x6xbf16>
  func.return %a : tensor<2x8x5x6xbf16>
}

// Pooling is computed in bfloat16.
// CHECK-LABEL: func.func public @pool(
// CHECK: "ttnn.typecast"({{.*}}) : {{.*}} -> tensor<2x7x8x3xbf16,
// CHECK: "ttnn.max_pool2d"(%{{.*}}) <{batch_size = 2 : si32, input_height = 7 : si32, input_width = 8 : si32, channels = 3 : si32, kernel_size = array<i32: 3, 2>, stride = array<i32: 2, 2>, padding = array<i32: 1, 1, 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false}> : {{.*}} -> tensor<1x1x32x3xbf16,
// CHECK: "ttnn.typecast"({{.*}}) : {{.*}} -> tensor<1x1x32x3xf32,
func.func @pool(%x: tensor<2x7x8x3xf32>) -> tensor<2x4x4x3xf32> {
  %a = "ttir.max_pool2d"(%x) <{kernel = array<i32: 3, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 0, 1, 0>, ceil_mode = false}> : (tensor<2x7x8x3xf32>) -> tensor<2x4x4x3xf32>
  func.return %a : tensor<2x4x4x3xf32>
}

// CHECK-LABEL: func.func public @passes_through(
// CHECK-NEXT: %[[X:.*]] = "ttnn.to_layout"(%x)
// CHECK-NEXT: func.return %[[X]], %w, %[[X]]
func.func @passes_through(%x: tensor<2x3xbf16>, %w: tensor<2x3xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<2x3xbf16>, tensor<2x3xbf16>, tensor<2x3xbf16>) {
  func.return %x, %w, %x : tensor<2x3xbf16>, tensor<2x3xbf16>, tensor<2x3xbf16>
}

// TT-NN pads by at most half of the window; wider padding becomes an op of its own.
// CHECK-LABEL: func.func public @pooling_padded_widely(
func.func public @pooling_padded_widely(%x: tensor<1x4x9x1xbf16>) -> tensor<1x4x9x1xbf16> {
  // CHECK: "ttnn.pad"(%{{.*}}) <{padding = array<i32: 0, 0, 0, 0, 0, 4, 0, 0>, value = 0xff800000 : f32
  // CHECK: "ttnn.max_pool2d"({{.*}}input_height = 4 : si32, input_width = 13 : si32, {{.*}}padding = array<i32: 0, 0, 0, 0>
  %0 = "ttir.max_pool2d"(%x) <{kernel = array<i32: 1, 5>, stride = array<i32: 1, 1>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 4>, ceil_mode = false}> : (tensor<1x4x9x1xbf16>) -> tensor<1x4x9x1xbf16>
  func.return %0 : tensor<1x4x9x1xbf16>
}

// TT-NN scales sinks like the scores.
// CHECK-LABEL: func.func public @attention_with_sinks(
// CHECK: %[[I:.*]] = "ttnn.full"(%{{.*}}) <{shape = #ttnn.shape<1>, fill_value = 4.000000e+00 : f32}>
// CHECK-NEXT: %[[S:.*]] = "ttnn.multiply"(%{{.*}}, %[[I]])
// CHECK-NEXT: "ttnn.scaled_dot_product_attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[S]])
func.func @attention_with_sinks(%q: tensor<1x2x32x32xbf16>, %s: tensor<1x2x1x1xbf16>) -> tensor<1x2x32x32xbf16> {
  %a = "ttir.scaled_dot_product_attention"(%q, %q, %q, %s) <{is_causal = false, scale = 2.5e-01 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> : (tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x1x1xbf16>) -> tensor<1x2x32x32xbf16>
  func.return %a : tensor<1x2x32x32xbf16>
}
