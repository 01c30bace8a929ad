// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @relu6_by_clip(
func.func @relu6_by_clip(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.relu6"(
  // CHECK-NEXT: func.return
  %0 = "ttir.clamp_scalar"(%arg0) <{min = 0.000000e+00 : f32, max = 6.000000e+00 : f32}> : (tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %0 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @hardsigmoid(
func.func @hardsigmoid(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.hardsigmoid"(
  // CHECK-NEXT: func.return
  %0 = "ttir.constant"() <{value = dense<3.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.add"(%arg0, %0) : (tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  %2 = "ttir.clamp_scalar"(%1) <{min = 0.000000e+00 : f32, max = 6.000000e+00 : f32}> : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.constant"() <{value = dense<6.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.div"(%2, %3) : (tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  func.return %4 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @sigmoid(
func.func @sigmoid(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.sigmoid"(
  // CHECK-NEXT: func.return
  %0 = "ttir.neg"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.exp"(%0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.add"(%2, %1) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.div"(%2, %3) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %4 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @silu_divided(
func.func @silu_divided(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.silu"(
  // CHECK-NEXT: func.return
  %0 = "ttir.neg"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.exp"(%0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.add"(%2, %1) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.div"(%arg0, %3) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %4 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @mish(
func.func @mish(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.mish"(
  // CHECK-NEXT: func.return
  %0 = "ttir.constant"() <{value = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.maximum"(%arg0, %0) : (tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  %2 = "ttir.ne"(%arg0, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xbf16>
  %3 = "ttir.abs"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.neg"(%3) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %5 = "ttir.exp"(%4) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.log1p"(%5) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.add"(%1, %6) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %8 = "ttir.where"(%2, %arg0, %7) : (tensor<4x32xbf16>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %9 = "ttir.tanh"(%8) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %10 = "ttir.multiply"(%arg0, %9) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %10 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @mish_by_log1p(
func.func @mish_by_log1p(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.mish"(
  // CHECK-NEXT: func.return
  %0 = "ttir.exp"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.log1p"(%0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.tanh"(%1) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.multiply"(%arg0, %2) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %3 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @gelu_by_tanh(
func.func @gelu_by_tanh(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.gelu"(
  // CHECK-NEXT: func.return
  %0 = "ttir.multiply"(%arg0, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.multiply"(%0, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.constant"() <{value = dense<4.471500e-02> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.multiply"(%2, %1) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.add"(%arg0, %3) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %5 = "ttir.constant"() <{value = dense<0.797884583> : tensor<1xf32>}> : () -> tensor<1xf32>
  %6 = "ttir.multiply"(%5, %4) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.tanh"(%6) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %8 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %9 = "ttir.add"(%8, %7) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %10 = "ttir.constant"() <{value = dense<5.000000e-01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %11 = "ttir.multiply"(%10, %9) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %12 = "ttir.multiply"(%arg0, %11) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %12 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @gelu_by_tanh_factored(
func.func @gelu_by_tanh_factored(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.gelu"(
  // CHECK-NEXT: func.return
  %0 = "ttir.constant"() <{value = dense<5.000000e-01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.multiply"(%0, %arg0) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.constant"() <{value = dense<0.797884583> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.multiply"(%2, %arg0) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.constant"() <{value = dense<4.471500e-02> : tensor<1xf32>}> : () -> tensor<1xf32>
  %5 = "ttir.multiply"(%4, %arg0) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.multiply"(%5, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %8 = "ttir.add"(%7, %6) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %9 = "ttir.multiply"(%3, %8) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %10 = "ttir.tanh"(%9) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %11 = "ttir.add"(%7, %10) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %12 = "ttir.multiply"(%1, %11) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %12 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @relu5(
func.func @relu5(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.relu6"(
  // CHECK: func.return
  %0 = "ttir.clamp_scalar"(%arg0) <{min = 0.000000e+00 : f32, max = 5.000000e+00 : f32}> : (tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %0 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @hardsigmoid_by_5(
func.func @hardsigmoid_by_5(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.hardsigmoid"(
  // CHECK: func.return
  %0 = "ttir.constant"() <{value = dense<3.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.add"(%arg0, %0) : (tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  %2 = "ttir.clamp_scalar"(%1) <{min = 0.000000e+00 : f32, max = 6.000000e+00 : f32}> : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.constant"() <{value = dense<5.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.div"(%2, %3) : (tensor<4x32xf32>, tensor<1xf32>) -> tensor<4x32xf32>
  func.return %4 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @sigmoid_of_2(
func.func @sigmoid_of_2(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.sigmoid"(
  // CHECK: func.return
  %0 = "ttir.neg"(%arg0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.exp"(%0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.constant"() <{value = dense<2.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.add"(%2, %1) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %5 = "ttir.div"(%4, %3) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %5 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @mish_of_softplus_2(
func.func @mish_of_softplus_2(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.mish"(
  // CHECK: func.return
  %0 = "ttir.constant"() <{value = dense<2.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.multiply"(%0, %arg0) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.exp"(%1) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.log1p"(%2) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.tanh"(%3) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %5 = "ttir.multiply"(%arg0, %4) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %5 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @gelu_by_tanh_of_another_cube(
func.func @gelu_by_tanh_of_another_cube(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.gelu"(
  // CHECK: func.return
  %0 = "ttir.constant"() <{value = dense<5.000000e-01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.multiply"(%0, %arg0) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.multiply"(%arg0, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.multiply"(%2, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.constant"() <{value = dense<5.000000e-02> : tensor<1xf32>}> : () -> tensor<1xf32>
  %5 = "ttir.multiply"(%4, %3) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.add"(%arg0, %5) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.constant"() <{value = dense<0.797884583> : tensor<1xf32>}> : () -> tensor<1xf32>
  %8 = "ttir.multiply"(%7, %6) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %9 = "ttir.tanh"(%8) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %10 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %11 = "ttir.add"(%10, %9) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %12 = "ttir.multiply"(%1, %11) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %12 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @gelu_by_tanh_of_two(
func.func @gelu_by_tanh_of_two(%arg0: tensor<4x32xf32>, %arg1: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.gelu"(
  // CHECK: func.return
  %0 = "ttir.constant"() <{value = dense<5.000000e-01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = "ttir.multiply"(%0, %arg1) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = "ttir.multiply"(%arg0, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = "ttir.multiply"(%2, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = "ttir.constant"() <{value = dense<4.471500e-02> : tensor<1xf32>}> : () -> tensor<1xf32>
  %5 = "ttir.multiply"(%4, %3) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.add"(%arg0, %5) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %7 = "ttir.constant"() <{value = dense<0.797884583> : tensor<1xf32>}> : () -> tensor<1xf32>
  %8 = "ttir.multiply"(%7, %6) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %9 = "ttir.tanh"(%8) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %10 = "ttir.constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %11 = "ttir.add"(%10, %9) : (tensor<1xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %12 = "ttir.multiply"(%1, %11) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %12 : tensor<4x32xf32>
}
