// RUN: import mesh=2x4

// CHECK: builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x4>]>}
// CHECK: func.func public @main(%x: tensor<8x16xf32> {{{.*}}ttcore.shard_status = #ttcore.shard_status<presharded>}
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
func.func public @main(%x: tensor<8x16xf32> {ttir.name = "x"}, %i: tensor<8xi32> {ttir.name = "i"}, %b: tensor<8xi1> {ttir.name = "b"}, %n: tensor<8xi8> {ttir.name = "n"}) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi1>, tensor<8xi8>, tensor<8x16xf32>) {
  // One op per axis. The groups may be listed in any order, and a sum is the same in every order of members.
  // CHECK: "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}>
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[7, 6, 5, 4], [0, 2, 1, 3]]> : tensor<2x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: %[[A:.*]] = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: %[[B:.*]] = "ttir.all_reduce"(%[[A]]) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: %[[C:.*]] = "ttir.all_reduce"(%i) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: "ttir.all_reduce"(%[[C]]) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}>
  %1 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = "stablehlo.all_reduce"(%i) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.maximum %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>) -> tensor<8xi32>
  // Integers are combined bit by bit on each chip.
  // CHECK-NEXT: %[[D:.*]] = "ttir.reshape"(%i) <{shape = [1 : i32, 8 : i32]}>
  // CHECK-NEXT: %[[E:.*]] = "ttir.all_gather"(%[[D]]) <{all_gather_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<1x8xsi32>) -> tensor<2x8xsi32>
  // CHECK-NEXT: %[[F:.*]] = "ttir.slice_static"(%[[E]]) <{begins = [0 : i32, 0 : i32], ends = [1 : i32, 8 : i32]
  // CHECK-NEXT: %[[G:.*]] = "ttir.slice_static"(%[[E]]) <{begins = [1 : i32, 0 : i32], ends = [2 : i32, 8 : i32]
  // CHECK-NEXT: "ttir.bitwise_xor"(%[[F]], %[[G]])
  %3 = "stablehlo.all_reduce"(%i) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.xor %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>) -> tensor<8xi32>
  // Booleans are 0 and 1: their and is the minimum.
  // CHECK: "ttir.all_reduce"(%b) <{reduce_type = #ttcore.reduce_type<min>, cluster_axis = 0 : ui32}>
  %4 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
  ^bb0(%p: tensor<i1>, %q: tensor<i1>):
    %s = stablehlo.and %p, %q : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<8xi1>) -> tensor<8xi1>
  // A sum of 8-bit integers wraps.
  // CHECK-NEXT: %[[H:.*]] = "ttir.all_reduce"(%n) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}>
  // CHECK: "ttir.bitwise_and"(%[[H]],
  %5 = "stablehlo.all_reduce"(%n) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
  ^bb0(%p: tensor<i8>, %q: tensor<i8>):
    %s = stablehlo.add %p, %q : tensor<i8>
    stablehlo.return %s : tensor<i8>
  }) : (tensor<8xi8>) -> tensor<8xi8>
  // Groups of one chip are no work.
  // CHECK-NOT: all_reduce
  %6 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi1>, tensor<8xi8>, tensor<8x16xf32>
}
}
