// RUN: pass=ttir-fuse

// CHECK-LABEL: func.func @turned(
func.func @turned(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  // CHECK-NEXT: %[[M:.*]] = "ttir.constant"() <{value = dense<{{\[\[}}0.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00], [-1.000000e+00, 0.000000e+00,
  // CHECK-NEXT: %[[T:.*]] = "ttir.matmul"(%x, %[[M]])
  // CHECK-NEXT: func.return %[[T]]
  %a = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32], ends = [2 : i32, 4 : i32], step = [1 : i32, 2 : i32]}> : (tensor<2x4xbf16>) -> tensor<2x2xbf16>
  %b = "ttir.slice_static"(%x) <{begins = [0 : i32, 1 : i32], ends = [2 : i32, 4 : i32], step = [1 : i32, 2 : i32]}> : (tensor<2x4xbf16>) -> tensor<2x2xbf16>
  %n = "ttir.neg"(%b) : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %p = "ttir.reshape"(%n) <{shape = [2 : i32, 2 : i32, 1 : i32]}> : (tensor<2x2xbf16>) -> tensor<2x2x1xbf16>
  %q = "ttir.reshape"(%a) <{shape = [2 : i32, 2 : i32, 1 : i32]}> : (tensor<2x2xbf16>) -> tensor<2x2x1xbf16>
  %c = "ttir.concat"(%p, %q) <{dim = 2 : si32}> : (tensor<2x2x1xbf16>, tensor<2x2x1xbf16>) -> tensor<2x2x2xbf16>
  %r = "ttir.reshape"(%c) <{shape = [2 : i32, 4 : i32]}> : (tensor<2x2x2xbf16>) -> tensor<2x4xbf16>
  func.return %r : tensor<2x4xbf16>
}

// The elements of a pair lie along a dimension of their own, and each is multiplied by a table.
// CHECK-LABEL: func.func @rotary(
func.func @rotary(%x: tensor<2x2x2xf32>, %cos: tensor<2x2xf32>, %sin: tensor<2x2xf32>) -> tensor<2x2x2xf32> {
  // CHECK-DAG: %[[X:.*]] = "ttir.reshape"(%x) <{shape = [2 : i32, 4 : i32]}>
  // CHECK-DAG: %[[T:.*]] = "ttir.matmul"(%[[X]],
  // CHECK-DAG: %[[A:.*]] = "ttir.multiply"(%[[X]], %{{.*}}) : (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK-DAG: %[[B:.*]] = "ttir.multiply"(%[[T]],
  // CHECK: "ttir.add"(%[[A]], %[[B]])
  // CHECK-NOT: "ttir.subtract"
  %s = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 0 : i32], ends = [2 : i32, 2 : i32, 1 : i32], step = [1 : i32, 1 : i32, 1 : i32]}> : (tensor<2x2x2xf32>) -> tensor<2x2x1xf32>
  %a = "ttir.reshape"(%s) <{shape = [2 : i32, 2 : i32]}> : (tensor<2x2x1xf32>) -> tensor<2x2xf32>
  %t = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32, 1 : i32], ends = [2 : i32, 2 : i32, 2 : i32], step = [1 : i32, 1 : i32, 1 : i32]}> : (tensor<2x2x2xf32>) -> tensor<2x2x1xf32>
  %b = "ttir.reshape"(%t) <{shape = [2 : i32, 2 : i32]}> : (tensor<2x2x1xf32>) -> tensor<2x2xf32>
  %ac = "ttir.multiply"(%a, %cos) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %bs = "ttir.multiply"(%b, %sin) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = "ttir.subtract"(%ac, %bs) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %as = "ttir.multiply"(%a, %sin) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %bc = "ttir.multiply"(%b, %cos) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = "ttir.add"(%as, %bc) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p = "ttir.reshape"(%d) <{shape = [2 : i32, 2 : i32, 1 : i32]}> : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
  %q = "ttir.reshape"(%e) <{shape = [2 : i32, 2 : i32, 1 : i32]}> : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
  %c = "ttir.concat"(%p, %q) <{dim = 2 : si32}> : (tensor<2x2x1xf32>, tensor<2x2x1xf32>) -> tensor<2x2x2xf32>
  func.return %c : tensor<2x2x2xf32>
}

// Not fused: both elements are the same half.
// CHECK-LABEL: func.func @no_pairs(
func.func @no_pairs(%x: tensor<2x4xbf16>) -> tensor<2x2x2xbf16> {
  // CHECK-NOT: "ttir.matmul"
  %a = "ttir.slice_static"(%x) <{begins = [0 : i32, 0 : i32], ends = [2 : i32, 4 : i32], step = [1 : i32, 2 : i32]}> : (tensor<2x4xbf16>) -> tensor<2x2xbf16>
  %n = "ttir.neg"(%a) : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %p = "ttir.reshape"(%n) <{shape = [2 : i32, 2 : i32, 1 : i32]}> : (tensor<2x2xbf16>) -> tensor<2x2x1xbf16>
  %q = "ttir.reshape"(%a) <{shape = [2 : i32, 2 : i32, 1 : i32]}> : (tensor<2x2xbf16>) -> tensor<2x2x1xbf16>
  %c = "ttir.concat"(%p, %q) <{dim = 2 : si32}> : (tensor<2x2x1xbf16>, tensor<2x2x1xbf16>) -> tensor<2x2x2xbf16>
  func.return %c : tensor<2x2x2xbf16>
}
