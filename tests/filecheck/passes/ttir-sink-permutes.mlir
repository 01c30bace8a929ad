// RUN: pass=ttir-sink-permutes

// sink_past_elementwise.
// CHECK-LABEL: func.func @past_elementwise_into_the_inverse(
func.func @past_elementwise_into_the_inverse(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xbf16> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.exp"(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.clamp_scalar"(%[[A]]) <{min = 0.000000e+00 : f32, max = 6.000000e+00 : f32}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.typecast"(%[[B]]) : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
  // CHECK-NEXT: func.return %[[C]]
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 2, 0>}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %b = "ttir.exp"(%a) : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %c = "ttir.clamp_scalar"(%b) <{min = 0.0 : f32, max = 6.0 : f32}> : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %d = "ttir.typecast"(%c) : (tensor<3x4x2xf32>) -> tensor<3x4x2xbf16>
  %e = "ttir.permute"(%d) <{permutation = array<i64: 2, 0, 1>}> : (tensor<3x4x2xbf16>) -> tensor<2x3x4xbf16>
  func.return %e : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @past_two_alike(
func.func @past_two_alike(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.add"(%x, %y) : {{.*}} -> tensor<3x4xf32>
  // CHECK-NEXT: "ttir.permute"(%[[A]]) <{permutation = array<i64: 1, 0>}>
  // CHECK-NEXT: func.return
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = "ttir.permute"(%y) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %c = "ttir.add"(%a, %b) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %c : tensor<4x3xf32>
}

// A small operand is permuted back; if its rank is lower, it first gets leading dimensions of size 1.
// CHECK-LABEL: func.func @past_a_small_operand_of_lower_rank(
func.func @past_a_small_operand_of_lower_rank(%x: tensor<2x8x64xf32>, %y: tensor<8x2xf32>, %z: tensor<2xf32>) -> tensor<64x8x2xf32> {
  // CHECK-NEXT: %[[F:.*]] = "ttir.reshape"(%z) <{shape = [1 : i32, 1 : i32, 2 : i32]}>
  // CHECK-NEXT: %[[Z:.*]] = "ttir.reshape"(%[[F]]) <{shape = [2 : i32, 1 : i32, 1 : i32]}>
  // CHECK-NEXT: %[[A:.*]] = "ttir.multiply"(%x, %[[Z]]) : {{.*}} -> tensor<2x8x64xf32>
  // CHECK-NEXT: %[[Y:.*]] = "ttir.reshape"(%y) <{shape = [1 : i32, 8 : i32, 2 : i32]}>
  // CHECK-NEXT: %[[P:.*]] = "ttir.permute"(%[[Y]]) <{permutation = array<i64: 2, 1, 0>}> : {{.*}} -> tensor<2x8x1xf32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.add"(%[[P]], %[[A]]) : {{.*}} -> tensor<2x8x64xf32>
  // CHECK-NEXT: "ttir.permute"(%[[B]]) <{permutation = array<i64: 2, 1, 0>}>
  // CHECK-NEXT: func.return
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 1, 0>}> : (tensor<2x8x64xf32>) -> tensor<64x8x2xf32>
  %b = "ttir.multiply"(%a, %z) : (tensor<64x8x2xf32>, tensor<2xf32>) -> tensor<64x8x2xf32>
  %c = "ttir.add"(%y, %b) : (tensor<8x2xf32>, tensor<64x8x2xf32>) -> tensor<64x8x2xf32>
  func.return %c : tensor<64x8x2xf32>
}

// CHECK-LABEL: func.func @permutes_that_differ_stay(
func.func @permutes_that_differ_stay(%x: tensor<3x3x3xf32>, %y: tensor<3x3x3xf32>) -> tensor<3x3x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: %[[B:.*]] = "ttir.permute"(%y)
  // CHECK-NEXT: "ttir.add"(%[[A]], %[[B]])
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 2, 0>}> : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %b = "ttir.permute"(%y) <{permutation = array<i64: 2, 1, 0>}> : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %c = "ttir.add"(%a, %b) : (tensor<3x3x3xf32>, tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  func.return %c : tensor<3x3x3xf32>
}

// CHECK-LABEL: func.func @a_large_operand_stops(
func.func @a_large_operand_stops(%x: tensor<3x4xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.add"(%[[A]], %y)
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = "ttir.add"(%a, %y) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %b : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @another_use_stops(
func.func @another_use_stops(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.exp"(%[[A]])
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = "ttir.exp"(%a) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %a, %b : tensor<4x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @twice_the_same(
func.func @twice_the_same(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.multiply"(%x, %x)
  // CHECK-NEXT: "ttir.permute"(%[[A]])
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = "ttir.multiply"(%a, %a) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %b : tensor<4x3xf32>
}

// The permuted operand is broadcast, so it does not determine the order of the result's dimensions.
// CHECK-LABEL: func.func @permuted_operand_is_broadcast(
func.func @permuted_operand_is_broadcast(%x: tensor<3x1xf32>, %y: tensor<64x3xf32>) -> tensor<64x3xf32> {
  // CHECK: "ttir.add"(%{{.*}}, %y) : (tensor<1x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
  // CHECK-NEXT: func.return
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x1xf32>) -> tensor<1x3xf32>
  %b = "ttir.add"(%a, %y) : (tensor<1x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
  func.return %b : tensor<64x3xf32>
}

// Ops along one dimension stay after their permute.
// CHECK-LABEL: func.func @softmax_and_cumsum_stop(
func.func @softmax_and_cumsum_stop(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.softmax"(%[[A]]) <{dimension = 1 : si32
  // CHECK-NEXT: %[[B:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.cumsum"(%[[B]]) <{dim = 0 : i64
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = "ttir.softmax"(%a) <{dimension = 1 : si32, numericStable = true}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %c = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %d = "ttir.cumsum"(%c) <{dim = 0 : i64}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %b, %d : tensor<4x3xf32>, tensor<4x3xf32>
}

// sink_past_concat.
// CHECK-LABEL: func.func @past_concat(
func.func @past_concat(%x: tensor<2x3x4xf32>, %y: tensor<2x3x5xf32>) -> tensor<9x2x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.concat"(%x, %y) <{dim = 2 : si32}> : {{.*}} -> tensor<2x3x9xf32>
  // CHECK-NEXT: "ttir.permute"(%[[A]]) <{permutation = array<i64: 2, 0, 1>}> : {{.*}} -> tensor<9x2x3xf32>
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = "ttir.permute"(%y) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
  %c = "ttir.concat"(%a, %b) <{dim = 0 : si32}> : (tensor<4x2x3xf32>, tensor<5x2x3xf32>) -> tensor<9x2x3xf32>
  func.return %c : tensor<9x2x3xf32>
}

// CHECK-LABEL: func.func @concat_of_mixed_stops(
func.func @concat_of_mixed_stops(%x: tensor<3x4xf32>, %y: tensor<5x3xf32>) -> tensor<9x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.concat"(%[[A]], %y) <{dim = 0 : si32}>
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = "ttir.concat"(%a, %y) <{dim = 0 : si32}> : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<9x3xf32>
  func.return %b : tensor<9x3xf32>
}

// sink_past_reduction.
// CHECK-LABEL: func.func @past_reductions(
func.func @past_reductions(%x: tensor<2x3x4x5xf32>, %y: tensor<2x3x4xf32>, %z: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<1x4x2xf32>, tensor<3xsi32>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.sum"(%x) <{dim_arg = [1 : i32, 3 : i32], keep_dim = false}> : {{.*}} -> tensor<2x4xf32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.permute"(%[[A]]) <{permutation = array<i64: 1, 0>}> : {{.*}} -> tensor<4x2xf32>
  // CHECK-NEXT: %[[C:.*]] = "ttir.max"(%y) <{dim_arg = [1 : i32], keep_dim = true}> : {{.*}} -> tensor<2x1x4xf32>
  // CHECK-NEXT: %[[D:.*]] = "ttir.permute"(%[[C]]) <{permutation = array<i64: 1, 2, 0>}> : {{.*}} -> tensor<1x4x2xf32>
  // CHECK-NEXT: %[[E:.*]] = "ttir.argmax"(%z) <{dim_arg = [0 : i32], keep_dim = false}> : {{.*}} -> tensor<3xsi32>
  // CHECK-NEXT: func.return %[[B]], %[[D]], %[[E]]
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 1, 0, 3>}> : (tensor<2x3x4x5xf32>) -> tensor<4x3x2x5xf32>
  %b = "ttir.sum"(%a) <{dim_arg = [1 : i32, 3 : i32], keep_dim = false}> : (tensor<4x3x2x5xf32>) -> tensor<4x2xf32>
  %c = "ttir.permute"(%y) <{permutation = array<i64: 1, 2, 0>}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %d = "ttir.max"(%c) <{dim_arg = [0 : i32], keep_dim = true}> : (tensor<3x4x2xf32>) -> tensor<1x4x2xf32>
  %e = "ttir.permute"(%z) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %f = "ttir.argmax"(%e) <{dim_arg = [-1 : i32], keep_dim = false}> : (tensor<3x2xf32>) -> tensor<3xsi32>
  func.return %b, %d, %f : tensor<4x2xf32>, tensor<1x4x2xf32>, tensor<3xsi32>
}

// A position among all elements depends on their order.
// CHECK-LABEL: func.func @argmax_of_all_stops(
func.func @argmax_of_all_stops(%x: tensor<2x3xf32>) -> (tensor<si32>, tensor<f32>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.argmax"(%[[A]]) <{keep_dim = false}>
  // CHECK: "ttir.sum"(%x) <{dim_arg = [0 : i32, 1 : i32], keep_dim = false}>
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = "ttir.argmax"(%a) <{keep_dim = false}> : (tensor<3x2xf32>) -> tensor<si32>
  %c = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = "ttir.sum"(%c) <{keep_dim = false}> : (tensor<3x2xf32>) -> tensor<f32>
  func.return %b, %d : tensor<si32>, tensor<f32>
}

// join_permutes, permute_as_reshape and drop_identity, as in ttir-fold.
// CHECK-LABEL: func.func @what_meets_joins(
func.func @what_meets_joins(%x: tensor<2x3x4xf32>, %y: tensor<1x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<3x4x1xf32>) {
  // CHECK-NEXT: "ttir.permute"(%x) <{permutation = array<i64: 1, 2, 0>}>
  // CHECK-NEXT: "ttir.reshape"(%y) <{shape = [3 : i32, 4 : i32, 1 : i32]}>
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = "ttir.permute"(%a) <{permutation = array<i64: 2, 0, 1>}> : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  %c = "ttir.permute"(%y) <{permutation = array<i64: 1, 2, 0>}> : (tensor<1x3x4xf32>) -> tensor<3x4x1xf32>
  func.return %b, %c : tensor<3x4x2xf32>, tensor<3x4x1xf32>
}

// sink_past_pad and sink_past_slice, where a permute follows.
// CHECK-LABEL: func.func @past_pad_and_slice(
func.func @past_pad_and_slice(%x: tensor<2x3x4xf32>) -> tensor<2x2x5xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.pad"(%x) <{padding = array<i32: 0, 0, 5, 6, 1, 2>, value = 1.000000e+00 : f32}> : (tensor<2x3x4xf32>) -> tensor<2x14x7xf32>
  // CHECK-NEXT: %[[B:.*]] = "ttir.slice_static"(%[[A]]) <{begins = [0 : i32, 3 : i32, 1 : i32], ends = [2 : i32, 6 : i32, 6 : i32], step = [1 : i32, 2 : i32, 1 : i32]}>
  // CHECK-NEXT: func.return %[[B]]
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = "ttir.pad"(%a) <{padding = array<i32: 1, 2, 0, 0, 5, 6>, value = 1.0 : f32}> : (tensor<4x2x3xf32>) -> tensor<7x2x14xf32>
  %c = "ttir.slice_static"(%b) <{begins = [1 : i32, 0 : i32, 3 : i32], ends = [6 : i32, 2 : i32, 6 : i32], step = [1 : i32, 1 : i32, 2 : i32]}> : (tensor<7x2x14xf32>) -> tensor<5x2x2xf32>
  %d = "ttir.permute"(%c) <{permutation = array<i64: 1, 2, 0>}> : (tensor<5x2x2xf32>) -> tensor<2x2x5xf32>
  func.return %d : tensor<2x2x5xf32>
}

// Without a permute behind it, a pad would only make the permute larger.
// CHECK-LABEL: func.func @pad_before_the_end_stops(
func.func @pad_before_the_end_stops(%x: tensor<2x3x4xf32>) -> tensor<7x2x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"(%x)
  // CHECK-NEXT: "ttir.pad"(%[[A]])
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = "ttir.pad"(%a) <{padding = array<i32: 1, 2, 0, 0, 0, 0>, value = 1.0 : f32}> : (tensor<4x2x3xf32>) -> tensor<7x2x3xf32>
  func.return %b : tensor<7x2x3xf32>
}

// Squeeze and excitation: a mean and a product share a permute, and a permute follows the product. Only tensors of one
// position are moved, by reshapes.
// CHECK-LABEL: func.func @shared_by_a_mean_and_a_product(
func.func @shared_by_a_mean_and_a_product(%x: tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32> {
  // CHECK-NEXT: %[[M:.*]] = "ttir.mean"(%x) <{dim_arg = [1 : i32, 2 : i32], keep_dim = true}> : (tensor<2x8x8x4xf32>) -> tensor<2x1x1x4xf32>
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%[[M]])
  // CHECK-NEXT: %[[S:.*]] = "ttir.sigmoid"(%[[R]])
  // CHECK-NEXT: %[[T:.*]] = "ttir.reshape"(%[[S]]) <{shape = [2 : i32, 1 : i32, 1 : i32, 4 : i32]}>
  // CHECK-NEXT: %[[P:.*]] = "ttir.multiply"(%x, %[[T]]) : (tensor<2x8x8x4xf32>, tensor<2x1x1x4xf32>) -> tensor<2x8x8x4xf32>
  // CHECK-NEXT: func.return %[[P]]
  %a = "ttir.permute"(%x) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x8x8x4xf32>) -> tensor<2x4x8x8xf32>
  %b = "ttir.mean"(%a) <{dim_arg = [2 : i32, 3 : i32], keep_dim = true}> : (tensor<2x4x8x8xf32>) -> tensor<2x4x1x1xf32>
  %c = "ttir.sigmoid"(%b) : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
  %d = "ttir.multiply"(%a, %c) : (tensor<2x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %e = "ttir.permute"(%d) <{permutation = array<i64: 0, 2, 3, 1>}> : (tensor<2x4x8x8xf32>) -> tensor<2x8x8x4xf32>
  func.return %e : tensor<2x8x8x4xf32>
}

// x * f(x): the product can move only together with f.
// CHECK-LABEL: func.func @times_itself(
func.func @times_itself(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.tanh"(%x)
  // CHECK-NEXT: %[[B:.*]] = "ttir.multiply"(%x, %[[A]])
  // CHECK-NEXT: func.return %[[B]]
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 2, 0>}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %b = "ttir.tanh"(%a) : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %c = "ttir.multiply"(%a, %b) : (tensor<3x4x2xf32>, tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %d = "ttir.permute"(%c) <{permutation = array<i64: 2, 0, 1>}> : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  func.return %d : tensor<2x3x4xf32>
}
