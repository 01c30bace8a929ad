// Two convolutions and two products for images of digits: StableHLO, with the names of the weights in PyTorch.
func.func public @main(%arg0: tensor<32x1x3x3xbf16> {ttcore.argument_type = "parameter", ttir.name = "conv1.weight"},
  %arg1: tensor<32xbf16> {ttcore.argument_type = "parameter", ttir.name = "conv1.bias"},
  %arg2: tensor<8x1x28x28xbf16> {ttcore.argument_type = "input", ttir.name = "x"},
  %arg3: tensor<64x32x3x3xbf16> {ttcore.argument_type = "parameter", ttir.name = "conv2.weight"},
  %arg4: tensor<64xbf16> {ttcore.argument_type = "parameter", ttir.name = "conv2.bias"},
  %arg5: tensor<128x9216xbf16> {ttcore.argument_type = "parameter", ttir.name = "fc1.weight"},
  %arg6: tensor<128xbf16> {ttcore.argument_type = "parameter", ttir.name = "fc1.bias"},
  %arg7: tensor<10x128xbf16> {ttcore.argument_type = "parameter", ttir.name = "fc2.weight"},
  %arg8: tensor<10xbf16> {ttcore.argument_type = "parameter", ttir.name = "fc2.bias"}) -> tensor<8x10xbf16> {
  %0 = stablehlo.convolution(%arg2, %arg0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x1x28x28xbf16>, tensor<32x1x3x3xbf16>) -> tensor<8x32x26x26xbf16>
  %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<32xbf16>) -> tensor<8x32x26x26xbf16>
  %2 = stablehlo.add %0, %1 : tensor<8x32x26x26xbf16>
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
  %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<8x32x26x26xbf16>
  %4 = stablehlo.maximum %2, %3 : tensor<8x32x26x26xbf16>
  %5 = stablehlo.convolution(%4, %arg3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x26x26xbf16>, tensor<64x32x3x3xbf16>) -> tensor<8x64x24x24xbf16>
  %6 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<64xbf16>) -> tensor<8x64x24x24xbf16>
  %7 = stablehlo.add %5, %6 : tensor<8x64x24x24xbf16>
  %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
  %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<8x64x24x24xbf16>
  %9 = stablehlo.maximum %7, %8 : tensor<8x64x24x24xbf16>
  %cst_1 = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<bf16>
  %11 = "stablehlo.reduce_window"(%9, %10) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
  ^bb0(%arg9: tensor<bf16>, %arg10: tensor<bf16>):
    %31 = stablehlo.maximum %arg9, %arg10 : tensor<bf16>
    stablehlo.return %31 : tensor<bf16>
  }) : (tensor<8x64x24x24xbf16>, tensor<bf16>) -> tensor<8x64x12x12xbf16>
  %12 = stablehlo.reshape %11 : (tensor<8x64x12x12xbf16>) -> tensor<8x9216xbf16>
  %13 = stablehlo.transpose %arg5, dims = [1, 0] : (tensor<128x9216xbf16>) -> tensor<9216x128xbf16>
  %14 = stablehlo.dot_general %12, %13, contracting_dims = [1] x [0] : (tensor<8x9216xbf16>, tensor<9216x128xbf16>) -> tensor<8x128xbf16>
  %15 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<128xbf16>) -> tensor<8x128xbf16>
  %16 = stablehlo.add %14, %15 : tensor<8x128xbf16>
  %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
  %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<8x128xbf16>
  %18 = stablehlo.maximum %16, %17 : tensor<8x128xbf16>
  %19 = stablehlo.transpose %arg7, dims = [1, 0] : (tensor<10x128xbf16>) -> tensor<128x10xbf16>
  %20 = stablehlo.dot_general %18, %19, contracting_dims = [1] x [0] : (tensor<8x128xbf16>, tensor<128x10xbf16>) -> tensor<8x10xbf16>
  %21 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<10xbf16>) -> tensor<8x10xbf16>
  %22 = stablehlo.add %20, %21 : tensor<8x10xbf16>
  %cst_3 = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %23 = stablehlo.reduce(%22 init: %cst_3) applies stablehlo.maximum across dimensions = [1] : (tensor<8x10xbf16>, tensor<bf16>) -> tensor<8xbf16>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0] : (tensor<8xbf16>) -> tensor<8x10xbf16>
  %25 = stablehlo.subtract %22, %24 : tensor<8x10xbf16>
  %26 = stablehlo.exponential %25 : tensor<8x10xbf16>
  %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
  %27 = stablehlo.reduce(%26 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<8x10xbf16>, tensor<bf16>) -> tensor<8xbf16>
  %28 = stablehlo.log %27 : tensor<8xbf16>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<8xbf16>) -> tensor<8x10xbf16>
  %30 = stablehlo.subtract %25, %29 : tensor<8x10xbf16>
  return %30 : tensor<8x10xbf16>
}
