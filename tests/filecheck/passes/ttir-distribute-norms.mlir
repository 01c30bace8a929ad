// RUN: pass=ttir-distribute-norms arch=n300-llmbox

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x4>]>} {
  // The mean is of 4 x 64 elements. The result is not cast, as the norm itself is a float32 one.
  // CHECK-LABEL: func.func @rms_norm(
  // CHECK: %[[N:.*]] = "ttir.distributed_rms_norm"(%{{.*}}) <{epsilon = 1.000000e-05 : f32, cluster_axis = 1 : ui32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
  // CHECK-NEXT: func.return %[[N]]
  func.func @rms_norm(%x: tensor<2x32x64xf32>) -> tensor<2x32x64xf32> {
    %0 = "ttir.multiply"(%x, %x) : (tensor<2x32x64xf32>, tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %1 = "ttir.sum"(%0) <{dim_arg = [2 : i32], keep_dim = false}> : (tensor<2x32x64xf32>) -> tensor<2x32xf32>
    %2 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<2x32xf32>) -> tensor<2x32xf32>
    %3 = "ttir.reshape"(%2) <{shape = [2 : i32, 32 : i32, 1 : i32]}> : (tensor<2x32xf32>) -> tensor<2x32x1xf32>
    %4 = "ttir.constant"() <{value = dense<2.560000e+02> : tensor<1xf32>}> : () -> tensor<1xf32>
    %5 = "ttir.div"(%3, %4) : (tensor<2x32x1xf32>, tensor<1xf32>) -> tensor<2x32x1xf32>
    %6 = "ttir.constant"() <{value = dense<1.000000e-05> : tensor<1xf32>}> : () -> tensor<1xf32>
    %7 = "ttir.add"(%5, %6) : (tensor<2x32x1xf32>, tensor<1xf32>) -> tensor<2x32x1xf32>
    %8 = "ttir.rsqrt"(%7) : (tensor<2x32x1xf32>) -> tensor<2x32x1xf32>
    %9 = "ttir.multiply"(%x, %8) : (tensor<2x32x64xf32>, tensor<2x32x1xf32>) -> tensor<2x32x64xf32>
    func.return %9 : tensor<2x32x64xf32>
  }

  // The sum over the 4 chips is divided by the number of elements of one: no mean.
  // CHECK-LABEL: func.func @mean_of_one_chip(
  // CHECK-NOT: distributed_rms_norm
  func.func @mean_of_one_chip(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
    %0 = "ttir.multiply"(%x, %x) : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<32x64xf32>) -> tensor<32x1xf32>
    %2 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %3 = "ttir.constant"() <{value = dense<6.400000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
    %4 = "ttir.div"(%2, %3) : (tensor<32x1xf32>, tensor<1xf32>) -> tensor<32x1xf32>
    %5 = "ttir.rsqrt"(%4) : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %6 = "ttir.multiply"(%x, %5) : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
    func.return %6 : tensor<32x64xf32>
  }

  // The maximum over the chips is no sum.
  // CHECK-LABEL: func.func @maximum(
  // CHECK-NOT: distributed_rms_norm
  func.func @maximum(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
    %0 = "ttir.multiply"(%x, %x) : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<32x64xf32>) -> tensor<32x1xf32>
    %2 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}> : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %3 = "ttir.constant"() <{value = dense<2.560000e+02> : tensor<1xf32>}> : () -> tensor<1xf32>
    %4 = "ttir.div"(%2, %3) : (tensor<32x1xf32>, tensor<1xf32>) -> tensor<32x1xf32>
    %5 = "ttir.rsqrt"(%4) : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %6 = "ttir.multiply"(%x, %5) : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
    func.return %6 : tensor<32x64xf32>
  }

  // A chip has half a tile of each row.
  // CHECK-LABEL: func.func @half_a_tile(
  // CHECK-NOT: distributed_rms_norm
  func.func @half_a_tile(%x: tensor<32x16xf32>) -> tensor<32x16xf32> {
    %0 = "ttir.multiply"(%x, %x) : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<32x16xf32>) -> tensor<32x1xf32>
    %2 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %3 = "ttir.constant"() <{value = dense<6.400000e+01> : tensor<1xf32>}> : () -> tensor<1xf32>
    %4 = "ttir.div"(%2, %3) : (tensor<32x1xf32>, tensor<1xf32>) -> tensor<32x1xf32>
    %5 = "ttir.rsqrt"(%4) : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %6 = "ttir.multiply"(%x, %5) : (tensor<32x16xf32>, tensor<32x1xf32>) -> tensor<32x16xf32>
    func.return %6 : tensor<32x16xf32>
  }

  // Exchanging a tile for each 32 of many short rows takes longer than the ops that the norm saves.
  // CHECK-LABEL: func.func @many_short_rows(
  // CHECK-NOT: distributed_rms_norm
  func.func @many_short_rows(%x: tensor<16384x64xf32>) -> tensor<16384x64xf32> {
    %0 = "ttir.multiply"(%x, %x) : (tensor<16384x64xf32>, tensor<16384x64xf32>) -> tensor<16384x64xf32>
    %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<16384x64xf32>) -> tensor<16384x1xf32>
    %2 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %3 = "ttir.constant"() <{value = dense<256.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %4 = "ttir.div"(%2, %3) : (tensor<16384x1xf32>, tensor<1xf32>) -> tensor<16384x1xf32>
    %5 = "ttir.rsqrt"(%4) : (tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %6 = "ttir.multiply"(%x, %5) : (tensor<16384x64xf32>, tensor<16384x1xf32>) -> tensor<16384x64xf32>
    func.return %6 : tensor<16384x64xf32>
  }

  // CHECK-LABEL: func.func @many_long_rows(
  // CHECK: "ttir.distributed_rms_norm"
  func.func @many_long_rows(%x: tensor<16384x512xf32>) -> tensor<16384x512xf32> {
    %0 = "ttir.multiply"(%x, %x) : (tensor<16384x512xf32>, tensor<16384x512xf32>) -> tensor<16384x512xf32>
    %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<16384x512xf32>) -> tensor<16384x1xf32>
    %2 = "ttir.all_reduce"(%1) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %3 = "ttir.constant"() <{value = dense<2048.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %4 = "ttir.div"(%2, %3) : (tensor<16384x1xf32>, tensor<1xf32>) -> tensor<16384x1xf32>
    %5 = "ttir.rsqrt"(%4) : (tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %6 = "ttir.multiply"(%x, %5) : (tensor<16384x512xf32>, tensor<16384x1xf32>) -> tensor<16384x512xf32>
    func.return %6 : tensor<16384x512xf32>
  }
}
