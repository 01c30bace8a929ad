// RUN: invalid

// expected-error: calls @body, expected the name of a function of the module
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @body, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: expected either initial, limit and step, or a condition_program
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, output_indices = array<i32: 0>, state_count = 1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: step is 0
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<0>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: output_indices are [1], expected the index of one of 1 states for each of 1 results
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 1>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: @body returns (tensor<3xf32>), expected (tensor<2xf32>)
func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x, %y) <{body_program = @body, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func private @body(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  func.return %y : tensor<3xf32>
}

// -----

// expected-error: passes (tensor<2xf32>) to @branch, which takes (tensor<3xf32>)
func.func @f(%n: tensor<si32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.case"(%n, %x) <{branch_programs = [@branch]}> : (tensor<si32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func private @branch(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}

// -----

// expected-error: state_count is 2, expected 0 to 1, the number of operands
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 0>, state_count = 2 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: a result has type tensor<3xf32>, expected that of its state, tensor<2xf32>
func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// -----

// expected-error: a bound is operand 1, expected 0 to 0
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<0, 1 : i32>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: expected either initial, limit and step, or a condition_program
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, condition_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<3>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: @condition returns 2 values, expected one
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @body, condition_program = @condition, output_indices = array<i32: 0>, state_count = 1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func private @body(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func private @condition(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  func.return %x, %x : tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error: branch_programs is empty, expected at least one function
func.func @f(%n: tensor<si32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.case"(%n, %x) <{branch_programs = []}> : (tensor<si32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// expected-error: expected the index of an operand, <0, 2 : i32>
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "ttcore.while_loop"(%x) <{body_program = @f, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<0, 1 : i64>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
