// RUN: pass=ttir-decode-attention

// One position of each of 32 sequences: the heads are the rows, and the mask is divided by the scale and repeated for
// sequences and heads.
// CHECK-LABEL: func.func @one_position(
func.func @one_position(%q: tensor<32x32x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>, %v: tensor<32x8x1024x128xbf16>, %m: tensor<1x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16> {
  // CHECK-NEXT: %[[Q:.*]] = "ttir.reshape"(%q) <{shape = [1 : i32, 32 : i32, 32 : i32, 128 : i32]}>
  // CHECK-NEXT: %[[I:.*]] = "ttir.constant"() <{value = dense<2.000000e+00> : tensor<1xbf16>}>
  // CHECK-NEXT: %[[D:.*]] = "ttir.multiply"(%m, %[[I]])
  // CHECK-NEXT: %[[M:.*]] = "ttir.broadcast"(%[[D]]) <{broadcast_dimensions = array<i64: 32, 1, 32, 1>}> : {{.*}} -> tensor<32x1x32x1024xbf16>
  // CHECK-NEXT: %[[A:.*]] = "ttir.scaled_dot_product_attention_decode"(%[[Q]], %k, %v, %[[M]]) <{is_causal = false, scale = 5.000000e-01 : f32, {{.*}} -> tensor<1x32x32x128xbf16>
  // CHECK-NEXT: "ttir.reshape"(%[[A]]) <{shape = [32 : i32, 32 : i32, 1 : i32, 128 : i32]}>
  // CHECK-NEXT: func.return
  %0 = "ttir.scaled_dot_product_attention"(%q, %k, %v, %m) <{is_causal = false, scale = 5.0e-01 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<1x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %0 : tensor<32x32x1x128xbf16>
}

// A mask of each sequence is repeated for its heads.
// CHECK-LABEL: func.func @mask_of_each_sequence(
func.func @mask_of_each_sequence(%q: tensor<32x32x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>, %v: tensor<32x8x1024x128xbf16>, %m: tensor<32x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16> {
  // CHECK: %[[D:.*]] = "ttir.multiply"(%m, %{{.*}})
  // CHECK: %[[M:.*]] = "ttir.broadcast"(%[[D]]) <{broadcast_dimensions = array<i64: 1, 1, 32, 1>}>
  // CHECK-NEXT: "ttir.scaled_dot_product_attention_decode"(%{{.*}}, %k, %v, %[[M]])
  %0 = "ttir.scaled_dot_product_attention"(%q, %k, %v, %m) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %0 : tensor<32x32x1x128xbf16>
}

// CHECK-LABEL: func.func @without_mask(
func.func @without_mask(%q: tensor<32x32x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>) -> tensor<32x32x1x128xbf16> {
  // CHECK: "ttir.scaled_dot_product_attention_decode"(%{{.*}}, %k, %k) <{is_causal = false
  %0 = "ttir.scaled_dot_product_attention"(%q, %k, %k) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %0 : tensor<32x32x1x128xbf16>
}

// Without groups, the op for many queries reads keys as often.
// CHECK-LABEL: func.func @without_groups(
func.func @without_groups(%q: tensor<32x8x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>) -> tensor<32x8x1x128xbf16> {
  // CHECK-NEXT: "ttir.scaled_dot_product_attention"(%q, %k, %k)
  // CHECK-NEXT: func.return
  %0 = "ttir.scaled_dot_product_attention"(%q, %k, %k) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<32x8x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>) -> tensor<32x8x1x128xbf16>
  func.return %0 : tensor<32x8x1x128xbf16>
}

// Two positions, keys that end within a tile, and a sink stay.
// CHECK-LABEL: func.func @other_forms_stay(
func.func @other_forms_stay(%q: tensor<32x32x2x128xbf16>, %k: tensor<32x8x1024x128xbf16>, %r: tensor<32x32x1x128xbf16>, %s: tensor<32x8x1000x128xbf16>, %n: tensor<1x32x1x1xbf16>) -> (tensor<32x32x2x128xbf16>, tensor<32x32x1x128xbf16>, tensor<32x32x1x128xbf16>) {
  // CHECK-NEXT: "ttir.scaled_dot_product_attention"(%q, %k, %k)
  // CHECK-NEXT: "ttir.scaled_dot_product_attention"(%r, %s, %s)
  // CHECK-NEXT: "ttir.scaled_dot_product_attention"(%r, %k, %k, %n)
  // CHECK-NEXT: func.return
  %0 = "ttir.scaled_dot_product_attention"(%q, %k, %k) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<32x32x2x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>) -> tensor<32x32x2x128xbf16>
  %1 = "ttir.scaled_dot_product_attention"(%r, %s, %s) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1000x128xbf16>, tensor<32x8x1000x128xbf16>) -> tensor<32x32x1x128xbf16>
  %2 = "ttir.scaled_dot_product_attention"(%r, %k, %k, %n) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<1x32x1x1xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %0, %1, %2 : tensor<32x32x2x128xbf16>, tensor<32x32x1x128xbf16>, tensor<32x32x1x128xbf16>
}

// A mask that shows the keys up to a position is that position, limited to the keys.
// CHECK-LABEL: func.func @decoded(
// CHECK-NEXT: %[[P:.*]] = "ttir.reshape"(%at) <{shape = [1 : i32]}>
// CHECK-NEXT: %[[Q:.*]] = "ttir.reshape"(%q)
// CHECK-NEXT: %[[C:.*]] = "ttir.clamp_scalar"(%[[P]]) <{min = 0 : i32, max = 1023 : i32}>
// CHECK-NEXT: %[[B:.*]] = "ttir.broadcast"(%[[C]]) {{.*}} -> tensor<32xsi32>
// CHECK-NEXT: "ttir.scaled_dot_product_attention_decode"(%[[Q]], %k, %k, %[[B]]) <{is_causal = true
func.func @decoded(%q: tensor<32x32x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>, %at: tensor<si32>) -> tensor<32x32x1x128xbf16> {
  %0 = "ttir.arange"() <{start = 0 : si64, end = 1024 : si64, step = 1 : si64, arange_dimension = 0 : i64}> : () -> tensor<1024xsi32>
  %1 = "ttir.reshape"(%at) <{shape = [1 : i32]}> : (tensor<si32>) -> tensor<1xsi32>
  %2 = "ttir.le"(%0, %1) : (tensor<1024xsi32>, tensor<1xsi32>) -> tensor<1024xbf16>
  %3 = "ttir.constant"() <{value = dense<0.0> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %4 = "ttir.constant"() <{value = dense<-1.0e+30> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %5 = "ttir.where"(%2, %3, %4) : (tensor<1024xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1024xbf16>
  %6 = "ttir.reshape"(%5) <{shape = [1 : i32, 1 : i32, 1 : i32, 1024 : i32]}> : (tensor<1024xbf16>) -> tensor<1x1x1x1024xbf16>
  %7 = "ttir.scaled_dot_product_attention"(%q, %k, %k, %6) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<1x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %7 : tensor<32x32x1x128xbf16>
}
