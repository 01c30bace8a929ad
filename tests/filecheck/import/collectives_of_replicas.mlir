// RUN: import mesh=2x4

// Two replicas of four partitions: a chip's position is replica * 4 + partition.
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32} {
// CHECK: func.func public @main(%x: tensor<4xf32>
func.func public @main(%x: tensor<4xf32> {ttir.name = "x"}) -> (tensor<8xf32>, tensor<32xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>) {
  // Without a channel, ids are replicas: the partitions stay apart.
  // CHECK: "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<4xf32>) -> tensor<8xf32>
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  // With a channel, all partitions take part, each with its replicas side by side.
  // CHECK-NEXT: %[[A:.*]] = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<4xf32>) -> tensor<8xf32>
  // CHECK-NEXT: "ttir.all_gather"(%[[A]]) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8xf32>) -> tensor<32xf32>
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<32xf32>
  // A permute with a channel is one of partitions, in each replica.
  // CHECK-NEXT: "ttir.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [4, 5]]> : tensor<2x2xi64>}>
  %2 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: "ttir.collective_permute"(%x) <{source_target_pairs = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}>
  %3 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: "ttir.constant"() <{value = dense<{{\[\[}}0], [1]]> : tensor<2x1xui32>}>
  %4 = stablehlo.replica_id : tensor<ui32>
  return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<32xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>
}
}
