// RUN: roundtrip

// Each data type, in tiles.
// CHECK: #l1 = #ttnn.buffer_type<l1>
// CHECK: #dram = #ttnn.buffer_type<dram>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, bfp_bf4>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, u8>, #dram>, <interleaved>>
// CHECK-DAG: memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
#dram = #ttnn.buffer_type<dram>
#l1 = #ttnn.buffer_type<l1>
#host = #ttnn.buffer_type<system_memory>
#bf16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#f32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#bfp8 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#bfp4 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bfp_bf4>, #dram>, <interleaved>>
#u32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, u32>, #dram>, <interleaved>>
#u16 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, u16>, #dram>, <interleaved>>
#u8 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, u8>, #dram>, <interleaved>>
#si32 = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, si32>, #dram>, <interleaved>>
// Places and forms.
// CHECK-DAG: (d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #dram>, <interleaved>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #system_memory>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <4x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <1x2>, memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>>
// CHECK-DAG: (d0, d1) -> (d0, d1), <2x2>, memref<2x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>>
// CHECK-DAG: (d0, d1, d2, d3) -> (d0 * 832 + d1 * 32 + d2, d3), <1x1>, memref<1664x1x!ttcore.tile<32x32, bf16>
// CHECK-DAG: (d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#row = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #dram>, <interleaved>>
#hostrow = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x40xbf16, #host>>
#l1all = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
#height = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <4x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>>
#width = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x2>, memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>>
#block = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x2>, memref<2x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>>
#deep = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 832 + d1 * 32 + d2, d3), <1x1>, memref<1664x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#flat = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK-LABEL: func.func @data_types(
func.func @data_types(%0: tensor<3x40xbf16, #bf16>) -> tensor<3x40xf32, #f32> {
  // CHECK: "ttnn.typecast"(%{{.*}}) : (tensor<3x40xbf16, #ttnn_layout{{[0-9]*}}>) -> tensor<3x40xf32, #ttnn_layout
  %1 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xf32, #f32>
  // CHECK-NEXT: -> tensor<3x40xbf16, #ttnn_layout
  %2 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #bfp8>
  // CHECK-NEXT: -> tensor<3x40xbf16, #ttnn_layout
  %3 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #bfp4>
  // CHECK-NEXT: -> tensor<3x40xui32, #ttnn_layout
  %4 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xui32, #u32>
  // CHECK-NEXT: -> tensor<3x40xui16, #ttnn_layout
  %5 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xui16, #u16>
  // CHECK-NEXT: -> tensor<3x40xui8, #ttnn_layout
  %6 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xui8, #u8>
  // CHECK-NEXT: -> tensor<3x40xsi32, #ttnn_layout
  %7 = "ttnn.typecast"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xsi32, #si32>
  func.return %1 : tensor<3x40xf32, #f32>
}

// CHECK-LABEL: func.func @places(
func.func @places(%0: tensor<3x40xbf16, #bf16>, %1: tensor<128x64xbf16, #height>, %2: tensor<40xbf16, #flat>) -> tensor<64x26x26x32xbf16, #deep> {
  %3 = "ttnn.to_layout"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #row>
  %4 = "ttnn.from_device"(%3) : (tensor<3x40xbf16, #row>) -> tensor<3x40xbf16, #hostrow>
  %5 = "ttnn.to_memory_config"(%0) : (tensor<3x40xbf16, #bf16>) -> tensor<3x40xbf16, #l1all>
  %6 = "ttnn.to_memory_config"(%1) : (tensor<128x64xbf16, #height>) -> tensor<128x64xbf16, #width>
  %7 = "ttnn.to_memory_config"(%6) : (tensor<128x64xbf16, #width>) -> tensor<128x64xbf16, #block>
  %8 = "ttnn.get_device"() : () -> !ttnn.device
  // CHECK: "ttnn.full"(%{{.*}}) <{shape = #ttnn.shape<64x26x26x32>, fill_value = 5.000000e-01 : f32}> : (!ttnn.device) ->
  %9 = "ttnn.full"(%8) <{shape = #ttnn.shape<64x26x26x32>, fill_value = 0.5 : f32}> : (!ttnn.device) -> tensor<64x26x26x32xbf16, #deep>
  func.return %9 : tensor<64x26x26x32xbf16, #deep>
}

// CHECK-LABEL: func.func @others(
// CHECK-SAME: bits = [#ttnn.device_compute_kernel_config<>, #ttnn.device_compute_kernel_config<math_fidelity = lofi, math_approx_mode = true, fp32_dest_acc_en = false, packer_l1_acc = true>, #ttnn.device_compute_kernel_config<math_fidelity = hifi3>]
// CHECK-SAME: conv = [#ttnn.conv2d_config<>, #ttnn.conv2d_config<weights_dtype = bfp_bf8, activation = <op_type = relu6>, deallocate_activation = true, reallocate_halo_output = false, act_block_h_override = 64, enable_kernel_stride_folding = false, config_tensors_in_dram = true>]
// CHECK-SAME: layouts = [#ttnn.layout<tile>, #ttnn.layout<row_major>]
// CHECK-SAME: shapes = [#ttnn.shape<>, #ttnn.shape<7>, #ttnn.shape<1x32x1x4>]
func.func @others() attributes {
  bits = [#ttnn.device_compute_kernel_config<>, #ttnn.device_compute_kernel_config<fp32_dest_acc_en = false, math_fidelity = lofi, packer_l1_acc = true, math_approx_mode = true>, #ttnn.device_compute_kernel_config<math_fidelity = hifi3>],
  conv = [#ttnn.conv2d_config<>, #ttnn.conv2d_config<activation = <op_type = relu6>, weights_dtype = bfp_bf8, deallocate_activation = true, reallocate_halo_output = false, act_block_h_override = 64, enable_kernel_stride_folding = false, config_tensors_in_dram = true>],
  layouts = [#ttnn.layout<tile>, #ttnn.layout<row_major>],
  shapes = [#ttnn.shape<>, #ttnn.shape<7>, #ttnn.shape<1x32x1x4>]
} {
  func.return
}

// CHECK-LABEL: func.func @configs(
// CHECK-SAME: cores = [#ttnn.core_coord<11, 10>, #ttnn.core_range<(0,0), (7,1)>, #ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,1)>, #ttnn.core_range<(0,2), (3,2)>]>, #ttnn.core_range_set<>]
// CHECK-SAME: mesh = [#ttnn<mesh_shape 2x4>, #ttnn<mesh_offset 0x1>, #ttnn.mesh_mapper_config<placements = [<replicate>]>, #ttnn.mesh_composer_config<dims = [0 : i64]>]
// CHECK-SAME: memory = [#ttnn.memory_config<#ttnn.buffer_type<system_memory>>, #ttnn.memory_config<#ttnn.buffer_type<l1>, <height_sharded>, <<[#ttnn.core_range<(0,0), (7,0)>]>, <32x64>, <row_major>>>]
// CHECK-SAME: shards = [#ttnn.shard_spec<<[#ttnn.core_range<(0,0), (7,0)>]>, <32x64>, <col_major>>, #ttnn.shard_orientation<row_major>, #ttnn.tensor_memory_layout<block_sharded>]
// CHECK-SAME: functions = [#ttnn.unary_with_param<op_type = relu>, #ttnn.unary_with_param<op_type = leaky_relu, params = [1.000000e-01 : f32]>]
// CHECK-SAME: attention = #ttnn.sdpa_program_config<compute_with_storage_grid_size = <8, 8>, q_chunk_size = 32, k_chunk_size = 64, exp_approx_mode = false>
// CHECK-SAME: norm = #ttnn.layernorm_sharded_multicore_program_config<compute_with_storage_grid_size = <8, 1>, subblock_w = 1, block_h = 1, block_w = 2, inplace = false>
// CHECK-SAME: slices = [#ttnn.conv2d_slice_config<dram_width, 4>, #ttnn.conv3d_config<weights_dtype = bf16, c_in_block = 32>]
func.func @configs() attributes {
  cores = [#ttnn.core_coord<11, 10>, #ttnn.core_range<(0,0), (7,1)>, #ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,1)>, #ttnn.core_range<(0,2), (3,2)>]>, #ttnn.core_range_set<>],
  mesh = [#ttnn<mesh_shape 2x4>, #ttnn<mesh_offset 0x1>, #ttnn.mesh_mapper_config<placements = [<replicate>]>, #ttnn.mesh_composer_config<dims = [0 : i64]>],
  memory = [#ttnn.memory_config<#ttnn.buffer_type<system_memory>>, #ttnn.memory_config<<l1>, <height_sharded>, #ttnn.shard_spec<<[#ttnn.core_range<(0,0), (7,0)>]>, <32x64>, <row_major>>>],
  shards = [#ttnn.shard_spec<#ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,0)>]>, <32x64>, <col_major>>, #ttnn.shard_orientation<row_major>, #ttnn.tensor_memory_layout<block_sharded>],
  functions = [#ttnn.unary_with_param<op_type = relu>, #ttnn.unary_with_param<op_type = leaky_relu, params = [1.000000e-01 : f32]>],
  attention = #ttnn.sdpa_program_config<compute_with_storage_grid_size = #ttnn.core_coord<8, 8>, q_chunk_size = 32, k_chunk_size = 64, exp_approx_mode = false>,
  norm = #ttnn.layernorm_sharded_multicore_program_config<compute_with_storage_grid_size = <8, 1>, subblock_w = 1, block_h = 1, block_w = 2, inplace = false>,
  slices = [#ttnn.conv2d_slice_config<dram_width, 4>, #ttnn.conv3d_config<c_in_block = 32, weights_dtype = bf16>]
} {
  func.return
}
