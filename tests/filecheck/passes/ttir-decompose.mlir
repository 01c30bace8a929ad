// RUN: pass=ttir-decompose

// dot_general: without batch dimensions, the free dimensions of the left operand stay separate.
// CHECK-LABEL: func.func @left_dimensions_stay(
func.func @left_dimensions_stay(%x: tensor<2x3x5xf32>, %y: tensor<5x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return
  %a = "ttir.dot_general"(%x, %y) <{batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64: 2>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64: 0>}> : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32>
  func.return %a : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @batches_and_odd_orders(
func.func @batches_and_odd_orders(%x: tensor<7x2x3x5xf32>, %y: tensor<3x5x7x4xf32>) -> tensor<3x7x2x4xf32> {
  // CHECK-NEXT: %[[L:.*]] = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1, 3>}> : {{.*}} -> tensor<3x7x2x5xf32>
  // CHECK-NEXT: %[[R:.*]] = "ttir.permute"(%y) <{permutation = array<i64: 0, 2, 1, 3>}> : {{.*}} -> tensor<3x7x5x4xf32>
  // CHECK-NEXT: "ttir.matmul"(%[[L]], %[[R]]) {{.*}} -> tensor<3x7x2x4xf32>
  // CHECK-NEXT: func.return
  %a = "ttir.dot_general"(%x, %y) <{batch_dims_lhs = array<i64: 2, 0>, contract_dims_lhs = array<i64: 3>, batch_dims_rhs = array<i64: 0, 2>, contract_dims_rhs = array<i64: 1>}> : (tensor<7x2x3x5xf32>, tensor<3x5x7x4xf32>) -> tensor<3x7x2x4xf32>
  func.return %a : tensor<3x7x2x4xf32>
}

// CHECK-LABEL: func.func @several_contracted_and_free(
func.func @several_contracted_and_free(%x: tensor<3x4x5xf32>, %y: tensor<4x6x3x2xf32>) -> tensor<5x6x2xf32> {
  // CHECK-NEXT: %[[L:.*]] = "ttir.permute"(%x) <{permutation = array<i64: 2, 1, 0>}> : {{.*}} -> tensor<5x4x3xf32>
  // CHECK-NEXT: %[[R:.*]] = "ttir.permute"(%y) <{permutation = array<i64: 0, 2, 1, 3>}> : {{.*}} -> tensor<4x3x6x2xf32>
  // CHECK-NEXT: %[[A:.*]] = "ttir.reshape"(%[[L]]) <{shape = [5 : i32, 12 : i32]}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.reshape"(%[[R]]) <{shape = [12 : i32, 12 : i32]}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.matmul"(%[[A]], %[[B]])
  // CHECK-NEXT: "ttir.reshape"(%[[C]]) <{shape = [5 : i32, 6 : i32, 2 : i32]}>
  // CHECK-NEXT: func.return
  %a = "ttir.dot_general"(%x, %y) <{batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64: 1, 0>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64: 0, 2>}> : (tensor<3x4x5xf32>, tensor<4x6x3x2xf32>) -> tensor<5x6x2xf32>
  func.return %a : tensor<5x6x2xf32>
}

// CHECK-LABEL: func.func @vectors(
func.func @vectors(%x: tensor<5xf32>, %y: tensor<5xf32>) -> (tensor<f32>, tensor<5x5xf32>) {
  // CHECK: "ttir.matmul"({{.*}}) {{.*}} : (tensor<1x5xf32>, tensor<5x1xf32>) -> tensor<1x1xf32>
  // CHECK-NEXT: "ttir.reshape"({{.*}}) <{shape = []}>
  // CHECK: "ttir.matmul"({{.*}}) {{.*}} : (tensor<5x1xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  %a = "ttir.dot_general"(%x, %y) <{batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64: 0>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64: 0>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
  %b = "ttir.dot_general"(%x, %y) <{batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
  func.return %a, %b : tensor<f32>, tensor<5x5xf32>
}

// channels_last.
// CHECK-LABEL: func.func @channels_first(
func.func @channels_first(%x: tensor<2x3x7x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<1x1x1x4xf32>) -> tensor<2x4x8x4xf32> {
  // CHECK-NEXT: %[[X:.*]] = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 3, 1>}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.conv2d"(%[[X]], %w, %b) <{stride = array<i32: 1, 2>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : {{.*}} -> tensor<2x8x4x4xf32>
  // CHECK-NEXT: "ttir.permute"(%[[C]]) <{permutation = array<i64: 0, 3, 1, 2>}>
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %w, %b) <{stride = array<i32: 1, 2>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<2x3x7x8xf32>, tensor<4x3x3x3xf32>, tensor<1x1x1x4xf32>) -> tensor<2x4x8x4xf32>
  func.return %a : tensor<2x4x8x4xf32>
}

// CHECK-LABEL: func.func @channels_last_stays(
func.func @channels_last_stays(%x: tensor<2x7x8x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x8x4x4xf32> {
  // CHECK-NEXT: "ttir.conv2d"(%x, %w)
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 2>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<2x7x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<2x8x4x4xf32>
  func.return %a : tensor<2x8x4x4xf32>
}

// CHECK-LABEL: func.func @any_order(
func.func @any_order(%x: tensor<3x7x2x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<4x8x2x4xf32> {
  // CHECK-NEXT: "ttir.permute"(%x) <{permutation = array<i64: 2, 1, 3, 0>}> : {{.*}} -> tensor<2x7x8x3xf32>
  // CHECK: "ttir.permute"({{.*}}) <{permutation = array<i64: 3, 1, 0, 2>}> : {{.*}} -> tensor<4x8x2x4xf32>
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 2>, padding = array<i32: 1, 0, 2, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 2 : i64, height_dim = 1 : i64, width_dim = 3 : i64, channel_dim = 0 : i64}> : (tensor<3x7x2x8xf32>, tensor<4x3x3x3xf32>) -> tensor<4x8x2x4xf32>
  func.return %a : tensor<4x8x2x4xf32>
}

// arange.
// CHECK-LABEL: func.func @range(
func.func @range() -> (tensor<2x4x3xsi32>, tensor<5xf32>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 2 : si64, arange_dimension = 0 : i64}> : () -> tensor<4xsi32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.reshape"(%[[A]]) <{shape = [1 : i32, 4 : i32, 1 : i32]}>
  // CHECK-NEXT: "ttir.broadcast"(%[[B]]) <{broadcast_dimensions = array<i64: 2, 1, 3>}>
  // CHECK-NEXT: "ttir.arange"() {{.*}} -> tensor<5xf32>
  // CHECK-NEXT: func.return
  %a = "ttir.arange"() <{start = 1 : si64, end = 9 : si64, step = 2 : si64, arange_dimension = 1 : i64}> : () -> tensor<2x4x3xsi32>
  %b = "ttir.arange"() <{start = 0 : si64, end = 5 : si64, step = 1 : si64, arange_dimension = 0 : i64}> : () -> tensor<5xf32>
  func.return %a, %b : tensor<2x4x3xsi32>, tensor<5xf32>
}

// reverse: the reversed dimensions become the rows of a table, read by falling indices; a bfloat16 table by an embedding.
// CHECK-LABEL: func.func @reverse(
func.func @reverse(%x: tensor<2x3xf32>, %y: tensor<2x4x5xbf16>) -> (tensor<2x3xf32>, tensor<2x4x5xbf16>) {
  // CHECK-NEXT: %[[T:.*]] = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}>
  // CHECK-NEXT: %[[A:.*]] = "ttir.arange"() <{start = 2 : si64, end = -1 : si64, step = -1 : si64, arange_dimension = 0 : i64}> : () -> tensor<3xsi32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.reshape"(%[[A]]) <{shape = [3 : i32, 1 : i32]}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.broadcast"(%[[B]]) <{broadcast_dimensions = array<i64: 1, 2>}>
  // CHECK-NEXT: %[[G:.*]] = "ttir.gather"(%[[T]], %[[C]]) <{dim = 0 : i32}>
  // CHECK-NEXT: "ttir.permute"(%[[G]]) <{permutation = array<i64: 1, 0>}>
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%y) <{shape = [8 : i32, 5 : i32]}>
  // CHECK-NEXT: %[[N:.*]] = "ttir.arange"() <{start = 7 : si64, end = -1 : si64, step = -1 : si64, arange_dimension = 0 : i64}> : () -> tensor<8xsi32>
  // CHECK-NEXT: %[[E:.*]] = "ttir.embedding"(%[[N]], %[[R]])
  // CHECK-NEXT: "ttir.reshape"(%[[E]]) <{shape = [2 : i32, 4 : i32, 5 : i32]}>
  // CHECK-NEXT: func.return
  %a = "ttir.reverse"(%x) <{dimensions = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "ttir.reverse"(%y) <{dimensions = array<i64: 1, 0>}> : (tensor<2x4x5xbf16>) -> tensor<2x4x5xbf16>
  func.return %a, %b : tensor<2x3xf32>, tensor<2x4x5xbf16>
}

// embedding: rows of a table that is not bfloat16 are gathered, which is exact.
// CHECK-LABEL: func.func @rows_of_float32(
func.func @rows_of_float32(%rows: tensor<1x5xsi32>, %table: tensor<9x4xf32>) -> tensor<1x5x4xf32> {
  // CHECK-NEXT: %[[B:.*]] = "ttir.reshape"(%rows) <{shape = [5 : i32, 1 : i32]}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.broadcast"(%[[B]]) <{broadcast_dimensions = array<i64: 1, 4>}>
  // CHECK-NEXT: %[[G:.*]] = "ttir.gather"(%table, %[[C]]) <{dim = 0 : i32}> : {{.*}} -> tensor<5x4xf32>
  // CHECK-NEXT: "ttir.reshape"(%[[G]]) <{shape = [1 : i32, 5 : i32, 4 : i32]}>
  %a = "ttir.embedding"(%rows, %table) : (tensor<1x5xsi32>, tensor<9x4xf32>) -> tensor<1x5x4xf32>
  func.return %a : tensor<1x5x4xf32>
}

// Elementwise ops that the TTNN dialect lacks.
// CHECK-LABEL: func.func @powers_of_two(
func.func @powers_of_two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[T:.*]] = "ttir.full"() <{shape = array<i32: 4>, fill_value = 2.000000e+00 : f32}>
  // CHECK-NEXT: "ttir.pow"(%[[T]], %x)
  // CHECK-NEXT: "ttir.multiply"(%x, %x)
  // CHECK-NEXT: func.return
  %a = "ttir.exp2"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "ttir.square"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @fraction(
func.func @fraction(%x: tensor<4xf32>, %n: tensor<4xsi32>) -> (tensor<4xf32>, tensor<4xsi32>) {
  // CHECK: %[[N:.*]] = "ttir.lt"(%x, {{.*}} -> tensor<4xbf16>
  // CHECK-NEXT: %[[C:.*]] = "ttir.ceil"(%x)
  // CHECK-NEXT: %[[F:.*]] = "ttir.floor"(%x)
  // CHECK-NEXT: %[[W:.*]] = "ttir.where"(%[[N]], %[[C]], %[[F]])
  // CHECK-NEXT: %[[R:.*]] = "ttir.subtract"(%x, %[[W]])
  // CHECK-NEXT: func.return %[[R]], %n
  %a = "ttir.frac"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "ttir.trunc"(%n) : (tensor<4xsi32>) -> tensor<4xsi32>
  func.return %a, %b : tensor<4xf32>, tensor<4xsi32>
}

// CHECK-LABEL: func.func @sign_of_bits(
func.func @sign_of_bits(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NEXT: %[[F:.*]] = "ttir.typecast"(%x) {{.*}} -> tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.bitcast_convert"(%[[F]]) {{.*}} -> tensor<4xsi32>
  // CHECK: "ttir.lt"(%[[B]], {{.*}} -> tensor<4xbf16>
  // CHECK-NEXT: func.return
  %a = "ttir.signbit"(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  func.return %a : tensor<4xbf16>
}

// CHECK-LABEL: func.func @shift_with_sign(
func.func @shift_with_sign(%x: tensor<4xsi32>, %u: tensor<4xui32>, %s: tensor<4xsi32>, %t: tensor<4xui32>) -> (tensor<4xsi32>, tensor<4xui32>) {
  // CHECK: %[[N:.*]] = "ttir.lt"(%x
  // CHECK-NEXT: %[[C:.*]] = "ttir.bitwise_not"(%x)
  // CHECK-NEXT: %[[M:.*]] = "ttir.where"(%[[N]], %[[C]], %x)
  // CHECK-NEXT: %[[S:.*]] = "ttir.logical_right_shift"(%[[M]], %s)
  // CHECK-NEXT: %[[B:.*]] = "ttir.bitwise_not"(%[[S]])
  // CHECK-NEXT: "ttir.where"(%[[N]], %[[B]], %[[S]])
  // CHECK-NEXT: "ttir.logical_right_shift"(%u, %t)
  // CHECK-NEXT: func.return
  %a = "ttir.right_shift"(%x, %s) : (tensor<4xsi32>, tensor<4xsi32>) -> tensor<4xsi32>
  %b = "ttir.right_shift"(%u, %t) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  func.return %a, %b : tensor<4xsi32>, tensor<4xui32>
}

// CHECK-LABEL: func.func @soft_sign(
func.func @soft_sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.abs"(%x)
  // CHECK: %[[D:.*]] = "ttir.add"(%[[A]]
  // CHECK-NEXT: "ttir.div"(%x, %[[D]])
  // CHECK-NEXT: func.return
  %a = "ttir.softsign"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
