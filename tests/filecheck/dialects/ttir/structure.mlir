// RUN: roundtrip

// CHECK-LABEL: func.func @reshape(
// CHECK: "ttir.reshape"(%0) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
func.func @reshape(%0: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %1 = "ttir.reshape"(%0) <{shape = [3 : i32, 2 : i32]}> : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %1 : tensor<3x2xbf16>
}

// CHECK-LABEL: func.func @reshape_to_rank_0(
// CHECK: "ttir.reshape"(%0) <{shape = []}> : (tensor<1x1xf32>) -> tensor<f32>
func.func @reshape_to_rank_0(%0: tensor<1x1xf32>) -> tensor<f32> {
  %1 = "ttir.reshape"(%0) <{shape = []}> : (tensor<1x1xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @permute(
// CHECK: "ttir.permute"(%0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
func.func @permute(%0: tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16> {
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
  func.return %1 : tensor<4x2x3xbf16>
}

// CHECK-LABEL: func.func @concat(
// CHECK: "ttir.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<2x7xbf16>
func.func @concat(%0: tensor<2x3xbf16>, %1: tensor<2x4xbf16>) -> tensor<2x7xbf16> {
  %2 = "ttir.concat"(%0, %1) <{dim = 1 : si32}> : (tensor<2x3xbf16>, tensor<2x4xbf16>) -> tensor<2x7xbf16>
  func.return %2 : tensor<2x7xbf16>
}

// CHECK-LABEL: func.func @slice_static(
// CHECK: "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
func.func @slice_static(%0: tensor<4x7xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [3 : i32, 6 : i32], step = [1 : i32, 2 : i32]}> : (tensor<4x7xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @pad(
// CHECK: "ttir.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
func.func @pad(%0: tensor<2x3xbf16>) -> tensor<3x5xbf16> {
  %1 = "ttir.pad"(%0) <{padding = array<i32: 0, 1, 2, 0>, value = 5.000000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<3x5xbf16>
  func.return %1 : tensor<3x5xbf16>
}

// CHECK-LABEL: func.func @embedding(
// CHECK: "ttir.embedding"(%0, %1) : (tensor<2x5xui32>, tensor<9x4xbf16>) -> tensor<2x5x4xbf16>
func.func @embedding(%0: tensor<2x5xui32>, %1: tensor<9x4xbf16>) -> tensor<2x5x4xbf16> {
  %2 = "ttir.embedding"(%0, %1) : (tensor<2x5xui32>, tensor<9x4xbf16>) -> tensor<2x5x4xbf16>
  func.return %2 : tensor<2x5x4xbf16>
}

// CHECK-LABEL: func.func @gather(
// CHECK: "ttir.gather"(%0, %1) <{dim = 0 : i32}> : (tensor<5x4xf32>, tensor<3x4xui32>) -> tensor<3x4xf32>
func.func @gather(%0: tensor<5x4xf32>, %1: tensor<3x4xui32>) -> tensor<3x4xf32> {
  %2 = "ttir.gather"(%0, %1) <{dim = 0 : i32}> : (tensor<5x4xf32>, tensor<3x4xui32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @where(
// CHECK: "ttir.where"(%0, %1, %2) : (tensor<2x1xbf16>, tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
func.func @where(%0: tensor<2x1xbf16>, %1: tensor<2x3xbf16>, %2: tensor<3xbf16>) -> tensor<2x3xbf16> {
  %3 = "ttir.where"(%0, %1, %2) : (tensor<2x1xbf16>, tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @clamp_scalar(
// CHECK: "ttir.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @clamp_scalar(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.clamp_scalar"(%0) <{min = -5.000000e-01 : f32, max = 6.000000e+00 : f32}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @clamp_integers(
// CHECK: "ttir.clamp_scalar"(%0) <{min = 0 : i32, max = 9 : i32}> : (tensor<2x3xsi32>) -> tensor<2x3xsi32>
func.func @clamp_integers(%0: tensor<2x3xsi32>) -> tensor<2x3xsi32> {
  %1 = "ttir.clamp_scalar"(%0) <{min = 0 : i32, max = 9 : i32}> : (tensor<2x3xsi32>) -> tensor<2x3xsi32>
  func.return %1 : tensor<2x3xsi32>
}

// CHECK-LABEL: func.func @clamp_tensor(
// CHECK: "ttir.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16>, tensor<3xbf16>, tensor<2x1xbf16>) -> tensor<2x3xbf16>
func.func @clamp_tensor(%0: tensor<2x3xbf16>, %1: tensor<3xbf16>, %2: tensor<2x1xbf16>) -> tensor<2x3xbf16> {
  %3 = "ttir.clamp_tensor"(%0, %1, %2) : (tensor<2x3xbf16>, tensor<3xbf16>, tensor<2x1xbf16>) -> tensor<2x3xbf16>
  func.return %3 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @leaky_relu(
// CHECK: "ttir.leaky_relu"(%0) <{parameter = 2.500000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @leaky_relu(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.leaky_relu"(%0) <{parameter = 2.500000e-01 : f32}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: "ttir.broadcast"(%0) <{broadcast_dimensions = array<i64: 1, 4, 1>}> : (tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16>
func.func @broadcast(%0: tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16> {
  %1 = "ttir.broadcast"(%0) <{broadcast_dimensions = array<i64: 1, 4, 1>}> : (tensor<2x1x3xbf16>) -> tensor<2x4x3xbf16>
  func.return %1 : tensor<2x4x3xbf16>
}

// CHECK-LABEL: func.func @reverse(
// CHECK: "ttir.reverse"(%0) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
func.func @reverse(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.reverse"(%0) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @typecast(
// CHECK: "ttir.typecast"(%0) <{conservative_folding = false}> : (tensor<2x3xbf16>) -> tensor<2x3xf32>
func.func @typecast(%0: tensor<2x3xbf16>) -> tensor<2x3xf32> {
  %1 = "ttir.typecast"(%0) <{conservative_folding = false}> : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @typecast_to_integer(
// CHECK: "ttir.typecast"(%0) : (tensor<2x3xf32>) -> tensor<2x3xsi32>
func.func @typecast_to_integer(%0: tensor<2x3xf32>) -> tensor<2x3xsi32> {
  %1 = "ttir.typecast"(%0) : (tensor<2x3xf32>) -> tensor<2x3xsi32>
  func.return %1 : tensor<2x3xsi32>
}
