// RUN: pass=ttir-fuse

// relu.
// CHECK-LABEL: func.func @relu(
func.func @relu(%x: tensor<2x3xf32>, %y: tensor<2x3xsi32>) -> (tensor<2x3xf32>, tensor<2x3xsi32>) {
  // CHECK-NEXT: "ttir.relu"(%x)
  // CHECK-NEXT: "ttir.relu"(%y)
  %zero = "ttir.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %none = "ttir.constant"() <{value = dense<0> : tensor<si32>}> : () -> tensor<si32>
  %a = "ttir.maximum"(%zero, %x) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "ttir.maximum"(%y, %none) : (tensor<2x3xsi32>, tensor<si32>) -> tensor<2x3xsi32>
  func.return %a, %b : tensor<2x3xf32>, tensor<2x3xsi32>
}

// CHECK-LABEL: func.func @no_relu(
func.func @no_relu(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NOT: ttir.relu
  // CHECK: func.return
  %some = "ttir.constant"() <{value = dense<0.1> : tensor<f32>}> : () -> tensor<f32>
  %zeros = "ttir.constant"() <{value = dense<0.0> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %zero = "ttir.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %a = "ttir.maximum"(%x, %some) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %b = "ttir.maximum"(%y, %zeros) : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = "ttir.minimum"(%x, %zero) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %a, %b, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// times_itself.
// CHECK-LABEL: func.func @silu(
func.func @silu(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: "ttir.sigmoid"(%x)
  // CHECK-NEXT: "ttir.silu"(%x)
  // CHECK-NEXT: "ttir.multiply"(%y
  // CHECK-NEXT: "ttir.div"(%x
  %a = "ttir.sigmoid"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "ttir.multiply"(%a, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = "ttir.multiply"(%y, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = "ttir.div"(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %b, %c, %d : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// gelu.
// CHECK-LABEL: func.func @gelu(
func.func @gelu(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-COUNT-3: "ttir.gelu"(%x)
  // CHECK-NEXT: func.return
  %one = "ttir.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %half = "ttir.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %root = "ttir.constant"() <{value = dense<1.41421354> : tensor<f32>}> : () -> tensor<f32>
  %inverse = "ttir.constant"() <{value = dense<0.707106769> : tensor<f32>}> : () -> tensor<f32>
  %minus = "ttir.constant"() <{value = dense<-0.707106769> : tensor<f32>}> : () -> tensor<f32>
  %a = "ttir.div"(%x, %root) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %b = "ttir.erf"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = "ttir.add"(%b, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %d = "ttir.multiply"(%x, %c) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = "ttir.multiply"(%half, %d) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %f = "ttir.multiply"(%x, %inverse) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %g = "ttir.erf"(%f) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %h = "ttir.add"(%one, %g) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %i = "ttir.multiply"(%half, %x) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %j = "ttir.multiply"(%i, %h) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %k = "ttir.multiply"(%x, %minus) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %l = "ttir.erfc"(%k) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %m = "ttir.multiply"(%l, %i) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %e, %j, %m : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// In bfloat16 the constants are the nearest values of the type.
// CHECK-LABEL: func.func @gelu_in_bf16(
func.func @gelu_in_bf16(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  // CHECK-NEXT: "ttir.gelu"(%x)
  // CHECK-NEXT: func.return
  %half = "ttir.constant"() <{value = dense<0.5> : tensor<bf16>}> : () -> tensor<bf16>
  %minus = "ttir.constant"() <{value = dense<-0.70703125> : tensor<bf16>}> : () -> tensor<bf16>
  %a = "ttir.multiply"(%x, %minus) : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<2x3xbf16>
  %b = "ttir.erfc"(%a) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %c = "ttir.multiply"(%x, %half) : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<2x3xbf16>
  %d = "ttir.multiply"(%b, %c) : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %d : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @no_gelu(
func.func @no_gelu(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NOT: ttir.gelu
  // CHECK: func.return
  %one = "ttir.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %half = "ttir.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %nearly = "ttir.constant"() <{value = dense<0.495> : tensor<f32>}> : () -> tensor<f32>
  %rough = "ttir.constant"() <{value = dense<1.41> : tensor<f32>}> : () -> tensor<f32>
  %root = "ttir.constant"() <{value = dense<1.41421354> : tensor<f32>}> : () -> tensor<f32>
  %a = "ttir.div"(%x, %rough) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %b = "ttir.erf"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = "ttir.add"(%b, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %d = "ttir.multiply"(%x, %c) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %wrong_scale_inside = "ttir.multiply"(%half, %d) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = "ttir.div"(%x, %root) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %f = "ttir.erf"(%e) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %g = "ttir.add"(%f, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %h = "ttir.multiply"(%x, %g) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %wrong_scale_outside = "ttir.multiply"(%nearly, %h) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %i = "ttir.multiply"(%y, %g) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %other_factor = "ttir.multiply"(%half, %i) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %j = "ttir.multiply"(%x, %h) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %squared = "ttir.multiply"(%half, %j) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %k = "ttir.erfc"(%e) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %l = "ttir.multiply"(%x, %k) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %erfc_of_the_wrong_sign = "ttir.multiply"(%half, %l) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %wrong_scale_inside, %wrong_scale_outside, %other_factor, %squared, %erfc_of_the_wrong_sign : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// reciprocal.
// CHECK-LABEL: func.func @reciprocal(
func.func @reciprocal(%x: tensor<2x3xf32>, %y: tensor<2x3xsi32>, %z: tensor<1x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xsi32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK: "ttir.reciprocal"(%x)
  // CHECK-NEXT: "ttir.div"(%{{.*}}, %y)
  // CHECK-NEXT: "ttir.div"(%{{.*}}, %z)
  // CHECK-NEXT: "ttir.div"(%x, %{{.*}})
  %one = "ttir.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %ones = "ttir.constant"() <{value = dense<1.0> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %unit = "ttir.constant"() <{value = dense<1> : tensor<si32>}> : () -> tensor<si32>
  %a = "ttir.div"(%one, %x) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "ttir.div"(%unit, %y) : (tensor<si32>, tensor<2x3xsi32>) -> tensor<2x3xsi32>
  %c = "ttir.div"(%ones, %z) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %d = "ttir.div"(%x, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %a, %b, %c, %d : tensor<2x3xf32>, tensor<2x3xsi32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// keep_dim.
// CHECK-LABEL: func.func @keep_dim(
func.func @keep_dim(%x: tensor<2x3x4xf32>) -> tensor<2x1x4xf32> {
  // CHECK-NEXT: "ttir.max"(%x) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  // CHECK-NEXT: func.return
  %a = "ttir.max"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %b = "ttir.reshape"(%a) <{shape = [2 : i32, 1 : i32, 4 : i32]}> : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  func.return %b : tensor<2x1x4xf32>
}

// CHECK-LABEL: func.func @keep_dim_elsewhere(
func.func @keep_dim_elsewhere(%x: tensor<4x4xf32>, %y: tensor<2x3x4xf32>) -> (tensor<4x1xf32>, tensor<2x1x4xf32>, tensor<2x4xf32>) {
  // CHECK-NEXT: "ttir.sum"
  // CHECK-NEXT: "ttir.reshape"
  // CHECK-NEXT: %[[S:.*]] = "ttir.sum"
  // CHECK-NEXT: "ttir.reshape"
  // CHECK-NEXT: "ttir.exp"(%[[S]])
  %a = "ttir.sum"(%x) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<4x4xf32>) -> tensor<4xf32>
  %b = "ttir.reshape"(%a) <{shape = [4 : i32, 1 : i32]}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %c = "ttir.sum"(%y) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %used_twice = "ttir.reshape"(%c) <{shape = [2 : i32, 1 : i32, 4 : i32]}> : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  %d = "ttir.exp"(%c) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %b, %used_twice, %d : tensor<4x1xf32>, tensor<2x1x4xf32>, tensor<2x4xf32>
}

// mean.
// CHECK-LABEL: func.func @mean(
func.func @mean(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<1x1xf32>) {
  // CHECK: "ttir.mean"(%x) <{dim_arg = [1 : i32], keep_dim = false}>
  // CHECK: "ttir.mean"(%x) <{dim_arg = [0 : i32, 1 : i32], keep_dim = true}>
  // CHECK-NOT: ttir.{{sum|div|multiply}}
  // CHECK: func.return
  %six = "ttir.constant"() <{value = dense<6.0> : tensor<f32>}> : () -> tensor<f32>
  %part = "ttir.constant"() <{value = dense<0.0416666679> : tensor<f32>}> : () -> tensor<f32>
  %a = "ttir.sum"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x6xf32>) -> tensor<4xf32>
  %b = "ttir.div"(%a, %six) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = "ttir.sum"(%x) <{dim_arg = [0 : i32, 1 : i32], keep_dim = true}> : (tensor<4x6xf32>) -> tensor<1x1xf32>
  %d = "ttir.multiply"(%part, %c) : (tensor<f32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  func.return %b, %d : tensor<4xf32>, tensor<1x1xf32>
}

// CHECK-LABEL: func.func @no_mean(
func.func @no_mean(%x: tensor<4x6xf32>, %y: tensor<2x300xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x4xf32>, tensor<4xf32>) {
  // CHECK-NOT: ttir.mean
  // CHECK: func.return
  %five = "ttir.constant"() <{value = dense<5.0> : tensor<f32>}> : () -> tensor<f32>
  %six = "ttir.constant"() <{value = dense<6.0> : tensor<f32>}> : () -> tensor<f32>
  %unbiased = "ttir.constant"() <{value = dense<299.0> : tensor<f32>}> : () -> tensor<f32>
  %nearly = "ttir.constant"() <{value = dense<0.00334448158> : tensor<f32>}> : () -> tensor<f32>
  %sixes = "ttir.constant"() <{value = dense<6.0> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
  %a = "ttir.sum"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x6xf32>) -> tensor<4xf32>
  %b = "ttir.div"(%a, %five) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = "ttir.div"(%six, %a) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %d = "ttir.multiply"(%a, %six) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = "ttir.sum"(%y) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<2x300xf32>) -> tensor<2xf32>
  %f = "ttir.div"(%e, %unbiased) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %g = "ttir.multiply"(%e, %nearly) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %spread = "ttir.div"(%a, %sixes) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = "ttir.max"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<4x6xf32>) -> tensor<4xf32>
  %i = "ttir.div"(%h, %six) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %b, %c, %d, %f, %g, %spread, %i : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x4xf32>, tensor<4xf32>
}

// softmax.
// CHECK-LABEL: func.func @softmax(
func.func @softmax(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK-NEXT: "ttir.softmax"(%x) <{dimension = 1 : si32, numericStable = true}>
  // CHECK-NEXT: "ttir.softmax"(%x) <{dimension = 0 : si32, numericStable = false}>
  // CHECK-NEXT: func.return
  %a = "ttir.max"(%x) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %b = "ttir.subtract"(%x, %a) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %c = "ttir.exp"(%b) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %d = "ttir.sum"(%c) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %e = "ttir.div"(%c, %d) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %f = "ttir.exp"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = "ttir.sum"(%f) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<4x6xf32>) -> tensor<6xf32>
  %h = "ttir.reshape"(%g) <{shape = [1 : i32, 6 : i32]}> : (tensor<6xf32>) -> tensor<1x6xf32>
  %i = "ttir.broadcast"(%h) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x6xf32>) -> tensor<4x6xf32>
  %j = "ttir.div"(%f, %i) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %e, %j : tensor<4x6xf32>, tensor<4x6xf32>
}

// The maximum is over another dimension, or broadcast along another: the softmax is that of exp's operand, not of x.
// CHECK-LABEL: func.func @softmax_of_something_shifted(
func.func @softmax_of_something_shifted(%x: tensor<5x5xf32>) -> (tensor<5x5xf32>, tensor<5x5xf32>) {
  // CHECK: %[[A:.*]] = "ttir.subtract"(%x
  // CHECK: "ttir.softmax"(%[[A]]) <{dimension = 1 : si32, numericStable = false}>
  // CHECK: %[[B:.*]] = "ttir.subtract"(%x
  // CHECK: "ttir.softmax"(%[[B]]) <{dimension = 1 : si32, numericStable = false}>
  // CHECK: func.return
  %a = "ttir.max"(%x) <{dim_arg = [0 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<1x5xf32>
  %b = "ttir.subtract"(%x, %a) : (tensor<5x5xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  %c = "ttir.exp"(%b) : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %d = "ttir.sum"(%c) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %e = "ttir.div"(%c, %d) : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %f = "ttir.max"(%x) <{dim_arg = [1 : i32], keep_dim = false}> : (tensor<5x5xf32>) -> tensor<5xf32>
  %across = "ttir.reshape"(%f) <{shape = [1 : i32, 5 : i32]}> : (tensor<5xf32>) -> tensor<1x5xf32>
  %g = "ttir.subtract"(%x, %across) : (tensor<5x5xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  %h = "ttir.exp"(%g) : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %i = "ttir.sum"(%h) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %j = "ttir.div"(%h, %i) : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  func.return %e, %j : tensor<5x5xf32>, tensor<5x5xf32>
}

// CHECK-LABEL: func.func @no_softmax(
func.func @no_softmax(%x: tensor<5x5xf32>, %y: tensor<5x5xf32>) -> (tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>) {
  // CHECK-NOT: ttir.softmax
  // CHECK: func.return
  %a = "ttir.exp"(%x) : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %b = "ttir.sum"(%a) <{dim_arg = [0 : i32], keep_dim = false}> : (tensor<5x5xf32>) -> tensor<5xf32>
  %across = "ttir.reshape"(%b) <{shape = [5 : i32, 1 : i32]}> : (tensor<5xf32>) -> tensor<5x1xf32>
  %c = "ttir.div"(%a, %across) : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %d = "ttir.sum"(%a) <{dim_arg = [0 : i32, 1 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<1x1xf32>
  %of_two = "ttir.div"(%a, %d) : (tensor<5x5xf32>, tensor<1x1xf32>) -> tensor<5x5xf32>
  %e = "ttir.exp"(%y) : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %f = "ttir.sum"(%e) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %of_another = "ttir.div"(%a, %f) : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %g = "ttir.max"(%a) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %of_the_maximum = "ttir.div"(%a, %g) : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %h = "ttir.sum"(%a) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %upside_down = "ttir.div"(%h, %a) : (tensor<5x1xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %i = "ttir.typecast"(%a) : (tensor<5x5xf32>) -> tensor<5x5xsi32>
  %j = "ttir.sum"(%i) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<5x5xsi32>) -> tensor<5x1xsi32>
  %k = "ttir.typecast"(%j) : (tensor<5x1xsi32>) -> tensor<5x1xf32>
  %of_whole_numbers = "ttir.div"(%a, %k) : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  func.return %c, %of_two, %of_another, %of_the_maximum, %upside_down, %of_whole_numbers : tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>
}

// transposed_matmul.
// CHECK-LABEL: func.func @transposed_matmul(
func.func @transposed_matmul(%x: tensor<2x5x4xf32>, %y: tensor<3x5xf32>, %z: tensor<5x4xf32>) -> (tensor<2x4x3xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: "ttir.matmul"(%x, %y) <{transpose_a = true, transpose_b = true}> : (tensor<2x5x4xf32>, tensor<3x5xf32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: "ttir.matmul"(%z, %z) <{transpose_a = true, transpose_b = false}>
  // CHECK-NEXT: func.return
  %a = "ttir.permute"(%x) <{permutation = array<i64: 0, 2, 1>}> : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %b = "ttir.permute"(%y) <{permutation = array<i64: 1, 0>}> : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %c = "ttir.matmul"(%a, %b) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xf32>, tensor<5x3xf32>) -> tensor<2x4x3xf32>
  %d = "ttir.permute"(%z) <{permutation = array<i64: 1, 0>}> : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %e = "ttir.permute"(%d) <{permutation = array<i64: 1, 0>}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %f = "ttir.matmul"(%d, %e) <{transpose_a = false, transpose_b = false}> : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  func.return %c, %f : tensor<2x4x3xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @other_permutes_stay(
func.func @other_permutes_stay(%x: tensor<4x2x5xf32>, %y: tensor<2x5x3xf32>) -> tensor<2x4x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = "ttir.permute"
  // CHECK-NEXT: "ttir.matmul"(%[[A]], %y)
  %a = "ttir.permute"(%x) <{permutation = array<i64: 1, 0, 2>}> : (tensor<4x2x5xf32>) -> tensor<2x4x5xf32>
  %b = "ttir.matmul"(%a, %y) <{transpose_a = false, transpose_b = false}> : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
  func.return %b : tensor<2x4x3xf32>
}

// matmul_with_bias.
// CHECK-LABEL: func.func @linear(
func.func @linear(%x: tensor<4x5xf32>, %y: tensor<5x3xf32>, %b: tensor<3xf32>, %c: tensor<1x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: "ttir.linear"(%x, %y, %b) <{transpose_a = false, transpose_b = false}>
  // CHECK-NEXT: "ttir.linear"(%x, %y, %c)
  // CHECK-NEXT: func.return
  %m = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %d = "ttir.add"(%m, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %n = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %e = "ttir.broadcast"(%c) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x3xf32>) -> tensor<4x3xf32>
  %f = "ttir.add"(%e, %n) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %d, %f : tensor<4x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @no_linear(
func.func @no_linear(%x: tensor<3x3xf32>, %y: tensor<3x3xf32>, %b: tensor<3x1xf32>, %c: tensor<3x3xf32>, %d: tensor<f32>, %e: tensor<2x1x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<2x3x3xf32>, tensor<3x3xf32>) {
  // CHECK-NOT: ttir.linear
  // CHECK: func.return
  %m = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %column = "ttir.add"(%m, %b) : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %n = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %matrix = "ttir.add"(%n, %c) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %o = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %scalar = "ttir.add"(%o, %d) : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %p = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %batched = "ttir.add"(%p, %e) : (tensor<3x3xf32>, tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
  %q = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %twice = "ttir.add"(%q, %q) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %column, %matrix, %scalar, %batched, %twice : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<2x3x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @product_used_elsewhere(
func.func @product_used_elsewhere(%x: tensor<4x5xf32>, %y: tensor<5x3xf32>, %b: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  // CHECK-NOT: ttir.linear
  // CHECK: func.return
  %m = "ttir.matmul"(%x, %y) <{transpose_a = false, transpose_b = false}> : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %c = "ttir.add"(%m, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %c, %m : tensor<4x3xf32>, tensor<4x3xf32>
}

// conv_with_bias.
// CHECK-LABEL: func.func @conv_bias(
func.func @conv_bias(%x: tensor<1x8x9x3xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %c: tensor<1x1x1x4xf32>) -> tensor<1x6x7x4xf32> {
  // CHECK: "ttir.conv2d"(%x, %w, %{{.*}}) {{.*}}(tensor<1x8x9x3xf32>, tensor<4x3x3x3xf32>, tensor<1x1x1x4xf32>)
  // CHECK: "ttir.add"
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64, channel_dim = 3 : i64}> : (tensor<1x8x9x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x7x4xf32>
  %d = "ttir.add"(%b, %a) : (tensor<4xf32>, tensor<1x6x7x4xf32>) -> tensor<1x6x7x4xf32>
  %second = "ttir.add"(%d, %c) : (tensor<1x6x7x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x6x7x4xf32>
  func.return %second : tensor<1x6x7x4xf32>
}

// CHECK-LABEL: func.func @conv_bias_channels_first(
func.func @conv_bias_channels_first(%x: tensor<1x3x8x9xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4x1x1xf32>) -> tensor<1x4x6x7xf32> {
  // CHECK: "ttir.conv2d"(%x, %w, %{{.*}})
  // CHECK-NEXT: func.return
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<1x3x8x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x7xf32>
  %d = "ttir.add"(%a, %b) : (tensor<1x4x6x7xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x7xf32>
  func.return %d : tensor<1x4x6x7xf32>
}

// CHECK-LABEL: func.func @no_conv_bias(
func.func @no_conv_bias(%x: tensor<1x3x6x6xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4x1xf32>, %c: tensor<4xf32>, %d: tensor<2x4x1x1xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<2x4x4x4xf32>) {
  // CHECK: "ttir.add"
  // CHECK: "ttir.add"
  // CHECK: "ttir.add"
  // CHECK: func.return
  %a = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %on_height = "ttir.add"(%a, %b) : (tensor<1x4x4x4xf32>, tensor<4x1xf32>) -> tensor<1x4x4x4xf32>
  %e = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %on_width = "ttir.add"(%e, %c) : (tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %f = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64}> : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %batched = "ttir.add"(%f, %d) : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x4x4xf32>
  func.return %on_height, %on_width, %batched : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<2x4x4x4xf32>
}
