// RUN: pass=ttnn-fuse

#dram = #ttnn.buffer_type<dram>
#f32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#bf16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#si32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#ui32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
!f32 = tensor<4x4xf32, #f32>
!bf16 = tensor<4x4xbf16, #bf16>
!si32 = tensor<4x4xsi32, #si32>
!ui32 = tensor<4x4xui32, #ui32>
!row = tensor<1x16xf32, #f32>
!row_bf16 = tensor<1x16xbf16, #bf16>

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

// CHECK-LABEL: func.func @cast_behind_a_reshape(
func.func @cast_behind_a_reshape(%x: !f32, %y: !f32) -> !row {
  // CHECK-NEXT: %[[C:.*]] = "ttnn.gt"(%x, %y) : {{.*}} -> tensor<4x4xf32
  // CHECK-NEXT: "ttnn.reshape"(%[[C]])
  // CHECK-NEXT: func.return
  %0 = "ttnn.gt"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.reshape"(%0) <{shape = [1 : i32, 16 : i32]}> : (!bf16) -> !row_bf16
  %2 = "ttnn.typecast"(%1) : (!row_bf16) -> !row
  func.return %2 : !row
}

// TT-NN returns unsigned positions; programs use signed ones.
// CHECK-LABEL: func.func @unsigned_and_back(
func.func @unsigned_and_back(%x: !ui32) -> !ui32 {
  // CHECK-NEXT: func.return %x
  %0 = "ttnn.typecast"(%x) : (!ui32) -> !si32
  %1 = "ttnn.typecast"(%0) : (!si32) -> !ui32
  func.return %1 : !ui32
}

// CHECK-LABEL: func.func @through_a_narrower_type(
func.func @through_a_narrower_type(%x: !f32) -> !f32 {
  // CHECK-NEXT: "ttnn.typecast"
  // CHECK-NEXT: "ttnn.typecast"
  %0 = "ttnn.typecast"(%x) : (!f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !f32
  func.return %1 : !f32
}

// CHECK-LABEL: func.func @cast_in_several_places(
func.func @cast_in_several_places(%x: !f32, %y: !f32) -> (!f32, !row) {
  // CHECK-NEXT: %[[C:.*]] = "ttnn.logical_and"(%x, %y) : {{.*}} -> tensor<4x4xf32
  // CHECK-NEXT: %[[R:.*]] = "ttnn.reshape"(%[[C]])
  // CHECK-NEXT: func.return %[[C]], %[[R]]
  %0 = "ttnn.logical_and"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !f32
  %2 = "ttnn.reshape"(%0) <{shape = [1 : i32, 16 : i32]}> : (!bf16) -> !row_bf16
  %3 = "ttnn.typecast"(%2) : (!row_bf16) -> !row
  func.return %1, %3 : !f32, !row
}

// CHECK-LABEL: func.func @cast_to_two_types(
func.func @cast_to_two_types(%x: !f32, %y: !f32) -> (!f32, !si32, !f32) {
  // CHECK-NEXT: %[[C:.*]] = "ttnn.gt"(%x, %y) : {{.*}} -> tensor<4x4xbf16
  // CHECK-NEXT: %[[F:.*]] = "ttnn.typecast"(%[[C]]) : {{.*}} -> tensor<4x4xf32
  // CHECK-NEXT: %[[S:.*]] = "ttnn.typecast"(%[[C]]) : {{.*}} -> tensor<4x4xsi32
  // CHECK-NEXT: %[[G:.*]] = "ttnn.typecast"(%[[C]]) : {{.*}} -> tensor<4x4xf32
  // CHECK-NEXT: func.return %[[F]], %[[S]], %[[G]]
  %0 = "ttnn.gt"(%x, %y) : (!f32, !f32) -> !bf16
  %1 = "ttnn.typecast"(%0) : (!bf16) -> !f32
  %2 = "ttnn.typecast"(%0) : (!bf16) -> !si32
  %3 = "ttnn.typecast"(%2) : (!si32) -> !f32
  func.return %1, %2, %3 : !f32, !si32, !f32
}

#rm = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4xf32, #dram>, <interleaved>>

// CHECK-LABEL: func.func @filled_as_wanted(
func.func @filled_as_wanted(%device: !ttnn.device) -> tensor<4x4xf32, #rm> {
  // CHECK-NEXT: %[[F:.*]] = "ttnn.full"(%device) {{.*}} -> tensor<4x4xf32, #[[RM:.*]]>
  // CHECK-NEXT: func.return %[[F]] : tensor<4x4xf32, #[[RM]]>
  %0 = "ttnn.full"(%device) <{shape = #ttnn.shape<4x4>, fill_value = 0.0 : f32}> : (!ttnn.device) -> !f32
  %1 = "ttnn.to_layout"(%0) : (!f32) -> tensor<4x4xf32, #rm>
  func.return %1 : tensor<4x4xf32, #rm>
}
