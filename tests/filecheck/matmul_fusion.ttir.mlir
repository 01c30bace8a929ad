// A product and the addition of its bias are two ops in TTIR, which fusion makes one: matmul_fusion.ttnn.mlir.
// CHECK: "ttir.dot_general"
// CHECK: "ttir.add"
// CHECK-NOT: "ttir.dot_general"
