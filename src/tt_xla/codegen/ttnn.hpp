// TT-NN's headers, those that the release at hand has: operations move between headers from release to release.

#pragma once

#include "ttnn/device.hpp"
#include "ttnn/distributed/api.hpp"
#include "ttnn/distributed/distributed_tensor.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/tensor/serialization.hpp"
#include "ttnn/tensor/tensor.hpp"
#include "ttnn/types.hpp"

#if __has_include(<tt-metalium/experimental/fabric/fabric.hpp>)
#include <tt-metalium/experimental/fabric/fabric.hpp>
#elif __has_include(<tt-metalium/fabric.hpp>)
#include <tt-metalium/fabric.hpp>
#endif
#if __has_include("ttnn/operations/ccl/all_gather/all_gather.hpp")
#include "ttnn/operations/ccl/all_gather/all_gather.hpp"
#endif
#if __has_include("ttnn/operations/ccl/all_reduce/all_reduce.hpp")
#include "ttnn/operations/ccl/all_reduce/all_reduce.hpp"
#endif
#if __has_include("ttnn/operations/ccl/mesh_partition/mesh_partition.hpp")
#include "ttnn/operations/ccl/mesh_partition/mesh_partition.hpp"
#endif
#if __has_include("ttnn/operations/ccl/reduce_scatter/reduce_scatter.hpp")
#include "ttnn/operations/ccl/reduce_scatter/reduce_scatter.hpp"
#endif
#if __has_include("ttnn/operations/point_to_point/point_to_point.hpp")
#include "ttnn/operations/point_to_point/point_to_point.hpp"
#endif
#if __has_include("ttnn/operations/conv/conv2d/conv2d.hpp")
#include "ttnn/operations/conv/conv2d/conv2d.hpp"
#endif
#if __has_include("ttnn/operations/conv/conv2d/prepare_conv2d_weights.hpp")
#include "ttnn/operations/conv/conv2d/prepare_conv2d_weights.hpp"
#endif
#if __has_include("ttnn/operations/conv/conv_transpose2d/conv_transpose2d.hpp")
#include "ttnn/operations/conv/conv_transpose2d/conv_transpose2d.hpp"
#endif
#if __has_include("ttnn/operations/conv/conv_transpose2d/prepare_conv_transpose2d_weights.hpp")
#include "ttnn/operations/conv/conv_transpose2d/prepare_conv_transpose2d_weights.hpp"
#endif
#if __has_include("ttnn/operations/copy/typecast/typecast.hpp")
#include "ttnn/operations/copy/typecast/typecast.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/bitcast/bitcast.hpp")
#include "ttnn/operations/data_movement/bitcast/bitcast.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/clone/clone.hpp")
#include "ttnn/operations/data_movement/clone/clone.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/concat/concat.hpp")
#include "ttnn/operations/data_movement/concat/concat.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/copy/copy.hpp")
#include "ttnn/operations/data_movement/copy/copy.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/gather/gather.hpp")
#include "ttnn/operations/data_movement/gather/gather.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/pad/pad.hpp")
#include "ttnn/operations/data_movement/pad/pad.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/permute/permute.hpp")
#include "ttnn/operations/data_movement/permute/permute.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/repeat/repeat.hpp")
#include "ttnn/operations/data_movement/repeat/repeat.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/reshape_view/reshape.hpp")
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/scatter/scatter.hpp")
#include "ttnn/operations/data_movement/scatter/scatter.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/slice/slice.hpp")
#include "ttnn/operations/data_movement/slice/slice.hpp"
#endif
#if __has_include("ttnn/operations/data_movement/sort/sort.hpp")
#include "ttnn/operations/data_movement/sort/sort.hpp"
#endif
#if __has_include("ttnn/operations/eltwise/binary/binary_composite.hpp")
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#endif
#if __has_include("ttnn/operations/eltwise/ternary/ternary.hpp")
#include "ttnn/operations/eltwise/ternary/ternary.hpp"
#endif
#if __has_include("ttnn/operations/eltwise/unary/unary_composite.hpp")
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"
#endif
#if __has_include("ttnn/operations/embedding/embedding.hpp")
#include "ttnn/operations/embedding/embedding.hpp"
#endif
#if __has_include("ttnn/operations/experimental/paged_cache/paged_cache.hpp")
#include "ttnn/operations/experimental/paged_cache/paged_cache.hpp"
#endif
#if __has_include("ttnn/operations/experimental/transformer/rotary_embedding/rotary_embedding.hpp")
#include "ttnn/operations/experimental/transformer/rotary_embedding/rotary_embedding.hpp"
#endif
#if __has_include("ttnn/operations/kv_cache/kv_cache.hpp")
#include "ttnn/operations/kv_cache/kv_cache.hpp"
#endif
#if __has_include("ttnn/operations/normalization/layernorm/layernorm.hpp")
#include "ttnn/operations/normalization/layernorm/layernorm.hpp"
#endif
#if __has_include("ttnn/operations/normalization/rmsnorm/rmsnorm.hpp")
#include "ttnn/operations/normalization/rmsnorm/rmsnorm.hpp"
#endif
#if __has_include("ttnn/operations/normalization/softmax/softmax.hpp")
#include "ttnn/operations/normalization/softmax/softmax.hpp"
#endif
#if __has_include("ttnn/operations/pool/generic/generic_pools.hpp")
#include "ttnn/operations/pool/generic/generic_pools.hpp"
#endif
#if __has_include("ttnn/operations/reduction/accumulation/cumsum/cumsum.hpp")
#include "ttnn/operations/reduction/accumulation/cumsum/cumsum.hpp"
#endif
#if __has_include("ttnn/operations/reduction/argmax/argmax.hpp")
#include "ttnn/operations/reduction/argmax/argmax.hpp"
#endif
#if __has_include("ttnn/operations/reduction/generic/generic_reductions.hpp")
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"
#endif
#if __has_include("ttnn/operations/reduction/prod/prod.hpp")
#include "ttnn/operations/reduction/prod/prod.hpp"
#endif
#if __has_include("ttnn/operations/reduction/topk/topk.hpp")
#include "ttnn/operations/reduction/topk/topk.hpp"
#endif
#if __has_include("ttnn/operations/transformer/concatenate_heads/concatenate_heads.hpp")
#include "ttnn/operations/transformer/concatenate_heads/concatenate_heads.hpp"
#endif
#if __has_include("ttnn/operations/transformer/sdpa/sdpa.hpp")
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"
#endif
#if __has_include("ttnn/operations/transformer/split_query_key_value_and_split_heads/split_query_key_value_and_split_heads.hpp")
#include "ttnn/operations/transformer/split_query_key_value_and_split_heads/split_query_key_value_and_split_heads.hpp"
#endif
