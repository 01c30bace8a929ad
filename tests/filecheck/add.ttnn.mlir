// CHECK: "ttnn.add"
