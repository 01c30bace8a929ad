// RUN: invalid

// expected-error: results have types tensor<3xf32>, expected tensor<2xf32>, the operands' types
func.func @f(%0: tensor<2xf32>) -> tensor<3xf32> {
  %1 = "ttcore.optimization_barrier"(%0) : (tensor<2xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// -----

// expected-error: result has type !ttcore.tuple<tensor<3xf32>>, expected a tuple of the operands' types
func.func @f(%0: tensor<2xf32>) -> !ttcore.tuple<tensor<3xf32>> {
  %1 = "ttcore.tuple"(%0) : (tensor<2xf32>) -> !ttcore.tuple<tensor<3xf32>>
  func.return %1 : !ttcore.tuple<tensor<3xf32>>
}

// -----

// expected-error: index is 1, expected 0 to 0, a member of !ttcore.tuple<tensor<3xf32>>
func.func @f(%0: !ttcore.tuple<tensor<3xf32>>) -> tensor<3xf32> {
  %1 = "ttcore.get_tuple_element"(%0) <{index = 1 : i32}> : (!ttcore.tuple<tensor<3xf32>>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// -----

// expected-error: result has type tensor<2xf32>, expected tensor<3xf32>
func.func @f(%0: !ttcore.tuple<tensor<3xf32>>) -> tensor<2xf32> {
  %1 = "ttcore.get_tuple_element"(%0) <{index = 0 : i32}> : (!ttcore.tuple<tensor<3xf32>>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: composite_name is empty
func.func @f(%0: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.composite"(%0) <{composite_name = "", decomposition = @f}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: sym_name is empty
"ttcore.global"() <{sym_name = "", type = tensor<2xf32>}> : () -> ()

// -----

// expected-error: sym_name
func.func @f() -> tensor<2xf32> {
  %0 = "ttcore.get_global"() : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// expected-error: expected a string, got 1 : i8
func.func @f(%0: !ttcore.dict, %1: tensor<2xf32>) {
  "ttcore.set_key_value"(%0, %1) <{key = 1 : i8}> : (!ttcore.dict, tensor<2xf32>) -> ()
  func.return
}

// -----

// expected-error: expected a string, got 1 : i8
func.func @f(%0: !ttcore.dict) -> tensor<2xf32> {
  %1 = "ttcore.get_key_value"(%0) <{key = 1 : i8}> : (!ttcore.dict) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
