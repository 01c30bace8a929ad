// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @casts_around_a_sum(
func.func @casts_around_a_sum(%arg0: tensor<4x32xbf16>) -> tensor<4xbf16> {
  // CHECK: "ttir.sum"(
  // CHECK-NEXT: func.return
  %0 = "ttir.typecast"(%arg0) : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %2 = "ttir.typecast"(%1) : (tensor<4xf32>) -> tensor<4xbf16>
  func.return %2 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @gelu_in_float32_of_bf16(
func.func @gelu_in_float32_of_bf16(%arg0: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // CHECK: "ttir.gelu"(
  // CHECK-NEXT: func.return
  %0 = "ttir.typecast"(%arg0) : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %1 = "ttir.constant"() <{value = dense<5.000000e-01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %2 = "ttir.multiply"(%1, %0) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.constant"() <{value = dense<-0.707106769> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.multiply"(%0, %3) : (tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  %5 = "ttir.erfc"(%4) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.multiply"(%2, %5) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.typecast"(%6) : (tensor<4x32xf32>) -> tensor<4x32xbf16>
  func.return %7 : tensor<4x32xbf16>
}

// CHECK-LABEL: func.func @softmax_in_float32_of_bf16(
func.func @softmax_in_float32_of_bf16(%arg0: tensor<4x32xbf16>) -> tensor<4x32xbf16> {
  // CHECK: "ttir.softmax"(
  // CHECK-NEXT: func.return
  %0 = "ttir.typecast"(%arg0) : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %1 = "ttir.max"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %2 = "ttir.reshape"(%1) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %3 = "ttir.subtract"(%0, %2) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %4 = "ttir.exp"(%3) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %5 = "ttir.sum"(%4) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %6 = "ttir.reshape"(%5) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %7 = "ttir.div"(%4, %6) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %8 = "ttir.typecast"(%7) : (tensor<4x32xf32>) -> tensor<4x32xbf16>
  func.return %8 : tensor<4x32xbf16>
}
