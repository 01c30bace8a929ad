// RUN: pass=ttir-fold

// drop_identity.
// CHECK-LABEL: func.func @drop_identity(
func.func @drop_identity(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  // CHECK-NEXT: func.return %x
  %a = "ttir.reshape"(%x) <{shape = [2 : i32, 3 : i32]}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %b = "ttir.permute"(%a) <{permutation = array<i64: 0, 1>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %c = "ttir.broadcast"(%b) <{broadcast_dimensions = array<i64: 1, 1>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %d = "ttir.typecast"(%c) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %d : tensor<2x3xbf16>
}

// Transposing a square matrix keeps the type, but moves elements.
// CHECK-LABEL: func.func @square_transposition_stays(
func.func @square_transposition_stays(%x: tensor<3x3xbf16>) -> tensor<3x3xbf16> {
  // CHECK: "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}>
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x3xbf16>) -> tensor<3x3xbf16>
  func.return %a : tensor<3x3xbf16>
}

// move_constant.
// CHECK-LABEL: func.func @constant_moves(
func.func @constant_moves() -> tensor<4x3xsi32> {
  // CHECK-NEXT: "ttir.constant"() <{value = dense<-2> : tensor<4x3xsi32>}>
  // CHECK-NEXT: func.return
  %a = "ttir.constant"() <{value = dense<-2.75> : tensor<f32>}> : () -> tensor<f32>
  %b = "ttir.reshape"(%a) <{shape = [1 : i32, 1 : i32]}> : (tensor<f32>) -> tensor<1x1xf32>
  %c = "ttir.broadcast"(%b) <{broadcast_dimensions = array<i64: 3, 4>}> : (tensor<1x1xf32>) -> tensor<3x4xf32>
  %d = "ttir.permute"(%c) <{permutation = array<i64: 1, 0>}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %e = "ttir.typecast"(%d) : (tensor<4x3xf32>) -> tensor<4x3xsi32>
  func.return %e : tensor<4x3xsi32>
}

// CHECK-LABEL: func.func @constant_of_several_values_stays(
func.func @constant_of_several_values_stays() -> tensor<2x1xf32> {
  // CHECK: "ttir.constant"
  // CHECK-NEXT: "ttir.reshape"
  %a = "ttir.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %b = "ttir.reshape"(%a) <{shape = [2 : i32, 1 : i32]}> : (tensor<2xf32>) -> tensor<2x1xf32>
  func.return %b : tensor<2x1xf32>
}

// A float that the integer type cannot hold is left to the chip.
// CHECK-LABEL: func.func @nan_stays_a_cast(
func.func @nan_stays_a_cast() -> (tensor<2xsi32>, tensor<2xsi32>) {
  // CHECK-COUNT-2: "ttir.typecast"
  %a = "ttir.constant"() <{value = dense<0x7FC00000> : tensor<2xf32>}> : () -> tensor<2xf32>
  %b = "ttir.typecast"(%a) : (tensor<2xf32>) -> tensor<2xsi32>
  %c = "ttir.constant"() <{value = dense<1.0e+20> : tensor<2xf32>}> : () -> tensor<2xf32>
  %d = "ttir.typecast"(%c) : (tensor<2xf32>) -> tensor<2xsi32>
  func.return %b, %d : tensor<2xsi32>, tensor<2xsi32>
}

// join_reshapes, join_permutes, permute_as_reshape.
// CHECK-LABEL: func.func @chains_of_moves(
func.func @chains_of_moves(%x: tensor<2x3x4xbf16>) -> (tensor<24xbf16>, tensor<3x4x2xbf16>) {
  // CHECK-NEXT: "ttir.reshape"(%x) <{shape = [24 : i32]}>
  // CHECK-NEXT: "ttir.permute"(%x) <{permutation = array<i64: 1, 2, 0>}>
  // CHECK-NEXT: func.return
  %a = "ttir.reshape"(%x) <{shape = [6 : i32, 4 : i32]}> : (tensor<2x3x4xbf16>) -> tensor<6x4xbf16>
  %b = "ttir.reshape"(%a) <{shape = [24 : i32]}> : (tensor<6x4xbf16>) -> tensor<24xbf16>
  %c = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
  %d = "ttir.permute"(%c) <{permutation = array<i64: 2, 0, 1>}> : (tensor<4x2x3xbf16>) -> tensor<3x4x2xbf16>
  func.return %b, %d : tensor<24xbf16>, tensor<3x4x2xbf16>
}

// CHECK-LABEL: func.func @inverse_permutes(
func.func @inverse_permutes(%x: tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16> {
  // CHECK-NEXT: func.return %x
  %a = "ttir.permute"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
  %b = "ttir.permute"(%a) <{permutation = array<i64: 1, 2, 0>}> : (tensor<4x2x3xbf16>) -> tensor<2x3x4xbf16>
  func.return %b : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @middle_of_a_chain_is_used(
func.func @middle_of_a_chain_is_used(%x: tensor<2x3xbf16>) -> (tensor<3x2xbf16>, tensor<6xbf16>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.reshape"(%x) <{shape = [3 : i32, 2 : i32]}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.reshape"(%x) <{shape = [6 : i32]}>
  // CHECK-NEXT: func.return %[[A]], %[[B]]
  %a = "ttir.reshape"(%x) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  %b = "ttir.reshape"(%a) <{shape = [6 : i32]}> : (tensor<3x2xbf16>) -> tensor<6xbf16>
  func.return %a, %b : tensor<3x2xbf16>, tensor<6xbf16>
}

// CHECK-LABEL: func.func @unit_dimensions_move(
func.func @unit_dimensions_move(%x: tensor<2x1x3xbf16>) -> (tensor<1x2x3xbf16>, tensor<3x1x2xbf16>) {
  // CHECK-NEXT: "ttir.reshape"(%x) <{shape = [1 : i32, 2 : i32, 3 : i32]}>
  // CHECK-NEXT: "ttir.permute"(%x) <{permutation = array<i64: 2, 1, 0>}>
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0, 2>}> : (tensor<2x1x3xbf16>) -> tensor<1x2x3xbf16>
  %b = "ttir.permute"(%x) <{permutation = array<i64: 2, 1, 0>}> : (tensor<2x1x3xbf16>) -> tensor<3x1x2xbf16>
  func.return %a, %b : tensor<1x2x3xbf16>, tensor<3x1x2xbf16>
}

// drop_neutral.
// CHECK-LABEL: func.func @neutral(
func.func @neutral(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: func.return %x
  %zero = "ttir.constant"() <{value = dense<0.0> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %one = "ttir.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %low = "ttir.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %high = "ttir.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
  %a = "ttir.add"(%zero, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "ttir.subtract"(%a, %zero) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = "ttir.multiply"(%one, %b) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = "ttir.div"(%c, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %e = "ttir.maximum"(%low, %d) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %f = "ttir.minimum"(%e, %high) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %f : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @not_neutral(
func.func @not_neutral(%x: tensor<1x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK: "ttir.broadcast"(%x
  // CHECK: "ttir.subtract"(%{{.*}}, %y)
  // CHECK: "ttir.div"(%{{.*}}, %y)
  // CHECK: "ttir.multiply"(%y, %{{.*}})
  // CHECK: "ttir.maximum"(%y, %{{.*}})
  %zero = "ttir.constant"() <{value = dense<0.0> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %one = "ttir.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %high = "ttir.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
  %a = "ttir.add"(%x, %zero) : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "ttir.subtract"(%zero, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = "ttir.div"(%one, %y) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = "ttir.multiply"(%y, %zero) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = "ttir.maximum"(%y, %high) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %a, %b, %c, %d, %e : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// clamp_by_constants.
// CHECK-LABEL: func.func @clamp(
func.func @clamp(%x: tensor<2x3xf32>, %y: tensor<f32>, %z: tensor<1x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK: "ttir.clamp_scalar"(%x) <{min = -5.000000e-01 : f32, max = 7.500000e-01 : f32}>
  // CHECK: "ttir.clamp_tensor"(%x, %{{.*}}, %y)
  // CHECK: "ttir.clamp_tensor"(%z, %{{.*}}, %{{.*}})
  %low = "ttir.constant"() <{value = dense<-0.5> : tensor<f32>}> : () -> tensor<f32>
  %high = "ttir.constant"() <{value = dense<0.75> : tensor<f32>}> : () -> tensor<f32>
  %lows = "ttir.constant"() <{value = dense<-0.5> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %a = "ttir.clamp_tensor"(%x, %low, %high) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %b = "ttir.clamp_tensor"(%x, %low, %y) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %c = "ttir.clamp_tensor"(%z, %lows, %high) : (tensor<1x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %a, %b, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @clamp_of_integers(
func.func @clamp_of_integers(%x: tensor<2x3xsi32>) -> tensor<2x3xsi32> {
  // CHECK-NEXT: "ttir.clamp_scalar"(%x) <{min = -2 : i32, max = 3 : i32}>
  %low = "ttir.constant"() <{value = dense<-2> : tensor<si32>}> : () -> tensor<si32>
  %high = "ttir.constant"() <{value = dense<3> : tensor<si32>}> : () -> tensor<si32>
  %a = "ttir.clamp_tensor"(%x, %low, %high) : (tensor<2x3xsi32>, tensor<si32>, tensor<si32>) -> tensor<2x3xsi32>
  func.return %a : tensor<2x3xsi32>
}

// Unused ops are erased; arguments and results stay.
// CHECK-LABEL: func.func @dead_code(
func.func @dead_code(%x: tensor<2xbf16>) -> (tensor<2xbf16>, tensor<2xbf16>) {
  // CHECK-NEXT: func.return %x, %x
  %a = "ttir.exp"(%x) : (tensor<2xbf16>) -> tensor<2xbf16>
  %b = "ttir.log"(%a) : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %x, %x : tensor<2xbf16>, tensor<2xbf16>
}

// shorten_moves: a dimension of size 1 is added and removed again, so one permute remains.
// CHECK-LABEL: func.func @moves_of_heads(
func.func @moves_of_heads(%x: tensor<2x8x32x64xbf16>) -> tensor<2x32x8x64xbf16> {
  // CHECK-NEXT: %[[P:.*]] = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 1, 3>}>
  // CHECK-NEXT: func.return %[[P]]
  %a = "ttir.permute"(%x) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x8x32x64xbf16>) -> tensor<2x8x64x32xbf16>
  %b = "ttir.reshape"(%a) <{shape = [2 : i32, 8 : i32, 64 : i32, 1 : i32, 32 : i32]}> : (tensor<2x8x64x32xbf16>) -> tensor<2x8x64x1x32xbf16>
  %c = "ttir.permute"(%b) <{permutation = array<i64: 0, 4, 1, 3, 2>}> : (tensor<2x8x64x1x32xbf16>) -> tensor<2x32x8x1x64xbf16>
  %d = "ttir.reshape"(%c) <{shape = [2 : i32, 32 : i32, 8 : i32, 64 : i32]}> : (tensor<2x32x8x1x64xbf16>) -> tensor<2x32x8x64xbf16>
  func.return %d : tensor<2x32x8x64xbf16>
}

// Windows of an image: these three ops are already the fewest.
// CHECK-LABEL: func.func @moves_to_windows(
func.func @moves_to_windows(%x: tensor<2x8x8x64xbf16>) -> tensor<8x16x64xbf16> {
  // CHECK-NEXT: "ttir.reshape"
  // CHECK-NEXT: "ttir.permute"
  // CHECK-NEXT: "ttir.reshape"
  // CHECK-NEXT: func.return
  %a = "ttir.reshape"(%x) <{shape = [2 : i32, 2 : i32, 4 : i32, 2 : i32, 4 : i32, 64 : i32]}> : (tensor<2x8x8x64xbf16>) -> tensor<2x2x4x2x4x64xbf16>
  %b = "ttir.permute"(%a) <{permutation = array<i64: 0, 1, 3, 2, 4, 5>}> : (tensor<2x2x4x2x4x64xbf16>) -> tensor<2x2x2x4x4x64xbf16>
  %c = "ttir.reshape"(%b) <{shape = [8 : i32, 16 : i32, 64 : i32]}> : (tensor<2x2x2x4x4x64xbf16>) -> tensor<8x16x64xbf16>
  func.return %c : tensor<8x16x64xbf16>
}

// A predicate combined by and with a larger tensor of true is the predicate, broadcast.
// CHECK-LABEL: func.func @true_of_a_larger_shape(
func.func @true_of_a_larger_shape(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<2x4x4xbf16> {
  // CHECK-NEXT: %[[T:.*]] = "ttir.ge"(%x, %y)
  // CHECK-NOT: logical_and
  // CHECK: "ttir.broadcast"
  %a = "ttir.ge"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xbf16>
  %true = "ttir.constant"() <{value = dense<1.0> : tensor<2x4x4xbf16>}> : () -> tensor<2x4x4xbf16>
  %b = "ttir.logical_and"(%true, %a) : (tensor<2x4x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4x4xbf16>
  func.return %b : tensor<2x4x4xbf16>
}

// The and with true must stay: it turns any other number into 1 or 0.
// CHECK-LABEL: func.func @number_and_true(
func.func @number_and_true(%x: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
  // CHECK: "ttir.logical_and"
  %true = "ttir.constant"() <{value = dense<1.0> : tensor<4x4xbf16>}> : () -> tensor<4x4xbf16>
  %b = "ttir.logical_and"(%x, %true) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  func.return %b : tensor<4x4xbf16>
}

// 1x1 weights are scaled as a matrix, because in four dimensions each of them takes a tile.
// CHECK-LABEL: func.func @scaled_weights(
func.func @scaled_weights(%w: tensor<64x32x1x1xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<64x32x1x1xbf16> {
  // CHECK: "ttir.multiply"({{.*}}) : (tensor<64x32xbf16>, {{.*}}) -> tensor<64x32xbf16>
  // CHECK-NEXT: "ttir.reshape"
  %0 = "ttir.constant"() <{value = dense<0.5> : tensor<1x1xbf16>}> : () -> tensor<1x1xbf16>
  %1 = "ttir.reshape"(%w) <{shape = [64 : i32, 32 : i32]}> : (tensor<64x32x1x1xbf16>) -> tensor<64x32xbf16>
  %2 = "ttir.multiply"(%1, %0) : (tensor<64x32xbf16>, tensor<1x1xbf16>) -> tensor<64x32xbf16>
  %3 = "ttir.reshape"(%2) <{shape = [64 : i32, 32 : i32, 1 : i32, 1 : i32]}> : (tensor<64x32xbf16>) -> tensor<64x32x1x1xbf16>
  func.return %3 : tensor<64x32x1x1xbf16>
}

// join_reverses.
// CHECK-LABEL: func.func @reverses(
func.func @reverses(%x: tensor<2x3xbf16>, %y: tensor<2x3x4xbf16>) -> (tensor<2x3xbf16>, tensor<2x3x4xbf16>) {
  // CHECK-NEXT: %[[R:.*]] = "ttir.reverse"(%y) <{dimensions = array<i64: 0, 2>}>
  // CHECK-NEXT: func.return %x, %[[R]]
  %a = "ttir.reverse"(%x) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %b = "ttir.reverse"(%a) <{dimensions = array<i64: 1, 0>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %c = "ttir.reverse"(%y) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  %d = "ttir.reverse"(%c) <{dimensions = array<i64: 1, 2>}> : (tensor<2x3x4xbf16>) -> tensor<2x3x4xbf16>
  func.return %b, %d : tensor<2x3xbf16>, tensor<2x3x4xbf16>
}
