// RUN: pass=ttir-decode-attention numerics=exact

// Positions below 0 hide all keys by the mask, and all but the first by the position, so the mask stays.
// CHECK-LABEL: func.func @decoded(
// CHECK: %[[M:.*]] = "ttir.broadcast"
// CHECK: "ttir.scaled_dot_product_attention_decode"(%{{.*}}, %k, %k, %[[M]]) <{is_causal = false
func.func @decoded(%q: tensor<32x32x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>, %at: tensor<si32>) -> tensor<32x32x1x128xbf16> {
  %0 = "ttir.arange"() <{start = 0 : si64, end = 1024 : si64, step = 1 : si64, arange_dimension = 0 : i64}> : () -> tensor<1024xsi32>
  %1 = "ttir.reshape"(%at) <{shape = [1 : i32]}> : (tensor<si32>) -> tensor<1xsi32>
  %2 = "ttir.le"(%0, %1) : (tensor<1024xsi32>, tensor<1xsi32>) -> tensor<1024xbf16>
  %3 = "ttir.constant"() <{value = dense<0.0> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %4 = "ttir.constant"() <{value = dense<-1.0e+30> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %5 = "ttir.where"(%2, %3, %4) : (tensor<1024xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1024xbf16>
  %6 = "ttir.reshape"(%5) <{shape = [1 : i32, 1 : i32, 1 : i32, 1024 : i32]}> : (tensor<1024xbf16>) -> tensor<1x1x1x1024xbf16>
  %7 = "ttir.scaled_dot_product_attention"(%q, %k, %k, %6) <{is_causal = false, scale = 1.25e-01 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<1x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %7 : tensor<32x32x1x128xbf16>
}

// A scale by which a mask cannot be divided without rounding.
// CHECK-LABEL: func.func @rounded(
// CHECK-NEXT: "ttir.scaled_dot_product_attention"(%q, %k, %k, %m)
func.func @rounded(%q: tensor<32x32x1x128xbf16>, %k: tensor<32x8x1024x128xbf16>, %m: tensor<1x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16> {
  %0 = "ttir.scaled_dot_product_attention"(%q, %k, %k, %m) <{is_causal = false, scale = 3.0e-01 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (tensor<32x32x1x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<32x8x1024x128xbf16>, tensor<1x1x1x1024xbf16>) -> tensor<32x32x1x128xbf16>
  func.return %0 : tensor<32x32x1x128xbf16>
}
