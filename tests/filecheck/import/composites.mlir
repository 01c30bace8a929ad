// RUN: import

func.func private @plain(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %0 = stablehlo.exponential %x : tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
func.func private @plain_of_two(%x: tensor<2x4xbf16>, %w: tensor<4xbf16>) -> tensor<2x4xbf16> {
  %0 = stablehlo.exponential %x : tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
func.func private @plain_of_three(%x: tensor<2x4xbf16>, %w: tensor<4xbf16>, %b: tensor<4xbf16>) -> tensor<2x4xbf16> {
  %0 = stablehlo.exponential %x : tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
func.func private @plain_mixed(%x: tensor<2x4xbf16>, %w: tensor<4xf32>) -> tensor<2x4xbf16> {
  %0 = stablehlo.exponential %x : tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
// CHECK-LABEL: func.func public @main(
func.func public @main(%x: tensor<2x4xbf16>, %w: tensor<4xbf16>, %b: tensor<4xbf16>, %wide: tensor<4xf32>) -> tensor<2x4xbf16> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.gelu"(%{{.*}}) :
  %0 = stablehlo.composite "tenstorrent.gelu" %x {decomposition = @plain} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[B:.*]] = "ttir.rms_norm"(%[[A]], %{{.*}}) <{{{.*}}epsilon = 1.250000e-01 : f32{{.*}}}>
  %1 = stablehlo.composite "tenstorrent.rms_norm" %0, %w {composite_attributes = {epsilon = 1.250000e-01 : f32, normalized_shape = dense<4> : tensor<1xi64>}, decomposition = @plain_of_two} : (tensor<2x4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[C:.*]] = "ttir.layer_norm"(%[[B]], %{{.*}}, %{{.*}}) <{{{.*}}normalized_shape = array<i64: 4>{{.*}}}>
  %2 = stablehlo.composite "tenstorrent.layer_norm" %1, %w, %b {composite_attributes = {epsilon = 1.250000e-01 : f32, normalized_shape = dense<4> : tensor<1xi64>}, decomposition = @plain_of_three} : (tensor<2x4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
  // A normalized shape that is not the input's last dimensions, and an unknown name, give the decomposition.
  // CHECK-NEXT: %[[D:.*]] = "ttir.exp"(%[[C]])
  %3 = stablehlo.composite "tenstorrent.rms_norm" %2 {composite_attributes = {normalized_shape = dense<2> : tensor<1xi64>}, decomposition = @plain} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  // A weight of another type is cast to the input's type.
  // CHECK-NEXT: %[[W:.*]] = "ttir.typecast"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-NEXT: %[[E:.*]] = "ttir.rms_norm"(%[[D]], %[[W]])
  %4 = stablehlo.composite "tenstorrent.rms_norm" %3, %wide {composite_attributes = {normalized_shape = dense<4> : tensor<1xi64>}, decomposition = @plain_mixed} : (tensor<2x4xbf16>, tensor<4xf32>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[F:.*]] = "ttir.exp"(%[[E]])
  %5 = stablehlo.composite "tenstorrent.rms_norm" %4 {decomposition = @plain} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: "ttir.exp"(%[[F]])
  %6 = stablehlo.composite "my.op" %5 {decomposition = @plain} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  return %6 : tensor<2x4xbf16>
}
