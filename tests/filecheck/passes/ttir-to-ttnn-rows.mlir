// RUN: pass=ttir-to-ttnn

// Weights whose tiles would be mostly padding are moved, filled and returned in rows.
// CHECK-LABEL: func.func public @weights_in_rows(
// CHECK-SAME: %w: tensor<64x32x3x3xf32, #[[LAYOUT:.*]]> {
// CHECK: "ttnn.permute"(%w) <{permutation = array<i64: 2, 3, 1, 0>}>
// CHECK: %[[Z:.*]] = "ttnn.full"
// CHECK-NEXT: %[[C:.*]] = "ttnn.concat"(%w, %[[Z]])
// CHECK-NEXT: %[[S:.*]] = "ttnn.slice_static"(%[[C]])
// CHECK: func.return %[[S]], %{{.*}} : tensor<64x32x3x3xf32, #[[LAYOUT]]>
func.func @weights_in_rows(%w: tensor<64x32x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> (tensor<64x32x3x3xf32>, tensor<3x3x32x64xf32>) {
  %p = "ttir.permute"(%w) <{permutation = array<i64: 2, 3, 1, 0>}> : (tensor<64x32x3x3xf32>) -> tensor<3x3x32x64xf32>
  %z = "ttir.full"() <{shape = array<i32: 64, 32, 3, 3>, fill_value = 0.0 : f32}> : () -> tensor<64x32x3x3xf32>
  %c = "ttir.concat"(%w, %z) <{dim = 0 : si32}> : (tensor<64x32x3x3xf32>, tensor<64x32x3x3xf32>) -> tensor<128x32x3x3xf32>
  %s = "ttir.slice_static"(%c) <{begins = [32 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [96 : i32, 32 : i32, 3 : i32, 3 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (tensor<128x32x3x3xf32>) -> tensor<64x32x3x3xf32>
  func.return %s, %p : tensor<64x32x3x3xf32>, tensor<3x3x32x64xf32>
}
