// RUN: pass=ttnn-convert-activation-dtype experimental_activation_dtype=bfp_bf8

#dram = #ttnn.buffer_type<dram>
#tiles = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#tall = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#floats = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#rows = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x32xbf16, #dram>, <interleaved>>

// CHECK: #ttnn_layout = {{.*}}!ttcore.tile<32x32, bf16>
// CHECK-NEXT: #ttnn_layout1 = {{.*}}!ttcore.tile<32x32, bfp_bf8>

// Products and sums cast, norms and functions pass on; what the function takes and returns stays, and no cast is added.
// CHECK-LABEL: func.func public @layers(
// CHECK-NOT: "ttnn.typecast"
// CHECK: %[[A:.*]] = "ttnn.matmul"(%x, %w) {{.*}} -> tensor<32x32xbf16, #ttnn_layout1>
// CHECK-NEXT: %[[G:.*]] = "ttnn.gelu"(%[[A]]) {{.*}} -> tensor<32x32xbf16, #ttnn_layout1>
// CHECK-NEXT: %[[S:.*]] = "ttnn.add"(%[[G]], %x) {{.*}} -> tensor<32x32xbf16, #ttnn_layout1>
// CHECK-NEXT: %[[N:.*]] = "ttnn.layer_norm"(%[[S]]) {{.*}} -> tensor<32x32xbf16, #ttnn_layout1>
// CHECK-NEXT: "ttnn.matmul"(%[[N]], %w) {{.*}} -> tensor<32x32xbf16, #ttnn_layout>
func.func public @layers(%x: tensor<32x32xbf16, #tiles>, %w: tensor<32x32xbf16, #tiles> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<32x32xbf16, #tiles> {
  %0 = "ttnn.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.gelu"(%0) : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %2 = "ttnn.add"(%1, %x) : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %3 = "ttnn.layer_norm"(%2) <{epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %4 = "ttnn.matmul"(%3, %w) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  func.return %4 : tensor<32x32xbf16, #tiles>
}

// Ops that pass on the type of what they read stay bfloat16 before a result of the function.
// CHECK-LABEL: func.func public @returned(
// CHECK: "ttnn.matmul"{{.*}} -> tensor<32x32xbf16, #ttnn_layout>
// CHECK-NEXT: "ttnn.softmax"{{.*}} -> tensor<32x32xbf16, #ttnn_layout>
// CHECK-NEXT: "ttnn.relu"{{.*}} -> tensor<32x32xbf16, #ttnn_layout>
func.func public @returned(%x: tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles> {
  %0 = "ttnn.matmul"(%x, %x) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.softmax"(%0) <{dimension = 1 : si32, numericStable = true}> : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %2 = "ttnn.relu"(%1) : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  func.return %2 : tensor<32x32xbf16, #tiles>
}

// Parts of norms that are not fused stay: exp, and the mean of a row; a mean over rows is an activation.
// CHECK-LABEL: func.func public @statistics(
// CHECK: "ttnn.multiply"{{.*}} -> tensor<32x32xbf16, #ttnn_layout>
// CHECK-NEXT: "ttnn.mean"{{.*}} -> tensor<32x1xbf16, #ttnn_layout>
// CHECK: "ttnn.subtract"{{.*}} -> tensor<32x32xbf16, #ttnn_layout1>
// CHECK-NEXT: %[[M:.*]] = "ttnn.mean"{{.*}} -> tensor<1x32xbf16, #ttnn_layout1>
// CHECK-NEXT: "ttnn.multiply"(%[[M]]{{.*}} -> tensor<32x32xbf16, #ttnn_layout>
func.func public @statistics(%x: tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles> {
  %0 = "ttnn.multiply"(%x, %x) : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.mean"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<32x32xbf16, #tiles>) -> tensor<32x1xbf16, #tiles>
  %2 = "ttnn.subtract"(%x, %1) : (tensor<32x32xbf16, #tiles>, tensor<32x1xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %3 = "ttnn.mean"(%2) <{dim_arg = [0 : i32], keep_dim = true}> : (tensor<32x32xbf16, #tiles>) -> tensor<1x32xbf16, #tiles>
  %4 = "ttnn.multiply"(%3, %x) : (tensor<1x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  func.return %4 : tensor<32x32xbf16, #tiles>
}

// A conversion to rows reads block floats and writes bfloat16. Values of float32 stay, a cast from them is one to block floats.
// CHECK-LABEL: func.func public @rows(
// CHECK: %[[C:.*]] = "ttnn.typecast"(%x) {{.*}} -> tensor<32x32xbf16, #ttnn_layout1>
// CHECK-NEXT: "ttnn.to_layout"(%[[C]]) {{.*}} -> tensor<32x32xbf16, #ttnn_layout3>
func.func public @rows(%x: tensor<32x32xf32, #floats>) -> tensor<32x32xbf16, #rows> {
  %0 = "ttnn.typecast"(%x) : (tensor<32x32xf32, #floats>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.to_layout"(%0) : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #rows>
  func.return %1 : tensor<32x32xbf16, #rows>
}

// Minus infinity behind an image, and a mask of large numbers, would make zeros of their neighbours in block floats.
// CHECK-LABEL: func.func public @masked(
// CHECK: %[[R:.*]] = "ttnn.relu"{{.*}} -> tensor<32x32xbf16, #ttnn_layout>
// CHECK-NEXT: %[[P:.*]] = "ttnn.pad"(%[[R]]) {{.*}} -> tensor<64x32xbf16, #ttnn_layout4>
// CHECK: "ttnn.add"(%[[P]], {{.*}} -> tensor<64x32xbf16, #ttnn_layout4>
// CHECK-NEXT: %[[S:.*]] = "ttnn.softmax"{{.*}} -> tensor<64x32xbf16, #ttnn_layout4>
func.func public @masked(%x: tensor<32x32xbf16, #tiles>) -> tensor<64x32xbf16, #tall> {
  %0 = "ttnn.matmul"(%x, %x) <{transpose_a = false, transpose_b = false}> : (tensor<32x32xbf16, #tiles>, tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %1 = "ttnn.relu"(%0) : (tensor<32x32xbf16, #tiles>) -> tensor<32x32xbf16, #tiles>
  %2 = "ttnn.pad"(%1) <{padding = array<i32: 0, 32, 0, 0>, value = 0xFF800000 : f32, use_multicore = true}> : (tensor<32x32xbf16, #tiles>) -> tensor<64x32xbf16, #tall>
  %3 = "ttnn.full"() <{shape = #ttnn.shape<64x32>, fill_value = 0.5 : f32}> : () -> tensor<64x32xbf16, #tall>
  %4 = "ttnn.add"(%2, %3) : (tensor<64x32xbf16, #tall>, tensor<64x32xbf16, #tall>) -> tensor<64x32xbf16, #tall>
  %5 = "ttnn.softmax"(%4) <{dimension = 1 : si32, numericStable = true}> : (tensor<64x32xbf16, #tall>) -> tensor<64x32xbf16, #tall>
  %6 = "ttnn.matmul"(%5, %x) <{transpose_a = false, transpose_b = false}> : (tensor<64x32xbf16, #tall>, tensor<32x32xbf16, #tiles>) -> tensor<64x32xbf16, #tall>
  func.return %6 : tensor<64x32xbf16, #tall>
}
