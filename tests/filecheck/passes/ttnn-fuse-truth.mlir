// RUN: pass=ttnn-fuse

#dram = #ttnn.buffer_type<dram>
#f32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#bf16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#si32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
!f32 = tensor<4x4xf32, #f32>
!bf16 = tensor<4x4xbf16, #bf16>
!si32 = tensor<4x4xsi32, #si32>

// CHECK-LABEL: func.func @cast_at_once(
func.func @cast_at_once(%x: !f32, %y: !f32) -> !f32 {
  // CHECK-NEXT: %[[C:.*]] = "ttnn.gt"(%x, %y) : {{.*}} -> tensor<4x4xf32
  // CHECK-NEXT: func.return %[[C]]
  %0 = "ttnn.gt"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !f32
  func.return %1 : !f32
}

// CHECK-LABEL: func.func @used_as_it_is_too(
func.func @used_as_it_is_too(%x: !f32, %y: !f32) -> (!bf16, !f32) {
  // CHECK-NEXT: "ttnn.gt"
  // CHECK-NEXT: "ttnn.typecast"
  %0 = "ttnn.gt"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !f32
  func.return %0, %1 : !bf16, !f32
}

// CHECK-LABEL: func.func @a_sum_is_rounded(
func.func @a_sum_is_rounded(%x: !f32, %y: !f32) -> !f32 {
  // CHECK-NEXT: "ttnn.add"
  // CHECK-NEXT: "ttnn.typecast"
  %0 = "ttnn.add"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !f32
  func.return %1 : !f32
}

// CHECK-LABEL: func.func @integers_of_integers(
func.func @integers_of_integers(%x: !si32, %y: !si32) -> !si32 {
  // CHECK-NEXT: %[[C:.*]] = "ttnn.lt"(%x, %y) : {{.*}} -> tensor<4x4xsi32
  // CHECK-NEXT: func.return %[[C]]
  %0 = "ttnn.lt"(%x, %y) : (!si32, !si32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !si32
  func.return %1 : !si32
}

// CHECK-LABEL: func.func @integers_of_floats(
func.func @integers_of_floats(%x: !f32, %y: !f32) -> !si32 {
  // CHECK-NEXT: "ttnn.lt"
  // CHECK-NEXT: "ttnn.typecast"
  %0 = "ttnn.lt"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !si32
  func.return %1 : !si32
}
