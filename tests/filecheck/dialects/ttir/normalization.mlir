// RUN: roundtrip

// CHECK-LABEL: func.func @group_norm(
// CHECK: "ttir.group_norm"({{.*}}) <{num_groups = 8 : i64, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> :
func.func @group_norm(%0: tensor<1x1x64x32xbf16>, %1: tensor<32xbf16>, %2: tensor<32xbf16>) -> tensor<1x1x64x32xbf16> {
  %3 = "ttir.group_norm"(%0, %1, %2) <{num_groups = 8 : i64, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (tensor<1x1x64x32xbf16>, tensor<32xbf16>, tensor<32xbf16>) -> tensor<1x1x64x32xbf16>
  func.return %3 : tensor<1x1x64x32xbf16>
}

// CHECK-LABEL: func.func @distributed_rms_norm(
// CHECK: "ttir.distributed_rms_norm"({{.*}}) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> :
func.func @distributed_rms_norm(%0: tensor<1x1x32x64xbf16>, %1: tensor<64xbf16>, %2: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16> {
  %3 = "ttir.distributed_rms_norm"(%0, %1, %2) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1x1x32x64xbf16>, tensor<64xbf16>, tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16>
  func.return %3 : tensor<1x1x32x64xbf16>
}

// CHECK-LABEL: func.func @distributed_layer_norm(
// CHECK: "ttir.distributed_layer_norm"({{.*}}) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> :
func.func @distributed_layer_norm(%0: tensor<1x1x32x64xbf16>, %1: tensor<64xbf16>, %2: tensor<64xbf16>) -> tensor<1x1x32x64xbf16> {
  %3 = "ttir.distributed_layer_norm"(%0, %1, %2) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<1x1x32x64xbf16>
  func.return %3 : tensor<1x1x32x64xbf16>
}

// CHECK-LABEL: func.func @adamw(
// CHECK: "ttir.adamw"({{.*}}) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> :
func.func @adamw(%0: tensor<4x8xbf16>, %1: tensor<4x8xbf16>, %2: tensor<4x8xbf16>, %3: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %4:3 = "ttir.adamw"(%0, %1, %2, %3) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>)
  func.return %4#0, %4#1, %4#2 : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @dropout(
// CHECK: "ttir.dropout"({{.*}}) <{prob = 5.000000e-01 : f32, scale = 2.000000e+00 : f32, seed = 7 : ui32}> :
func.func @dropout(%0: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.dropout"(%0) <{prob = 5.000000e-01 : f32, scale = 2.000000e+00 : f32, seed = 7 : ui32}> : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @quantize_unrolled(
// CHECK: "ttir.quantize_unrolled"({{.*}}) <{axis = 1 : i32}> :
func.func @quantize_unrolled(%0: tensor<4x8xbf16>, %1: tensor<8xbf16>, %2: tensor<8xsi32>) -> tensor<4x8xsi32> {
  %3 = "ttir.quantize_unrolled"(%0, %1, %2) <{axis = 1 : i32}> : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xsi32>) -> tensor<4x8xsi32>
  func.return %3 : tensor<4x8xsi32>
}

// CHECK-LABEL: func.func @dequantize_unrolled(
// CHECK: "ttir.dequantize_unrolled"({{.*}}) :
func.func @dequantize_unrolled(%0: tensor<4x8xsi32>, %1: tensor<1xbf16>, %2: tensor<1xsi32>) -> tensor<4x8xbf16> {
  %3 = "ttir.dequantize_unrolled"(%0, %1, %2) : (tensor<4x8xsi32>, tensor<1xbf16>, tensor<1xsi32>) -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @requantize_unrolled(
// CHECK: "ttir.requantize_unrolled"({{.*}}) :
func.func @requantize_unrolled(%0: tensor<4x8xsi32>, %1: tensor<1xbf16>, %2: tensor<1xsi32>, %3: tensor<1xbf16>, %4: tensor<1xsi32>) -> tensor<4x8xsi32> {
  %5 = "ttir.requantize_unrolled"(%0, %1, %2, %3, %4) : (tensor<4x8xsi32>, tensor<1xbf16>, tensor<1xsi32>, tensor<1xbf16>, tensor<1xsi32>) -> tensor<4x8xsi32>
  func.return %5 : tensor<4x8xsi32>
}

// CHECK-LABEL: func.func @batch_norm_inference(
// CHECK: "ttir.batch_norm_inference"({{.*}}) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32}> :
func.func @batch_norm_inference(%0: tensor<2x3x4x8xbf16>, %1: tensor<3xbf16>, %2: tensor<3xbf16>, %3: tensor<3xbf16>, %4: tensor<3xbf16>) -> tensor<2x3x4x8xbf16> {
  %5 = "ttir.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32}> : (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> tensor<2x3x4x8xbf16>
  func.return %5 : tensor<2x3x4x8xbf16>
}

// CHECK-LABEL: func.func @batch_norm_training(
// CHECK: "ttir.batch_norm_training"({{.*}}) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32, momentum = 1.000000e-01 : f32}> :
func.func @batch_norm_training(%0: tensor<2x3x4x8xbf16>, %1: tensor<3xbf16>, %2: tensor<3xbf16>, %3: tensor<3xbf16>, %4: tensor<3xbf16>) -> (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>) {
  %5:3 = "ttir.batch_norm_training"(%0, %1, %2, %3, %4) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32, momentum = 1.000000e-01 : f32}> : (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>)
  func.return %5#0, %5#1, %5#2 : tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>
}

// CHECK-LABEL: func.func @quantize(
// CHECK: "ttir.quantize"({{.*}}) :
func.func @quantize(%0: tensor<4x8xbf16>) -> tensor<4x8xsi32> {
  %1 = "ttir.quantize"(%0) : (tensor<4x8xbf16>) -> tensor<4x8xsi32>
  func.return %1 : tensor<4x8xsi32>
}

// CHECK-LABEL: func.func @dequantize(
// CHECK: "ttir.dequantize"({{.*}}) :
func.func @dequantize(%0: tensor<4x8xsi32>) -> tensor<4x8xbf16> {
  %1 = "ttir.dequantize"(%0) : (tensor<4x8xsi32>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @requantize(
// CHECK: "ttir.requantize"({{.*}}) :
func.func @requantize(%0: tensor<4x8xsi32>) -> tensor<4x8xsi32> {
  %1 = "ttir.requantize"(%0) : (tensor<4x8xsi32>) -> tensor<4x8xsi32>
  func.return %1 : tensor<4x8xsi32>
}
