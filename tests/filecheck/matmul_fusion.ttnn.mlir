// CHECK: "ttnn.linear"
// CHECK-NOT: "ttnn.add"
