"""Collective ops between chips, and mixture of experts, whose tokens travel to the chips of their experts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from tt_xla.ir import abstract, shapes
from tt_xla.ir.abstract import collective as shared
from tt_xla.ir.abstract import mixture
from tt_xla.ir.base import shape
from tt_xla.ir.properties import ELEMENTS, I64S, SI32, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttcore import (
    MOE_ACTIVATION,
    SHARD_DIRECTION,
    SHARD_TYPE,
    MeshShardDirection,
    MeshShardType,
    MoEActivation,
)


@irdl_op_definition
class AllGatherOp(shared.AllGather):
    """Joins the tensors of all chips."""

    name = "ttir.all_gather"


@irdl_op_definition
class AllReduceOp(shared.AllReduce):
    """Reduces over all chips; each chip has the result."""

    name = "ttir.all_reduce"


@irdl_op_definition
class AllReduceAsyncOp(shared.AllReduce):
    """Does the same as ``all_reduce``, while the chips compute."""

    name = "ttir.all_reduce_async"


@irdl_op_definition
class ReduceScatterOp(shared.ReduceScatter):
    """Reduces over all chips; each chip has its part of the result."""

    name = "ttir.reduce_scatter"


@irdl_op_definition
class MeshPartitionOp(shared.MeshPartition):
    """Takes each chip's part of a tensor that all chips have."""

    name = "ttir.mesh_partition"


@irdl_op_definition
class MeshShardOp(abstract.TensorOp):
    """Splits a tensor over the mesh, or joins its shards.

    ``shard_dims`` gives the dimension of the tensor for each axis of the mesh, -1 for none; ``shard_shape`` gives the
    number of shards along each dimension.
    """

    name = "ttir.mesh_shard"
    input = operand_def(TensorType)
    shard_type = prop_def(SHARD_TYPE)
    shard_direction = prop_def(SHARD_DIRECTION)
    shard_shape = prop_def(I64S)
    shard_dims = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        sizes, counts = shape(self.input), self.shard_shape
        if self.shard_type is not MeshShardType.DEVICES:
            return sizes
        self.require(
            len(counts) == len(sizes) and min(counts, default=1) > 0,
            f"shard_shape {counts} does not fit shape {sizes}: expected a positive number for each dimension",
        )
        if self.shard_direction is MeshShardDirection.SHARD_TO_FULL:
            return tuple(size * count for size, count in zip(sizes, counts, strict=True))
        self.require(
            all(size % count == 0 for size, count in zip(sizes, counts, strict=True)),
            f"shard_shape {counts} does not divide shape {sizes}",
        )
        return tuple(size // count for size, count in zip(sizes, counts, strict=True))


@irdl_op_definition
class CollectivePermuteOp(abstract.LikeInput):
    """Sends each chip's tensor to the chip that ``source_target_pairs`` pairs it with."""

    name = "ttir.collective_permute"
    source_target_pairs = prop_def(ELEMENTS)

    def result_shape(self) -> shapes.Shape:
        pairs = self.source_target_pairs.type.get_shape()
        self.require(len(pairs) == 2 and pairs[1] == 2, f"source_target_pairs has shape {pairs}, expected (count, 2)")
        return shape(self.input)


@irdl_op_definition
class AllToAllOp(abstract.TensorOp):
    """Sends each chip's parts along ``split_dim`` to the other chips, which join them along ``concat_dim``."""

    name = "ttir.all_to_all"
    input = operand_def(TensorType)
    split_dim = prop_def(SI32)
    concat_dim = prop_def(SI32)
    split_count = prop_def(SI32)
    replica_groups = prop_def(ELEMENTS)

    def result_shape(self) -> shapes.Shape:
        input_shape, count = list(shape(self.input)), self.split_count
        (split,) = shapes.normalise_dims((self.split_dim,), len(input_shape))
        (join,) = shapes.normalise_dims((self.concat_dim,), len(input_shape))
        self.require(
            count > 0 and input_shape[split] % count == 0, f"{input_shape[split]} does not split into {count} parts"
        )
        input_shape[split] //= count
        input_shape[join] *= count
        return tuple(input_shape)


@irdl_op_definition
class CollectiveBroadcastOp(abstract.LikeInput):
    """Copies the tensor of the first chip of each group to all chips of the group."""

    name = "ttir.collective_broadcast"
    replica_groups = prop_def(ELEMENTS)

    def result_shape(self) -> shapes.Shape:
        groups = self.replica_groups.type.get_shape()
        self.require(len(groups) == 2, f"replica_groups has shape {groups}, expected rank 2")
        return shape(self.input)


@irdl_op_definition
class SparseMatmulOp(mixture.SparseMatmul):
    """Multiplies by the experts that are in use."""

    name = "ttir.sparse_matmul"


@irdl_op_definition
class AllToAllDispatchOp(mixture.AllToAllDispatch):
    """Sends tokens to the chips of their experts."""

    name = "ttir.all_to_all_dispatch"


@irdl_op_definition
class AllToAllDispatchMetadataOp(mixture.AllToAllDispatchMetadata):
    """Sends tokens, with numbers and scores of their experts, to the chips of these."""

    name = "ttir.all_to_all_dispatch_metadata"


@irdl_op_definition
class AllToAllCombineOp(mixture.AllToAllCombine):
    """Sends the experts' results back to their tokens."""

    name = "ttir.all_to_all_combine"


@irdl_op_definition
class SelectiveReduceCombineOp(abstract.TensorOp):
    """Sums the experts' dense results for each token and sends the sum back to the token's chip."""

    name = "ttir.selective_reduce_combine"
    dense_input_tensor = operand_def(TensorType)
    dense_activations_tensor = operand_def(TensorType)
    dense_token_maps_tensor = operand_def(TensorType)
    dense_token_counts_tensor = operand_def(TensorType)
    hidden_size = prop_def(UI32)
    batch_size = prop_def(UI32)
    seq_size = prop_def(UI32)
    select_experts_k = prop_def(UI32)
    experts = prop_def(UI32)

    def result_shape(self) -> None:
        hidden = self.hidden_size
        self.require(
            shape(self.result)[-1:] == (hidden,), f"result has shape {shape(self.result)}, expected ..., {hidden}"
        )


@irdl_op_definition
class MoeExpertTokenRemapOp(mixture.ExpertTokenRemap):
    """Selects the scores of the chip's own experts."""

    name = "ttir.moe_expert_token_remap"


_COUNT_BYTES = 4
_L1_ALIGNMENT = 16


def _aligned(count: int) -> int:
    """Returns ``count`` 32-bit counts, rounded up to the alignment of L1."""
    return -(-count * _COUNT_BYTES // _L1_ALIGNMENT) * _L1_ALIGNMENT // _COUNT_BYTES


@irdl_op_definition
class MoeGptOp(abstract.ShapedOp):
    """Computes the experts' gate, up and down projections in one kernel, for T tokens and E experts on a chip."""

    name = "ttir.moe_gpt"
    input_tensor = operand_def(TensorType)
    expert_indices = operand_def(TensorType)
    expert_scores = operand_def(TensorType)
    expert_mapping = operand_def(TensorType)
    w0_w1_tensor = operand_def(TensorType)
    w2_tensor = operand_def(TensorType)
    output_height_shard_dim = defaulted(UI32, 4)
    output_width_shard_dim = defaulted(UI32, 3)
    hidden_size = defaulted(UI32, 2880)
    cluster_axis = opt_prop_def(UI32)
    token_counts = result_def(TensorType)
    activation_records = result_def(TensorType)
    token_indices = result_def(TensorType)
    tilize_out = result_def(TensorType)
    tilize_out_rm = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape | None]:
        tokens, hidden = self.shape_of_rank("input_tensor", 2)
        self.require(
            hidden == self.hidden_size, f"input_tensor has {hidden} columns, expected hidden_size, {self.hidden_size}"
        )
        experts = self.shape_of_rank("w0_w1_tensor", 6)[2]
        self.expect_shape("expert_scores", shape(self.expert_indices))
        records = (tokens + 1) * _aligned(2 * experts + 1)
        return (1, _aligned(experts)), (1, records), (experts, (tokens + 1) * _aligned(1)), None, None


@irdl_op_definition
class MoeComputeOp(abstract.ShapedOp):
    """Computes the experts' projections [L, E, H, N], [L, E, H, N], [L, E, N, H] and sums over each token's experts."""

    name = "ttir.moe_compute"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    tilize_input_tensor = operand_def(TensorType)
    tilize_expert_indices_tensor = operand_def(TensorType)
    tilize_expert_scores_tensor = operand_def(TensorType)
    tilize_expert_mapping_tensor = operand_def(TensorType)
    w0 = operand_def(TensorType)
    w1 = operand_def(TensorType)
    w2 = operand_def(TensorType)
    bias_0 = opt_operand_def(TensorType)
    bias_1 = opt_operand_def(TensorType)
    bias_2 = opt_operand_def(TensorType)
    layer_id = prop_def(UI32)
    output_height_shard_dim = prop_def(UI32)
    intermediate_size = prop_def(UI32)
    activation_function = defaulted(MOE_ACTIVATION, MoEActivation.SILU)
    cluster_axis = prop_def(UI32)
    combine_output = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        layers, experts, hidden, inner = self.shape_of_rank("w0", 4)
        self.require(
            inner == self.intermediate_size,
            f"w0 has {inner} columns, expected intermediate_size, {self.intermediate_size}",
        )
        self.expect_shape("w1", (layers, experts, hidden, inner))
        self.expect_shape("w2", (layers, experts, inner, hidden))
        count = math.prod(shape(self.tilize_input_tensor)[:-1])
        self.require(
            shape(self.combine_output)[-1:] == (hidden,),
            f"combine_output has shape {shape(self.combine_output)}, expected {hidden} columns",
        )
        self.require(
            count > 0, f"tilize_input_tensor has shape {shape(self.tilize_input_tensor)}, expected at least one token"
        )
        return ()


OPS = (
    AllGatherOp,
    AllReduceOp,
    AllReduceAsyncOp,
    ReduceScatterOp,
    MeshPartitionOp,
    MeshShardOp,
    CollectivePermuteOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    SparseMatmulOp,
    AllToAllDispatchOp,
    AllToAllDispatchMetadataOp,
    AllToAllCombineOp,
    SelectiveReduceCombineOp,
    MoeExpertTokenRemapOp,
    MoeGptOp,
    MoeComputeOp,
)
