// RUN: pass=ttir-fold

// Ops whose results nobody uses go, unless they have effects: a Python function is called, other ranks wait, or a loop
// or a branch does such a thing.
// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: "ttir.host_callback"
// CHECK-NEXT: "ttir.rank_collective"
// CHECK-NEXT: "ttcore.while_loop"{{.*}}effects = true
// CHECK-NEXT: "ttcore.case"{{.*}}effects = true
// CHECK-NEXT: func.return
func.func @unused(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> {
  %0 = "ttir.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "ttir.host_callback"(%x) <{callback = "7", input_types = ["f32"], output_types = ["i32"]}> : (tensor<4x8xf32>) -> tensor<si32>
  %6 = "ttir.rank_collective"(%x) <{kind = "broadcast", process_group = "0", ranks = 2 : ui32, root = 0 : ui32, element_type = "f32"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "ttcore.while_loop"(%x, %n) <{body_program = @round, condition_program = @condition, effects = true, output_indices = array<i32: 0>, state_count = 1 : i32}> : (tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  %3 = "ttcore.while_loop"(%x, %n) <{body_program = @round, condition_program = @condition, output_indices = array<i32: 0>, state_count = 1 : i32}> : (tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  %4 = "ttcore.case"(%n, %x, %n) <{branch_programs = [@round, @round], effects = true}> : (tensor<si32>, tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  %5 = "ttcore.case"(%n, %x, %n) <{branch_programs = [@round, @round]}> : (tensor<si32>, tensor<4x8xf32>, tensor<si32>) -> tensor<4x8xf32>
  func.return %x : tensor<4x8xf32>
}
func.func private @round(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<4x8xf32> attributes {tt.function_type = "forward_device"} {
  func.return %x : tensor<4x8xf32>
}
func.func private @condition(%x: tensor<4x8xf32>, %n: tensor<si32>) -> tensor<si32> attributes {tt.function_type = "forward_device"} {
  func.return %n : tensor<si32>
}
