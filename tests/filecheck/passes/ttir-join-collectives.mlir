// RUN: pass=ttir-join-collectives

builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2x4>]>} {
  // CHECK-LABEL: func.func @one_chip(
  // CHECK-NEXT: func.return %{{.*}}, %{{.*}}
  func.func @one_chip(%x: tensor<8x4xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 0 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.mesh_partition"(%x) <{dim = 0 : si32, cluster_axis = 0 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    func.return %0, %1 : tensor<8x4xbf16>, tensor<8x4xbf16>
  }

  // CHECK-LABEL: func.func @part_of_sum(
  // CHECK-NEXT: "ttir.reduce_scatter"(%{{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: func.return
  func.func @part_of_sum(%x: tensor<8x4xbf16>) -> tensor<4x4xbf16> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
    func.return %1 : tensor<4x4xbf16>
  }

  // The sum itself is needed too.
  // CHECK-LABEL: func.func @part_and_sum(
  // CHECK-NEXT: "ttir.all_reduce"
  // CHECK-NEXT: "ttir.mesh_partition"
  func.func @part_and_sum(%x: tensor<8x4xbf16>) -> (tensor<8x4xbf16>, tensor<4x4xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
    func.return %0, %1 : tensor<8x4xbf16>, tensor<4x4xbf16>
  }

  // Over two axes: the part is taken before the second sum.
  // CHECK-LABEL: func.func @part_of_two_sums(
  // CHECK-NEXT: %[[A:.*]] = "ttir.reduce_scatter"(%{{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 0 : si32, cluster_axis = 1 : ui32}>
  // CHECK-NEXT: "ttir.all_reduce"(%[[A]]) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 2 : ui32}> : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  func.func @part_of_two_sums(%x: tensor<8x4xbf16>) -> tensor<4x4xbf16> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.all_reduce"(%0) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %2 = "ttir.mesh_partition"(%1) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
    func.return %2 : tensor<4x4xbf16>
  }

  // CHECK-LABEL: func.func @slices(
  // CHECK-NEXT: %[[A:.*]] = "ttir.slice_static"
  // CHECK-NEXT: "ttir.all_reduce"(%[[A]]) {{.*}} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[B:.*]] = "ttir.slice_static"(%{{.*}}) <{begins = [0 : i32, 1 : i32], ends = [8 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<8x4xbf16>) -> tensor<8x2xbf16>
  // CHECK-NEXT: "ttir.all_gather"(%[[B]]) {{.*}} : (tensor<8x2xbf16>) -> tensor<16x2xbf16>
  // CHECK-NEXT: %[[C:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.slice_static"(%[[C]])
  func.func @slices(%x: tensor<8x4xbf16>) -> (tensor<2x4xbf16>, tensor<16x2xbf16>, tensor<9x4xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.slice_static"(%0) <{begins = [2 : i32, 0 : i32], ends = [4 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<8x4xbf16>) -> tensor<2x4xbf16>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
    %3 = "ttir.slice_static"(%2) <{begins = [0 : i32, 1 : i32], ends = [16 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<16x4xbf16>) -> tensor<16x2xbf16>
    %4 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
    %5 = "ttir.slice_static"(%4) <{begins = [0 : i32, 0 : i32], ends = [9 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<16x4xbf16>) -> tensor<9x4xbf16>
    func.return %1, %3, %5 : tensor<2x4xbf16>, tensor<16x2xbf16>, tensor<9x4xbf16>
  }

  // CHECK-LABEL: func.func @scattered_and_gathered(
  // CHECK-NEXT: "ttir.all_reduce"(%{{.*}}) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 2 : ui32}>
  // CHECK-NEXT: func.return
  func.func @scattered_and_gathered(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
    %0 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = -1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x1xbf16>
    %1 = "ttir.all_gather"(%0) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x1xbf16>) -> tensor<8x4xbf16>
    func.return %1 : tensor<8x4xbf16>
  }

  // Another dimension is gathered than was scattered.
  // CHECK-LABEL: func.func @transposed(
  // CHECK-NEXT: "ttir.reduce_scatter"
  // CHECK-NEXT: "ttir.all_gather"
  func.func @transposed(%x: tensor<8x4xbf16>) -> tensor<32x1xbf16> {
    %0 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x1xbf16>
    %1 = "ttir.all_gather"(%0) <{all_gather_dim = 0 : si32, cluster_axis = 2 : ui32}> : (tensor<8x1xbf16>) -> tensor<32x1xbf16>
    func.return %1 : tensor<32x1xbf16>
  }

  // CHECK-LABEL: func.func @parts_of_gathered(
  // CHECK-NEXT: "ttir.all_to_all"(%{{.*}}) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 4 : si32}> : (tensor<8x4xbf16>) -> tensor<2x16xbf16>
  // CHECK-NEXT: %[[P:.*]] = "ttir.mesh_partition"(%{{.*}}) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<4x4xbf16>
  // CHECK-NEXT: %[[G:.*]] = "ttir.all_gather"(%[[P]]) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<4x4xbf16>) -> tensor<4x16xbf16>
  // CHECK-NEXT: func.return %{{x|arg0|0|[a-z0-9]+}}, %{{.*}}, %[[G]]
  func.func @parts_of_gathered(%x: tensor<8x4xbf16>) -> (tensor<8x4xbf16>, tensor<2x16xbf16>, tensor<4x16xbf16>) {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x16xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x16xbf16>) -> tensor<8x4xbf16>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x16xbf16>
    %3 = "ttir.mesh_partition"(%2) <{dim = 0 : si32, cluster_axis = 2 : ui32}> : (tensor<8x16xbf16>) -> tensor<2x16xbf16>
    %4 = "ttir.all_gather"(%x) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x16xbf16>
    %5 = "ttir.mesh_partition"(%4) <{dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x16xbf16>) -> tensor<4x16xbf16>
    func.return %1, %3, %5 : tensor<8x4xbf16>, tensor<2x16xbf16>, tensor<4x16xbf16>
  }

  // The part along another axis is taken before the sum.
  // CHECK-LABEL: func.func @part_along_another_axis(
  // CHECK-NEXT: %[[P:.*]] = "ttir.mesh_partition"(%{{.*}}) <{dim = 0 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: "ttir.all_reduce"(%[[P]]) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}> : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: func.return
  func.func @part_along_another_axis(%x: tensor<8x4xbf16>) -> tensor<2x4xbf16> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<max>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 0 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<2x4xbf16>
    func.return %1 : tensor<2x4xbf16>
  }

  // All axes contain the axis of the sum, so chips of one sum would take different parts before it.
  // CHECK-LABEL: func.func @part_along_all_axes(
  // CHECK-NEXT: "ttir.all_reduce"(%{{.*}}) {{.*}} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // CHECK-NEXT: "ttir.mesh_partition"
  // CHECK-NEXT: func.return
  func.func @part_along_all_axes(%x: tensor<8x4xbf16>) -> tensor<1x4xbf16> {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 0 : si32}> : (tensor<8x4xbf16>) -> tensor<1x4xbf16>
    func.return %1 : tensor<1x4xbf16>
  }

  // Each result before a slice or a part is used once more, so a smaller op would be one op more.
  // CHECK-LABEL: func.func @results_that_are_used_twice(
  // CHECK-NEXT: %[[A:.*]] = "ttir.all_reduce"
  // CHECK-NEXT: %[[B:.*]] = "ttir.slice_static"(%[[A]])
  // CHECK-NEXT: %[[C:.*]] = "ttir.all_gather"
  // CHECK-NEXT: %[[D:.*]] = "ttir.slice_static"(%[[C]])
  // CHECK-NEXT: %[[E:.*]] = "ttir.mesh_partition"(%[[C]])
  // CHECK-NEXT: %[[F:.*]] = "ttir.reduce_scatter"
  // CHECK-NEXT: "ttir.all_gather"(%[[F]])
  // CHECK-NEXT: func.return
  func.func @results_that_are_used_twice(%x: tensor<8x4xbf16>) -> (tensor<8x4xbf16>, tensor<2x4xbf16>, tensor<32x4xbf16>, tensor<32x2xbf16>, tensor<32x2xbf16>, tensor<8x1xbf16>, tensor<8x4xbf16>) {
    %0 = "ttir.all_reduce"(%x) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.slice_static"(%0) <{begins = [2 : i32, 0 : i32], ends = [4 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<8x4xbf16>) -> tensor<2x4xbf16>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<32x4xbf16>
    %3 = "ttir.slice_static"(%2) <{begins = [0 : i32, 1 : i32], ends = [32 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<32x4xbf16>) -> tensor<32x2xbf16>
    %4 = "ttir.mesh_partition"(%2) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<32x4xbf16>) -> tensor<32x2xbf16>
    %5 = "ttir.reduce_scatter"(%x) <{reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x1xbf16>
    %6 = "ttir.all_gather"(%5) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x1xbf16>) -> tensor<8x4xbf16>
    func.return %0, %1, %2, %3, %4, %5, %6 : tensor<8x4xbf16>, tensor<2x4xbf16>, tensor<32x4xbf16>, tensor<32x2xbf16>, tensor<32x2xbf16>, tensor<8x1xbf16>, tensor<8x4xbf16>
  }

  // The same dimension is joined along one axis and split along another; another dimension is split along all axes.
  // CHECK-LABEL: func.func @parts_that_stay(
  // CHECK-NEXT: %[[A:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.mesh_partition"(%[[A]])
  // CHECK-NEXT: %[[B:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.mesh_partition"(%[[B]])
  // CHECK-NEXT: func.return
  func.func @parts_that_stay(%x: tensor<8x4xbf16>) -> (tensor<8x8xbf16>, tensor<1x16xbf16>) {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x16xbf16>
    %1 = "ttir.mesh_partition"(%0) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<8x16xbf16>) -> tensor<8x8xbf16>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 1 : si32, cluster_axis = 2 : ui32}> : (tensor<8x4xbf16>) -> tensor<8x16xbf16>
    %3 = "ttir.mesh_partition"(%2) <{dim = 0 : si32}> : (tensor<8x16xbf16>) -> tensor<1x16xbf16>
    func.return %1, %3 : tensor<8x8xbf16>, tensor<1x16xbf16>
  }

  // Slices that leave out the start, the end, or every second place of the gathered dimension.
  // CHECK-LABEL: func.func @slices_of_the_gathered_dimension(
  // CHECK-NEXT: %[[A:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.slice_static"(%[[A]])
  // CHECK-NEXT: %[[B:.*]] = "ttir.all_gather"
  // CHECK-NEXT: "ttir.slice_static"(%[[B]])
  // CHECK-NEXT: func.return
  func.func @slices_of_the_gathered_dimension(%x: tensor<8x4xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>) {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
    %1 = "ttir.slice_static"(%0) <{begins = [8 : i32, 0 : i32], ends = [16 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<16x4xbf16>) -> tensor<8x4xbf16>
    %2 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<8x4xbf16>) -> tensor<16x4xbf16>
    %3 = "ttir.slice_static"(%2) <{begins = [0 : i32, 0 : i32], ends = [16 : i32, 4 : i32], step = [2 : i32, 1 : i32]}> : (tensor<16x4xbf16>) -> tensor<8x4xbf16>
    func.return %1, %3 : tensor<8x4xbf16>, tensor<8x4xbf16>
  }

  // The slice leaves the gathered dimension whole.
  // CHECK-LABEL: func.func @gather_of_slice(
  // CHECK-NEXT: "ttir.slice_static"(%{{.*}}) <{begins = [0 : i32, 1 : i32], ends = [4 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<4x4xbf16>) -> tensor<4x2xbf16>
  // CHECK-NEXT: "ttir.all_gather"(%{{.*}}) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<4x2xbf16>) -> tensor<8x2xbf16>
  func.func @gather_of_slice(%x: tensor<4x4xbf16>) -> tensor<8x2xbf16> {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.slice_static"(%0) <{begins = [0 : i32, 1 : i32], ends = [8 : i32, 3 : i32], step = [1 : i32, 1 : i32]}> : (tensor<8x4xbf16>) -> tensor<8x2xbf16>
    func.return %1 : tensor<8x2xbf16>
  }

  // A slice of the gathered dimension itself stays.
  // CHECK-LABEL: func.func @gather_of_a_part(
  // CHECK-NEXT: "ttir.all_gather"
  // CHECK-NEXT: "ttir.slice_static"
  func.func @gather_of_a_part(%x: tensor<4x4xbf16>) -> tensor<6x4xbf16> {
    %0 = "ttir.all_gather"(%x) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}> : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
    %1 = "ttir.slice_static"(%0) <{begins = [1 : i32, 0 : i32], ends = [7 : i32, 4 : i32], step = [1 : i32, 1 : i32]}> : (tensor<8x4xbf16>) -> tensor<6x4xbf16>
    func.return %1 : tensor<6x4xbf16>
  }
}
