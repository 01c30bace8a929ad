// RUN: pass=ttir-fold-broadcasts

// CHECK-LABEL: func.func @one_side(
func.func @one_side(%x: tensor<4x3xbf16>, %y: tensor<1x3xbf16>) -> tensor<4x3xbf16> {
  // CHECK-NEXT: "ttir.add"(%x, %y) : (tensor<4x3xbf16>, tensor<1x3xbf16>) -> tensor<4x3xbf16>
  // CHECK-NEXT: func.return
  %a = "ttir.broadcast"(%y) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xbf16>) -> tensor<4x3xbf16>
  %b = "ttir.add"(%x, %a) : (tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %b : tensor<4x3xbf16>
}

// CHECK-LABEL: func.func @both_sides_that_complete_each_other(
func.func @both_sides_that_complete_each_other(%x: tensor<4x1xbf16>, %y: tensor<1x3xbf16>) -> tensor<4x3xbf16> {
  // CHECK-NEXT: "ttir.multiply"(%x, %y)
  // CHECK-NEXT: func.return
  %a = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<4x1xbf16>) -> tensor<4x3xbf16>
  %b = "ttir.broadcast"(%y) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xbf16>) -> tensor<4x3xbf16>
  %c = "ttir.multiply"(%a, %b) : (tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %c : tensor<4x3xbf16>
}

// One of the two broadcasts must stay, or the result would become smaller.
// CHECK-LABEL: func.func @both_sides_alike(
func.func @both_sides_alike(%x: tensor<1x3xbf16>, %y: tensor<1x3xbf16>) -> tensor<4x3xbf16> {
  // CHECK-NEXT: %[[B:.*]] = "ttir.broadcast"
  // CHECK-NEXT: "ttir.multiply"(%{{.*}}, %{{.*}}) : (tensor<{{[14]}}x3xbf16>, tensor<{{[14]}}x3xbf16>) -> tensor<4x3xbf16>
  // CHECK-NEXT: func.return
  %a = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xbf16>) -> tensor<4x3xbf16>
  %b = "ttir.broadcast"(%y) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xbf16>) -> tensor<4x3xbf16>
  %c = "ttir.multiply"(%a, %b) : (tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %c : tensor<4x3xbf16>
}

// CHECK-LABEL: func.func @same_operand_twice(
func.func @same_operand_twice(%x: tensor<1x3xbf16>) -> tensor<4x3xbf16> {
  // CHECK-NEXT: "ttir.broadcast"
  // CHECK-NEXT: "ttir.multiply"
  %a = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xbf16>) -> tensor<4x3xbf16>
  %b = "ttir.multiply"(%a, %a) : (tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %b : tensor<4x3xbf16>
}

// CHECK-LABEL: func.func @ops_of_three_operands(
func.func @ops_of_three_operands(%p: tensor<4x1xbf16>, %x: tensor<4x3xbf16>, %y: tensor<1x1xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xbf16>) {
  // CHECK-NEXT: "ttir.where"(%p, %x, %y)
  // CHECK-NEXT: "ttir.clamp_tensor"(%x, %y, %p)
  // CHECK-NEXT: func.return
  %a = "ttir.broadcast"(%p) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<4x1xbf16>) -> tensor<4x3xbf16>
  %b = "ttir.broadcast"(%y) <{broadcast_dimensions = array<i64: 4, 3>}> : (tensor<1x1xbf16>) -> tensor<4x3xbf16>
  %c = "ttir.where"(%a, %x, %b) : (tensor<4x3xbf16>, tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  %d = "ttir.clamp_tensor"(%x, %b, %a) : (tensor<4x3xbf16>, tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %c, %d : tensor<4x3xbf16>, tensor<4x3xbf16>
}

// A unary op, a reduction and a matrix product do not broadcast.
// CHECK-LABEL: func.func @others_stay(
func.func @others_stay(%x: tensor<1x3xbf16>, %y: tensor<3x2xbf16>) -> (tensor<4x3xbf16>, tensor<3xbf16>, tensor<4x2xbf16>) {
  // CHECK-NEXT: %[[A:.*]] = "ttir.broadcast"
  // CHECK-NEXT: "ttir.exp"(%[[A]])
  // CHECK-NEXT: "ttir.sum"(%[[A]])
  // CHECK-NEXT: "ttir.matmul"(%[[A]], %y)
  %a = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xbf16>) -> tensor<4x3xbf16>
  %b = "ttir.exp"(%a) : (tensor<4x3xbf16>) -> tensor<4x3xbf16>
  %c = "ttir.sum"(%a) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<4x3xbf16>) -> tensor<3xbf16>
  %d = "ttir.matmul"(%a, %y) <{transpose_a = false, transpose_b = false}> : (tensor<4x3xbf16>, tensor<3x2xbf16>) -> tensor<4x2xbf16>
  func.return %b, %c, %d : tensor<4x3xbf16>, tensor<3xbf16>, tensor<4x2xbf16>
}

// A unary op moves before the broadcast, which its user then does itself.
// CHECK-LABEL: func.func @unary_of_repeated(
func.func @unary_of_repeated(%x: tensor<1x3xf32>, %y: tensor<4x3xbf16>) -> tensor<4x3xbf16> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.typecast"(%x) : (tensor<1x3xf32>) -> tensor<1x3xbf16>
  // CHECK-NEXT: "ttir.add"(%[[A]], %y)
  // CHECK-NEXT: func.return
  %a = "ttir.broadcast"(%x) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xf32>) -> tensor<4x3xf32>
  %b = "ttir.typecast"(%a) : (tensor<4x3xf32>) -> tensor<4x3xbf16>
  %c = "ttir.add"(%b, %y) : (tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
  func.return %c : tensor<4x3xbf16>
}
