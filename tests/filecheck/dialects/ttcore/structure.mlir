// RUN: roundtrip

// CHECK-LABEL: func.func @barrier(
// CHECK: "ttcore.optimization_barrier"(%0, %1) : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>)
func.func @barrier(%0: tensor<2xf32>, %1: tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %2:2 = "ttcore.optimization_barrier"(%0, %1) : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  func.return %2#0, %2#1 : tensor<2xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @tuple(
// CHECK: "ttcore.tuple"(%0, %1) : (tensor<2xf32>, tensor<3xf32>) -> !ttcore.tuple<tensor<2xf32>, tensor<3xf32>>
// CHECK: "ttcore.get_tuple_element"(%{{.*}}) <{index = 1 : i32}> : (!ttcore.tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
func.func @tuple(%0: tensor<2xf32>, %1: tensor<3xf32>) -> tensor<3xf32> {
  %2 = "ttcore.tuple"(%0, %1) : (tensor<2xf32>, tensor<3xf32>) -> !ttcore.tuple<tensor<2xf32>, tensor<3xf32>>
  %3 = "ttcore.get_tuple_element"(%2) <{index = 1 : i32}> : (!ttcore.tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
  func.return %3 : tensor<3xf32>
}

// CHECK-LABEL: func.func @composite(
// CHECK: "ttcore.composite"(%0) <{composite_name = "topk", decomposition = @f, composite_attributes = {k = 4 : i32}}> : (tensor<8xf32>) -> tensor<4xf32>
func.func @composite(%0: tensor<8xf32>) -> tensor<4xf32> {
  %1 = "ttcore.composite"(%0) <{composite_name = "topk", decomposition = @f, composite_attributes = {k = 4 : i32}}> : (tensor<8xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK: "ttcore.global"() <{sym_name = "cache", type = tensor<2xf32>, index = 3 : si32}> : () -> ()
"ttcore.global"() <{sym_name = "cache", type = tensor<2xf32>, index = 3 : si32}> : () -> ()

// CHECK-LABEL: func.func @dictionary(
// CHECK: "ttcore.get_global"() <{sym_name = "cache"}> : () -> tensor<2xf32>
// CHECK: "ttcore.set_key_value"(%0, %{{.*}}) <{key = "a"}> : (!ttcore.dict, tensor<2xf32>) -> ()
// CHECK: "ttcore.get_key_value"(%0) <{key = "a"}> : (!ttcore.dict) -> tensor<2xf32>
func.func @dictionary(%0: !ttcore.dict) -> tensor<2xf32> {
  %1 = "ttcore.get_global"() <{sym_name = "cache"}> : () -> tensor<2xf32>
  "ttcore.set_key_value"(%0, %1) <{key = "a"}> : (!ttcore.dict, tensor<2xf32>) -> ()
  %2 = "ttcore.get_key_value"(%0) <{key = "a"}> : (!ttcore.dict) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
