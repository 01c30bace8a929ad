// RUN: pass=ttnn-fuse

#dram = #ttnn.buffer_type<dram>
#f32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#one = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#bf16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
!f32 = tensor<4x4xf32, #f32>
!one = tensor<1xf32, #one>
!bf16 = tensor<4x4xbf16, #bf16>

// CHECK-LABEL: func.func @in_a_row(
func.func @in_a_row(%v: !f32, %g: !f32) -> !f32 {
  // CHECK-NEXT: %[[S:.*]] = "ttnn.add"(%v, %g)
  // CHECK-SAME: input_tensor_a_activations = [#ttnn.unary_with_param<op_type = mul_unary_sfpu, params = [5.000000e-01 : f32]>]
  // CHECK-SAME: input_tensor_b_activations = [#ttnn.unary_with_param<op_type = square>, #ttnn.unary_with_param<op_type = rsub, params = [5.000000e-01 : f32]>]
  // CHECK-SAME: activations = [#ttnn.unary_with_param<op_type = sqrt>]
  // CHECK-NEXT: func.return %[[S]]
  %d = "ttnn.get_device"() <{mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device
  %c = "ttnn.full"(%d) <{shape = #ttnn.shape<1>, fill_value = 0.5 : f32}> : (!ttnn.device) -> !one
  %0 = "ttnn.multiply"(%c, %v) : (!one, !f32) -> !f32
  %1 = "ttnn.multiply"(%g, %g) : (!f32, !f32) -> !f32
  %2 = "ttnn.subtract"(%c, %1) : (!one, !f32) -> !f32
  %3 = "ttnn.add"(%0, %2) : (!f32, !f32) -> !f32
  %4 = "ttnn.sqrt"(%3) : (!f32) -> !f32
  func.return %4 : !f32
}

// CHECK-LABEL: func.func @used_elsewhere(
func.func @used_elsewhere(%x: !f32, %y: !f32) -> (!f32, !f32) {
  // CHECK-NEXT: %[[E:.*]] = "ttnn.exp"(%x)
  // CHECK-NEXT: %[[A:.*]] = "ttnn.add"(%[[E]], %y) : (
  // CHECK-NEXT: func.return %[[E]], %[[A]]
  %0 = "ttnn.exp"(%x) : (!f32) -> !f32
  %1 = "ttnn.add"(%0, %y) : (!f32, !f32) -> !f32
  func.return %0, %1 : !f32, !f32
}

// Not fused: a computed scalar cannot be a function's parameter.
// CHECK-LABEL: func.func @computed_scalar(
func.func @computed_scalar(%x: !f32, %y: !f32, %c: !one) -> !f32 {
  // CHECK-NEXT: %[[M:.*]] = "ttnn.multiply"(%x, %c) : (
  // CHECK-NEXT: "ttnn.add"(%[[M]], %y) : (
  %0 = "ttnn.multiply"(%x, %c) : (!f32, !one) -> !f32
  %1 = "ttnn.add"(%0, %y) : (!f32, !f32) -> !f32
  func.return %1 : !f32
}

// Not fused: operands and result of a kernel have one data type.
// CHECK-LABEL: func.func @two_types(
func.func @two_types(%x: !bf16, %y: !f32) -> !f32 {
  // CHECK-NEXT: "ttnn.exp"
  // CHECK-NEXT: "ttnn.add"
  %0 = "ttnn.exp"(%x) : (!bf16) -> !bf16
  %1 = "ttnn.add"(%0, %y) : (!bf16, !f32) -> !f32
  func.return %1 : !f32
}
