// RUN: invalid

// expected-error: has shape (1, 1, 64, 33), expected (1, 1, 64, 32)
func.func @group_norm(%0: tensor<1x1x64x32xbf16>, %1: tensor<32xbf16>, %2: tensor<32xbf16>) -> tensor<1x1x64x33xbf16> {
  %3 = "ttir.group_norm"(%0, %1, %2) <{num_groups = 8 : i64, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (tensor<1x1x64x32xbf16>, tensor<32xbf16>, tensor<32xbf16>) -> tensor<1x1x64x33xbf16>
  func.return %3 : tensor<1x1x64x33xbf16>
}

// -----

// expected-error: 32 channels do not split into 7 groups
func.func @group_norm(%0: tensor<1x1x64x32xbf16>, %1: tensor<32xbf16>, %2: tensor<32xbf16>) -> tensor<1x1x64x32xbf16> {
  %3 = "ttir.group_norm"(%0, %1, %2) <{num_groups = 7 : i64, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (tensor<1x1x64x32xbf16>, tensor<32xbf16>, tensor<32xbf16>) -> tensor<1x1x64x32xbf16>
  func.return %3 : tensor<1x1x64x32xbf16>
}

// -----

// expected-error: has shape (1, 1, 32, 65), expected (1, 1, 32, 64)
func.func @distributed_rms_norm(%0: tensor<1x1x32x64xbf16>, %1: tensor<64xbf16>, %2: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x65xbf16> {
  %3 = "ttir.distributed_rms_norm"(%0, %1, %2) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1x1x32x64xbf16>, tensor<64xbf16>, tensor<1x1x32x64xbf16>) -> tensor<1x1x32x65xbf16>
  func.return %3 : tensor<1x1x32x65xbf16>
}

// -----

// expected-error: residual has shape (1, 1, 32, 32), expected (1, 1, 32, 64)
func.func @distributed_rms_norm(%0: tensor<1x1x32x64xbf16>, %1: tensor<64xbf16>, %2: tensor<1x1x32x32xbf16>) -> tensor<1x1x32x64xbf16> {
  %3 = "ttir.distributed_rms_norm"(%0, %1, %2) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1x1x32x64xbf16>, tensor<64xbf16>, tensor<1x1x32x32xbf16>) -> tensor<1x1x32x64xbf16>
  func.return %3 : tensor<1x1x32x64xbf16>
}

// -----

// expected-error: has shape (1, 1, 32, 65), expected (1, 1, 32, 64)
func.func @distributed_layer_norm(%0: tensor<1x1x32x64xbf16>, %1: tensor<64xbf16>, %2: tensor<64xbf16>) -> tensor<1x1x32x65xbf16> {
  %3 = "ttir.distributed_layer_norm"(%0, %1, %2) <{cluster_axis = 1 : ui32, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<1x1x32x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<1x1x32x65xbf16>
  func.return %3 : tensor<1x1x32x65xbf16>
}

// -----

// expected-error: grad has shape (4, 7), expected (4, 8)
func.func @adamw(%0: tensor<4x8xbf16>, %1: tensor<4x7xbf16>, %2: tensor<4x8xbf16>, %3: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %4:3 = "ttir.adamw"(%0, %1, %2, %3) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> : (tensor<4x8xbf16>, tensor<4x7xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>)
  func.return %4#0, %4#1, %4#2 : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>
}

// -----

// expected-error: expected both max_exp_avg_sq and max_exp_avg_sq_out, or neither
func.func @adamw(%0: tensor<4x8xbf16>, %1: tensor<4x8xbf16>, %2: tensor<4x8xbf16>, %3: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %4:4 = "ttir.adamw"(%0, %1, %2, %3) <{lr = 1.000000e-03 : f32, beta1 = 9.000000e-01 : f32, beta2 = 9.990000e-01 : f32, beta1_pow = 9.000000e-01 : f32, beta2_pow = 9.990000e-01 : f32, epsilon = 1.000000e-08 : f32, weight_decay = 1.000000e-02 : f32}> : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>)
  func.return %4#0, %4#1, %4#2, %4#3 : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @dropout(%0: tensor<4x8xbf16>) -> tensor<4x9xbf16> {
  %1 = "ttir.dropout"(%0) <{prob = 5.000000e-01 : f32, scale = 2.000000e+00 : f32, seed = 7 : ui32}> : (tensor<4x8xbf16>) -> tensor<4x9xbf16>
  func.return %1 : tensor<4x9xbf16>
}

// -----

// expected-error: prob is 1.5, expected 0 to 1
func.func @dropout(%0: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %1 = "ttir.dropout"(%0) <{prob = 1.500000e+00 : f32}> : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return %1 : tensor<4x8xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @quantize_unrolled(%0: tensor<4x8xbf16>, %1: tensor<8xbf16>, %2: tensor<8xsi32>) -> tensor<4x9xsi32> {
  %3 = "ttir.quantize_unrolled"(%0, %1, %2) <{axis = 1 : i32}> : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xsi32>) -> tensor<4x9xsi32>
  func.return %3 : tensor<4x9xsi32>
}

// -----

// expected-error: scale has shape (7,), expected 8 elements
func.func @quantize_unrolled(%0: tensor<4x8xbf16>, %1: tensor<7xbf16>, %2: tensor<8xsi32>) -> tensor<4x8xsi32> {
  %3 = "ttir.quantize_unrolled"(%0, %1, %2) <{axis = 1 : i32}> : (tensor<4x8xbf16>, tensor<7xbf16>, tensor<8xsi32>) -> tensor<4x8xsi32>
  func.return %3 : tensor<4x8xsi32>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @dequantize_unrolled(%0: tensor<4x8xsi32>, %1: tensor<1xbf16>, %2: tensor<1xsi32>) -> tensor<4x9xbf16> {
  %3 = "ttir.dequantize_unrolled"(%0, %1, %2) : (tensor<4x8xsi32>, tensor<1xbf16>, tensor<1xsi32>) -> tensor<4x9xbf16>
  func.return %3 : tensor<4x9xbf16>
}

// -----

// expected-error: zero_point has shape (2,), expected 1 elements
func.func @dequantize_unrolled(%0: tensor<4x8xsi32>, %1: tensor<1xbf16>, %2: tensor<2xsi32>) -> tensor<4x8xbf16> {
  %3 = "ttir.dequantize_unrolled"(%0, %1, %2) : (tensor<4x8xsi32>, tensor<1xbf16>, tensor<2xsi32>) -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @requantize_unrolled(%0: tensor<4x8xsi32>, %1: tensor<1xbf16>, %2: tensor<1xsi32>, %3: tensor<1xbf16>, %4: tensor<1xsi32>) -> tensor<4x9xsi32> {
  %5 = "ttir.requantize_unrolled"(%0, %1, %2, %3, %4) : (tensor<4x8xsi32>, tensor<1xbf16>, tensor<1xsi32>, tensor<1xbf16>, tensor<1xsi32>) -> tensor<4x9xsi32>
  func.return %5 : tensor<4x9xsi32>
}

// -----

// expected-error: has shape (2, 3, 4, 9), expected (2, 3, 4, 8)
func.func @batch_norm_inference(%0: tensor<2x3x4x8xbf16>, %1: tensor<3xbf16>, %2: tensor<3xbf16>, %3: tensor<3xbf16>, %4: tensor<3xbf16>) -> tensor<2x3x4x9xbf16> {
  %5 = "ttir.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32}> : (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> tensor<2x3x4x9xbf16>
  func.return %5 : tensor<2x3x4x9xbf16>
}

// -----

// expected-error: mean has shape (4,), expected (3,)
func.func @batch_norm_inference(%0: tensor<2x3x4x8xbf16>, %1: tensor<3xbf16>, %2: tensor<3xbf16>, %3: tensor<4xbf16>, %4: tensor<3xbf16>) -> tensor<2x3x4x8xbf16> {
  %5 = "ttir.batch_norm_inference"(%0, %1, %2, %3, %4) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32}> : (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<4xbf16>, tensor<3xbf16>) -> tensor<2x3x4x8xbf16>
  func.return %5 : tensor<2x3x4x8xbf16>
}

// -----

// expected-error: has shape (2, 3, 4, 9), expected (2, 3, 4, 8)
func.func @batch_norm_training(%0: tensor<2x3x4x8xbf16>, %1: tensor<3xbf16>, %2: tensor<3xbf16>, %3: tensor<3xbf16>, %4: tensor<3xbf16>) -> (tensor<2x3x4x9xbf16>, tensor<3xbf16>, tensor<3xbf16>) {
  %5:3 = "ttir.batch_norm_training"(%0, %1, %2, %3, %4) <{epsilon = 1.000000e-05 : f32, dimension = 1 : i32, momentum = 1.000000e-01 : f32}> : (tensor<2x3x4x8xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> (tensor<2x3x4x9xbf16>, tensor<3xbf16>, tensor<3xbf16>)
  func.return %5#0, %5#1, %5#2 : tensor<2x3x4x9xbf16>, tensor<3xbf16>, tensor<3xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @quantize(%0: tensor<4x8xbf16>) -> tensor<4x9xsi32> {
  %1 = "ttir.quantize"(%0) : (tensor<4x8xbf16>) -> tensor<4x9xsi32>
  func.return %1 : tensor<4x9xsi32>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @dequantize(%0: tensor<4x8xsi32>) -> tensor<4x9xbf16> {
  %1 = "ttir.dequantize"(%0) : (tensor<4x8xsi32>) -> tensor<4x9xbf16>
  func.return %1 : tensor<4x9xbf16>
}

// -----

// expected-error: has shape (4, 9), expected (4, 8)
func.func @requantize(%0: tensor<4x8xsi32>) -> tensor<4x9xsi32> {
  %1 = "ttir.requantize"(%0) : (tensor<4x8xsi32>) -> tensor<4x9xsi32>
  func.return %1 : tensor<4x9xsi32>
}
