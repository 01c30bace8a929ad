// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @layer_norm(
func.func @layer_norm(%arg0: tensor<4x6x32xf32>, %arg1: tensor<32xf32>, %arg2: tensor<32xf32>) -> tensor<4x6x32xf32> {
  // CHECK: "ttir.layer_norm"(
  // CHECK-NEXT: func.return
  %0 = "ttir.sum"(%arg0) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %4 = "ttir.subtract"(%arg0, %3) : (tensor<4x6x32xf32>, tensor<4x6x1xf32>) -> tensor<4x6x32xf32>
  %5 = "ttir.multiply"(%4, %4) : (tensor<4x6x32xf32>, tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %6 = "ttir.sum"(%5) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %7 = "ttir.reshape"(%6) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %8 = "ttir.div"(%7, %2) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %9 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %10 = "ttir.add"(%8, %9) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %11 = "ttir.rsqrt"(%10) : (tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %12 = "ttir.multiply"(%4, %11) : (tensor<4x6x32xf32>, tensor<4x6x1xf32>) -> tensor<4x6x32xf32>
  %13 = "ttir.multiply"(%12, %arg1) : (tensor<4x6x32xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  %14 = "ttir.add"(%13, %arg2) : (tensor<4x6x32xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  func.return %14 : tensor<4x6x32xf32>
}

// CHECK-LABEL: func.func @layer_norm_divided(
func.func @layer_norm_divided(%arg0: tensor<4x6x32xf32>, %arg1: tensor<32xf32>, %arg2: tensor<32xf32>) -> tensor<4x6x32xf32> {
  // CHECK: "ttir.layer_norm"(
  // CHECK-NEXT: func.return
  %0 = "ttir.sum"(%arg0) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %4 = "ttir.subtract"(%arg0, %3) : (tensor<4x6x32xf32>, tensor<4x6x1xf32>) -> tensor<4x6x32xf32>
  %5 = "ttir.multiply"(%4, %4) : (tensor<4x6x32xf32>, tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %6 = "ttir.sum"(%5) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %7 = "ttir.reshape"(%6) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %8 = "ttir.div"(%7, %2) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %9 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %10 = "ttir.add"(%8, %9) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %11 = "ttir.sqrt"(%10) : (tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %12 = "ttir.div"(%4, %11) : (tensor<4x6x32xf32>, tensor<4x6x1xf32>) -> tensor<4x6x32xf32>
  %13 = "ttir.multiply"(%12, %arg1) : (tensor<4x6x32xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  %14 = "ttir.add"(%13, %arg2) : (tensor<4x6x32xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  func.return %14 : tensor<4x6x32xf32>
}

// CHECK-LABEL: func.func @layer_norm_of_flax_in_bf16(
func.func @layer_norm_of_flax_in_bf16(%arg0: tensor<4x6x32xbf16>, %arg1: tensor<32xf32>, %arg2: tensor<32xf32>) -> tensor<4x6x32xbf16> {
  // CHECK: "ttir.layer_norm"(
  // CHECK-NEXT: func.return
  %0 = "ttir.typecast"(%arg0) : (tensor<4x6x32xbf16>) -> tensor<4x6x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<4x6xf32>
  %4 = "ttir.multiply"(%0, %0) : (tensor<4x6x32xf32>, tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %5 = "ttir.sum"(%4) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %6 = "ttir.div"(%5, %2) : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<4x6xf32>
  %7 = "ttir.multiply"(%3, %3) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = "ttir.subtract"(%6, %7) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = "ttir.constant"() <{value = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %10 = "ttir.maximum"(%9, %8) : (tensor<1xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %11 = "ttir.reshape"(%3) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %12 = "ttir.subtract"(%0, %11) : (tensor<4x6x32xf32>, tensor<4x6x1xf32>) -> tensor<4x6x32xf32>
  %13 = "ttir.reshape"(%10) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %14 = "ttir.constant"() <{value = dense<1.000000e-06> : tensor<1xf32>}> : () -> tensor<1xf32>
  %15 = "ttir.add"(%13, %14) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %16 = "ttir.rsqrt"(%15) : (tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %17 = "ttir.multiply"(%16, %arg1) : (tensor<4x6x1xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  %18 = "ttir.multiply"(%12, %17) : (tensor<4x6x32xf32>, tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %19 = "ttir.add"(%18, %arg2) : (tensor<4x6x32xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  %20 = "ttir.typecast"(%19) : (tensor<4x6x32xf32>) -> tensor<4x6x32xbf16>
  func.return %20 : tensor<4x6x32xbf16>
}

// CHECK-LABEL: func.func @layer_norm_without_weight(
func.func @layer_norm_without_weight(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.layer_norm"(
  // CHECK-NEXT: func.return
  %0 = "ttir.sum"(%arg0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %4 = "ttir.subtract"(%arg0, %3) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %5 = "ttir.multiply"(%4, %4) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.sum"(%5) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %7 = "ttir.reshape"(%6) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %8 = "ttir.div"(%7, %2) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %9 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %10 = "ttir.add"(%8, %9) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %11 = "ttir.rsqrt"(%10) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %12 = "ttir.multiply"(%4, %11) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %12 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @rms_norm_in_bf16(
func.func @rms_norm_in_bf16(%arg0: tensor<4x6x32xbf16>, %arg1: tensor<32xbf16>) -> tensor<4x6x32xbf16> {
  // CHECK: "ttir.rms_norm"(
  // CHECK-NEXT: func.return
  %0 = "ttir.typecast"(%arg0) : (tensor<4x6x32xbf16>) -> tensor<4x6x32xf32>
  %1 = "ttir.multiply"(%0, %0) : (tensor<4x6x32xf32>, tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %2 = "ttir.sum"(%1) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<4x6x32xf32>) -> tensor<4x6xf32>
  %3 = "ttir.reshape"(%2) <{shape = [4 : i32, 6 : i32, 1 : i32]}> : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %4 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %5 = "ttir.div"(%3, %4) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %6 = "ttir.constant"() <{value = dense<1.000000e-06> : tensor<1xf32>}> : () -> tensor<1xf32>
  %7 = "ttir.add"(%5, %6) : (tensor<4x6x1xf32>, tensor<1xf32>) -> tensor<4x6x1xf32>
  %8 = "ttir.rsqrt"(%7) : (tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %9 = "ttir.multiply"(%0, %8) : (tensor<4x6x32xf32>, tensor<4x6x1xf32>) -> tensor<4x6x32xf32>
  %10 = "ttir.typecast"(%9) : (tensor<4x6x32xf32>) -> tensor<4x6x32xbf16>
  %11 = "ttir.multiply"(%10, %arg1) : (tensor<4x6x32xbf16>, tensor<32xbf16>) -> tensor<4x6x32xbf16>
  func.return %11 : tensor<4x6x32xbf16>
}

// CHECK-LABEL: func.func @unit_length(
func.func @unit_length(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: "ttir.rms_norm"(
  // CHECK-NEXT: func.return
  %0 = "ttir.multiply"(%arg0, %arg0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %2 = "ttir.reshape"(%1) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %3 = "ttir.constant"() <{value = dense<1.000000e-06> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.add"(%2, %3) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %5 = "ttir.rsqrt"(%4) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = "ttir.multiply"(%arg0, %5) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %6 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @norm_over_rows(
func.func @norm_over_rows(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK-NOT: "ttir.layer_norm"(
  // CHECK: func.return
  %0 = "ttir.sum"(%arg0) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<32x32xf32>) -> tensor<32xf32>
  %1 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1x32xf32>}> : () -> tensor<1x32xf32>
  %2 = "ttir.div"(%0, %1) : (tensor<32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %3 = "ttir.subtract"(%arg0, %2) : (tensor<32x32xf32>, tensor<1x32xf32>) -> tensor<32x32xf32>
  %4 = "ttir.multiply"(%3, %3) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %5 = "ttir.sum"(%4) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<32x32xf32>) -> tensor<32xf32>
  %6 = "ttir.div"(%5, %1) : (tensor<32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %7 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %8 = "ttir.add"(%6, %7) : (tensor<1x32xf32>, tensor<1xf32>) -> tensor<1x32xf32>
  %9 = "ttir.rsqrt"(%8) : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %10 = "ttir.multiply"(%3, %9) : (tensor<32x32xf32>, tensor<1x32xf32>) -> tensor<32x32xf32>
  func.return %10 : tensor<32x32xf32>
}

// CHECK-LABEL: func.func @norm_by_another_mean(
func.func @norm_by_another_mean(%arg0: tensor<4x32xf32>, %arg1: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.layer_norm"(
  // CHECK: func.return
  %0 = "ttir.sum"(%arg1) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %4 = "ttir.subtract"(%arg0, %3) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %5 = "ttir.sum"(%arg0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %6 = "ttir.reshape"(%5) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %7 = "ttir.div"(%6, %2) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %8 = "ttir.subtract"(%arg0, %7) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %9 = "ttir.multiply"(%8, %8) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %10 = "ttir.sum"(%9) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %11 = "ttir.reshape"(%10) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %12 = "ttir.div"(%11, %2) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %13 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %14 = "ttir.add"(%12, %13) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %15 = "ttir.rsqrt"(%14) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %16 = "ttir.multiply"(%4, %15) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %16 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @norm_with_unbiased_variance(
func.func @norm_with_unbiased_variance(%arg0: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.layer_norm"(
  // CHECK: func.return
  %0 = "ttir.sum"(%arg0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %1 = "ttir.reshape"(%0) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %4 = "ttir.subtract"(%arg0, %3) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %5 = "ttir.multiply"(%4, %4) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %6 = "ttir.sum"(%5) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %7 = "ttir.reshape"(%6) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %8 = "ttir.constant"() <{value = dense<3.100000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %9 = "ttir.div"(%7, %8) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %10 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %11 = "ttir.add"(%9, %10) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %12 = "ttir.rsqrt"(%11) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %13 = "ttir.multiply"(%4, %12) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %13 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @norm_of_columns_by_rows(
func.func @norm_of_columns_by_rows(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK-NOT: "ttir.layer_norm"(
  // CHECK: func.return
  %0 = "ttir.sum"(%arg0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<32x32xf32>) -> tensor<32xf32>
  %1 = "ttir.reshape"(%0) <{shape = [32 : i32, 1 : i32]}> : (tensor<32xf32>) -> tensor<32x1xf32>
  %2 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %3 = "ttir.div"(%1, %2) : (tensor<32x1xf32>, tensor<1xf32>) -> tensor<32x1xf32>
  %4 = "ttir.subtract"(%arg0, %3) : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xf32>
  %5 = "ttir.multiply"(%4, %4) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %6 = "ttir.sum"(%5) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<32x32xf32>) -> tensor<32xf32>
  %7 = "ttir.div"(%6, %2) : (tensor<32xf32>, tensor<1xf32>) -> tensor<32xf32>
  %8 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
  %9 = "ttir.add"(%7, %8) : (tensor<32xf32>, tensor<1xf32>) -> tensor<32xf32>
  %10 = "ttir.rsqrt"(%9) : (tensor<32xf32>) -> tensor<32xf32>
  %11 = "ttir.multiply"(%4, %10) : (tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32>
  func.return %11 : tensor<32x32xf32>
}

// CHECK-LABEL: func.func @rms_of_another_tensor(
func.func @rms_of_another_tensor(%arg0: tensor<4x32xf32>, %arg1: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NOT: "ttir.rms_norm"(
  // CHECK: func.return
  %0 = "ttir.multiply"(%arg1, %arg1) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x32xf32>) -> tensor<4xf32>
  %2 = "ttir.reshape"(%1) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %3 = "ttir.constant"() <{value = dense<3.200000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
  %4 = "ttir.div"(%2, %3) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %5 = "ttir.constant"() <{value = dense<1.000000e-06> : tensor<1xf32>}> : () -> tensor<1xf32>
  %6 = "ttir.add"(%4, %5) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %7 = "ttir.rsqrt"(%6) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %8 = "ttir.multiply"(%arg0, %7) : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  func.return %8 : tensor<4x32xf32>
}
