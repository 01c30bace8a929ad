// RUN: roundtrip

func.func private @several(%0: tensor<2xbf16>, %1: tensor<3xf32>) -> (tensor<2xbf16>, tensor<3xf32>) {
  func.return %0, %1 : tensor<2xbf16>, tensor<3xf32>
}

func.func private @nothing() {
  func.return
}

// CHECK-LABEL: func.func @main(
func.func @main(%0: tensor<2xbf16>, %1: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: %[[A:.*]], %[[B:.*]] = ttcore.load_cached(@several, [%{{.*}}, %{{.*}}]) : (tensor<2xbf16>, tensor<3xf32>) -> (tensor<2xbf16>, tensor<3xf32>)
  %2, %3 = ttcore.load_cached(@several, [%0, %1]) : (tensor<2xbf16>, tensor<3xf32>) -> (tensor<2xbf16>, tensor<3xf32>)
  // CHECK-NEXT: ttcore.load_cached(@nothing, []) : () -> ()
  ttcore.load_cached(@nothing, []) : () -> ()
  // CHECK-NEXT: func.return %[[B]]
  func.return %3 : tensor<3xf32>
}
