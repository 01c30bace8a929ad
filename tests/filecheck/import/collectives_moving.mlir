// RUN: import mesh=2x4

// CHECK: func.func public @main(%x: tensor<8x16xf32>
func.func public @main(%x: tensor<8x16xf32> {ttir.name = "x"}) -> (tensor<64x16xf32>, tensor<64x16xf32>, tensor<16x16xf32>, tensor<1x16xf32>, tensor<4x32xf32>, tensor<1x128xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  // The minor axis is gathered first.
  // CHECK: %[[A:.*]] = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x16xf32>) -> tensor<32x16xf32>
  // CHECK-NEXT: "ttir.all_gather"(%[[A]]) <{all_gather_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<32x16xf32>) -> tensor<64x16xf32>
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<8x16xf32>) -> tensor<64x16xf32>
  // Columns first: the minor axis is axis 0 here.
  // CHECK-NEXT: %[[B:.*]] = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<8x16xf32>) -> tensor<16x16xf32>
  // CHECK-NEXT: "ttir.all_gather"(%[[B]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<16x16xf32>) -> tensor<64x16xf32>
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 4, 1, 5, 2, 6, 3, 7]]> : tensor<1x8xi64>}> : (tensor<8x16xf32>) -> tensor<64x16xf32>
  // Members in the opposite order: the gathered blocks change places.
  // CHECK-NEXT: %[[C:.*]] = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 0 : ui32}>
  // CHECK-NEXT: %[[D:.*]] = "ttir.slice_static"(%[[C]]) <{begins = [8 : i32, 0 : i32], ends = [16 : i32, 16 : i32]
  // CHECK-NEXT: %[[E:.*]] = "ttir.slice_static"(%[[C]]) <{begins = [0 : i32, 0 : i32], ends = [8 : i32, 16 : i32]
  // CHECK-NEXT: "ttir.concat"(%[[D]], %[[E]]) <{dim = 0 : si32}>
  %2 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[4, 0], [5, 1], [6, 2], [7, 3]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<16x16xf32>
  // The major axis is scattered over first.
  // CHECK-NEXT: %[[F:.*]] = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK-NEXT: "ttir.reduce_scatter"(%[[F]]) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<4x16xf32>) -> tensor<1x16xf32>
  %3 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<1x16xf32>
  // CHECK-NEXT: "ttir.all_to_all"(%x) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 2 : si32}>
  %4 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<4x32xf32>
  // Over two axes: each takes its part, and the shards change places at the end, from 0 4 1 5 ... to 0 1 2 ...
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_to_all"(%x) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, {{.*}} : (tensor<8x16xf32>) -> tensor<4x32xf32>
  // CHECK-NEXT: %[[H:.*]] = "ttir.all_to_all"(%[[G]]) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, {{.*}} : (tensor<4x32xf32>) -> tensor<1x128xf32>
  // CHECK-NEXT: "ttir.slice_static"(%[[H]]) <{begins = [0 : i32, 0 : i32], ends = [1 : i32, 16 : i32]
  // CHECK-NEXT: "ttir.slice_static"(%[[H]]) <{begins = [0 : i32, 32 : i32], ends = [1 : i32, 48 : i32]
  // CHECK: "ttir.concat"
  %5 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 8 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<8x16xf32>) -> tensor<1x128xf32>
  // CHECK-NEXT: "ttir.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [5, 0]]> : tensor<2x2xi64>}>
  %6 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [5, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: "ttir.collective_broadcast"(%x) <{replica_groups = dense<[[3, 1, 2]]> : tensor<1x3xi64>}>
  %7 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[3, 1, 2]]> : tensor<1x3xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<64x16xf32>, tensor<64x16xf32>, tensor<16x16xf32>, tensor<1x16xf32>, tensor<4x32xf32>, tensor<1x128xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
