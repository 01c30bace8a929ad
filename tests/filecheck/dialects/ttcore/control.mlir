// RUN: roundtrip

// CHECK-LABEL: func.func @counted(
// CHECK: "ttcore.while_loop"(%0, %x, %w) <{body_program = @counted_loop, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<20>, output_indices = array<i32: 0, 1>, state_count = 2 : i32, step = #ttcore.loop_bound<1>}>
func.func @counted(%0: tensor<si32>, %x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %1:2 = "ttcore.while_loop"(%0, %x, %w) <{body_program = @counted_loop, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<20>, output_indices = array<i32: 0, 1>, state_count = 2 : i32, step = #ttcore.loop_bound<1>}> : (tensor<si32>, tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<si32>, tensor<4x8xf32>)
  func.return %1#1 : tensor<4x8xf32>
}
func.func private @counted_loop(%0: tensor<si32>, %x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<si32>, tensor<4x8xf32>) attributes {tt.function_type = "forward_device"} {
  func.return %0, %x : tensor<si32>, tensor<4x8xf32>
}

// A bound that an operand has.
// CHECK-LABEL: func.func @to_a_limit(
// CHECK: limit = #ttcore.loop_bound<0, 1 : i32>
func.func @to_a_limit(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> {
  %1 = "ttcore.while_loop"(%x, %n) <{body_program = @round, initial = #ttcore.loop_bound<0>, limit = #ttcore.loop_bound<0, 1 : i32>, output_indices = array<i32: 0>, state_count = 1 : i32, step = #ttcore.loop_bound<1>}> : (tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
func.func private @round(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> attributes {tt.function_type = "forward_device"} {
  func.return %x : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @by_condition(
// CHECK: "ttcore.while_loop"(%x, %n) <{body_program = @round, condition_program = @condition, output_indices = array<i32: 0>, state_count = 1 : i32}>
func.func @by_condition(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> {
  %1 = "ttcore.while_loop"(%x, %n) <{body_program = @round, condition_program = @condition, output_indices = array<i32: 0>, state_count = 1 : i32}> : (tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
func.func private @condition(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<si32> attributes {tt.function_type = "forward_device"} {
  func.return %n : tensor<si32>
}

// CHECK-LABEL: func.func @one_of_two(
// CHECK: "ttcore.case"(%n, %x, %n) <{branch_programs = [@round, @other]}>
func.func @one_of_two(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> {
  %1 = "ttcore.case"(%n, %x, %n) <{branch_programs = [@round, @other]}> : (tensor<si32>, tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
func.func private @other(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> attributes {tt.function_type = "forward_device"} {
  func.return %x : tensor<4x8xf32>
}
