// RUN: pass=ttir-fold-rows

// A product, a norm and a sum of 32 rows, each alone in its tile: one tile of rows between two reshapes.
// CHECK-LABEL: func.func @rows_of_one(
func.func @rows_of_one(%x: tensor<32x1x1024xbf16>, %w: tensor<1024x1024xbf16>, %s: tensor<1024xbf16>) -> tensor<32x1x1024xbf16> {
  // CHECK-NEXT: %[[X:.*]] = "ttir.reshape"(%x) <{shape = [1 : i32, 32 : i32, 1024 : i32]}>
  // CHECK-NEXT: %[[N:.*]] = "ttir.rms_norm"(%[[X]], %s) <{{.*}}> : (tensor<1x32x1024xbf16>, tensor<1024xbf16>) -> tensor<1x32x1024xbf16>
  // CHECK-NEXT: %[[P:.*]] = "ttir.matmul"(%[[N]], %w) {{.*}} -> tensor<1x32x1024xbf16>
  // CHECK-NEXT: %[[A:.*]] = "ttir.add"(%[[X]], %[[P]]) : {{.*}} -> tensor<1x32x1024xbf16>
  // CHECK-NEXT: %[[R:.*]] = "ttir.reshape"(%[[A]]) <{shape = [32 : i32, 1 : i32, 1024 : i32]}>
  // CHECK-NEXT: func.return %[[R]]
  %n = "ttir.rms_norm"(%x, %s) <{normalized_shape = array<i64: 1024>, epsilon = 1.0e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<32x1x1024xbf16>, tensor<1024xbf16>) -> tensor<32x1x1024xbf16>
  %p = "ttir.matmul"(%n, %w) <{transpose_a = false, transpose_b = false}> : (tensor<32x1x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<32x1x1024xbf16>
  %a = "ttir.add"(%x, %p) : (tensor<32x1x1024xbf16>, tensor<32x1x1024xbf16>) -> tensor<32x1x1024xbf16>
  func.return %a : tensor<32x1x1024xbf16>
}

// Halves are cut and joined along the columns; a table of one row serves all rows.
// CHECK-LABEL: func.func @rotated(
func.func @rotated(%x: tensor<32x1x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<1x1x1x128xbf16>) -> tensor<32x4096xbf16> {
  // CHECK-NEXT: %[[X:.*]] = "ttir.reshape"(%x) <{shape = [1 : i32, 32 : i32, 4096 : i32]}>
  // CHECK-NEXT: %[[P:.*]] = "ttir.matmul"(%[[X]], %w)
  // CHECK-NEXT: %[[H:.*]] = "ttir.reshape"(%[[P]]) <{shape = [1 : i32, 1 : i32, 1024 : i32, 128 : i32]}>
  // CHECK-NEXT: "ttir.slice_static"(%[[H]]) <{begins = [0 : i32, 0 : i32, 0 : i32, 64 : i32], ends = [1 : i32, 1 : i32, 1024 : i32, 128 : i32]
  // CHECK-NEXT: "ttir.slice_static"(%[[H]]) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [1 : i32, 1 : i32, 1024 : i32, 64 : i32]
  // CHECK-NEXT: %[[J:.*]] = "ttir.concat"{{.*}} -> tensor<1x1x1024x128xbf16>
  // CHECK-NEXT: %[[M:.*]] = "ttir.multiply"(%[[J]], %t) : (tensor<1x1x1024x128xbf16>, tensor<1x1x1x128xbf16>)
  // CHECK-NEXT: "ttir.reshape"(%[[M]]) <{shape = [32 : i32, 4096 : i32]}>
  // CHECK-NEXT: func.return
  %p = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<32x1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<32x1x4096xbf16>
  %h = "ttir.reshape"(%p) <{shape = [32 : i32, 32 : i32, 1 : i32, 128 : i32]}> : (tensor<32x1x4096xbf16>) -> tensor<32x32x1x128xbf16>
  %b = "ttir.slice_static"(%h) <{begins = [0 : i32, 0 : i32, 0 : i32, 64 : i32], ends = [32 : i32, 32 : i32, 1 : i32, 128 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (tensor<32x32x1x128xbf16>) -> tensor<32x32x1x64xbf16>
  %a = "ttir.slice_static"(%h) <{begins = [0 : i32, 0 : i32, 0 : i32, 0 : i32], ends = [32 : i32, 32 : i32, 1 : i32, 64 : i32], step = [1 : i32, 1 : i32, 1 : i32, 1 : i32]}> : (tensor<32x32x1x128xbf16>) -> tensor<32x32x1x64xbf16>
  %j = "ttir.concat"(%b, %a) <{dim = 3 : si32}> : (tensor<32x32x1x64xbf16>, tensor<32x32x1x64xbf16>) -> tensor<32x32x1x128xbf16>
  %m = "ttir.multiply"(%j, %t) : (tensor<32x32x1x128xbf16>, tensor<1x1x1x128xbf16>) -> tensor<32x32x1x128xbf16>
  %r = "ttir.reshape"(%m) <{shape = [32 : i32, 4096 : i32]}> : (tensor<32x32x1x128xbf16>) -> tensor<32x4096xbf16>
  func.return %r : tensor<32x4096xbf16>
}

// A row for each sequence, shared by its heads, is repeated before it is folded. Tokens are looked up in one row.
// CHECK-LABEL: func.func @table_of_each_sequence(
func.func @table_of_each_sequence(%i: tensor<32x1xsi32>, %e: tensor<1000x4096xbf16>, %t: tensor<32x1x1x128xbf16>) -> tensor<32x4096xbf16> {
  // CHECK-DAG: %[[I:.*]] = "ttir.reshape"(%i) <{shape = [1 : i32, 32 : i32]}>
  // CHECK-DAG: %[[T:.*]] = "ttir.broadcast"(%t) <{broadcast_dimensions = array<i64: 1, 32, 1, 1>}>
  // CHECK-DAG: %[[F:.*]] = "ttir.reshape"(%[[T]]) <{shape = [1 : i32, 1 : i32, 1024 : i32, 128 : i32]}>
  // CHECK-DAG: %[[X:.*]] = "ttir.embedding"(%[[I]], %e) : {{.*}} -> tensor<1x32x4096xbf16>
  // CHECK-DAG: %[[H:.*]] = "ttir.reshape"(%[[X]]) <{shape = [1 : i32, 1 : i32, 1024 : i32, 128 : i32]}>
  // CHECK: "ttir.multiply"(%[[H]], %[[F]]) : {{.*}} -> tensor<1x1x1024x128xbf16>
  %x = "ttir.embedding"(%i, %e) : (tensor<32x1xsi32>, tensor<1000x4096xbf16>) -> tensor<32x1x4096xbf16>
  %h = "ttir.reshape"(%x) <{shape = [32 : i32, 32 : i32, 1 : i32, 128 : i32]}> : (tensor<32x1x4096xbf16>) -> tensor<32x32x1x128xbf16>
  %m = "ttir.multiply"(%h, %t) : (tensor<32x32x1x128xbf16>, tensor<32x1x1x128xbf16>) -> tensor<32x32x1x128xbf16>
  %r = "ttir.reshape"(%m) <{shape = [32 : i32, 4096 : i32]}> : (tensor<32x32x1x128xbf16>) -> tensor<32x4096xbf16>
  func.return %r : tensor<32x4096xbf16>
}

// One op gains less than two reshapes cost.
// CHECK-LABEL: func.func @not_worth_it(
func.func @not_worth_it(%x: tensor<32x1x1024xbf16>) -> tensor<32x1x1024xbf16> {
  // CHECK-NEXT: "ttir.exp"(%x)
  // CHECK-NEXT: func.return
  %a = "ttir.exp"(%x) : (tensor<32x1x1024xbf16>) -> tensor<32x1x1024xbf16>
  func.return %a : tensor<32x1x1024xbf16>
}

// Full tiles, and ops along other dimensions, stay.
// CHECK-LABEL: func.func @other_ops_stay(
func.func @other_ops_stay(%x: tensor<8x32x1024xbf16>, %w: tensor<1024x1024xbf16>, %y: tensor<8x4x1024xbf16>) -> (tensor<8x32x1024xbf16>, tensor<8x4x1024xbf16>) {
  // CHECK-NEXT: "ttir.matmul"(%x, %w)
  // CHECK-NEXT: "ttir.softmax"(%y)
  // CHECK-NEXT: func.return
  %p = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}> : (tensor<8x32x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<8x32x1024xbf16>
  %s = "ttir.softmax"(%y) <{dimension = 1 : si32, numericStable = true}> : (tensor<8x4x1024xbf16>) -> tensor<8x4x1024xbf16>
  func.return %p, %s : tensor<8x32x1024xbf16>, tensor<8x4x1024xbf16>
}

// Rows of 197 tokens are padded by an eighth only: the reshapes around products of rank 2 are left to later passes.
// CHECK-LABEL: func.func @few_tiles_to_save(
func.func @few_tiles_to_save(%x: tensor<1576x768xbf16>, %g: tensor<768xbf16>, %b: tensor<768xbf16>, %w: tensor<768x768xbf16>) -> tensor<1576x768xbf16> {
  // CHECK: "ttir.layer_norm"({{.*}} -> tensor<8x197x768xbf16>
  // CHECK: "ttir.add"({{.*}} -> tensor<8x197x768xbf16>
  %0 = "ttir.reshape"(%x) <{shape = [8 : i32, 197 : i32, 768 : i32]}> : (tensor<1576x768xbf16>) -> tensor<8x197x768xbf16>
  %1 = "ttir.layer_norm"(%0, %g, %b) <{normalized_shape = array<i64: 768>, epsilon = 1.000000e-05 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<8x197x768xbf16>, tensor<768xbf16>, tensor<768xbf16>) -> tensor<8x197x768xbf16>
  %2 = "ttir.reshape"(%1) <{shape = [1576 : i32, 768 : i32]}> : (tensor<8x197x768xbf16>) -> tensor<1576x768xbf16>
  %3 = "ttir.matmul"(%2, %w) <{transpose_a = false, transpose_b = false}> : (tensor<1576x768xbf16>, tensor<768x768xbf16>) -> tensor<1576x768xbf16>
  %4 = "ttir.reshape"(%3) <{shape = [8 : i32, 197 : i32, 768 : i32]}> : (tensor<1576x768xbf16>) -> tensor<8x197x768xbf16>
  %5 = "ttir.add"(%0, %4) : (tensor<8x197x768xbf16>, tensor<8x197x768xbf16>) -> tensor<8x197x768xbf16>
  %6 = "ttir.reshape"(%5) <{shape = [1576 : i32, 768 : i32]}> : (tensor<8x197x768xbf16>) -> tensor<1576x768xbf16>
  func.return %6 : tensor<1576x768xbf16>
}
