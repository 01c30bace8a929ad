"""Exchange between chips, and mixture of experts, whose tokens travel to the chips of their experts."""

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
    """The parts of all chips one after the other."""

    name = "ttir.all_gather"


@irdl_op_definition
class AllReduceOp(shared.AllReduce):
    """The reduction over all chips, on each of them."""

    name = "ttir.all_reduce"


@irdl_op_definition
class AllReduceAsyncOp(shared.AllReduce):
    """As ``all_reduce``, while the chips compute."""

    name = "ttir.all_reduce_async"


@irdl_op_definition
class ReduceScatterOp(shared.ReduceScatter):
    """The reduction over all chips, split over them."""

    name = "ttir.reduce_scatter"


@irdl_op_definition
class MeshPartitionOp(shared.MeshPartition):
    """Each chip's part of a tensor that all of them have."""

    name = "ttir.mesh_partition"


@irdl_op_definition
class MeshShardOp(abstract.TensorOp):
    """A whole tensor split over the mesh, or its parts joined: ``shard_dims`` names the dimension of the tensor for
    each axis of the mesh, -1 for none, and ``shard_shape`` into how many parts each dimension goes."""

    name = "ttir.mesh_shard"
    input = operand_def(TensorType)
    shard_type = prop_def(SHARD_TYPE)
    shard_direction = prop_def(SHARD_DIRECTION)
    shard_shape = prop_def(I64S)
    shard_dims = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        whole, parts = shape(self.input), self.shard_shape
        if self.shard_type is not MeshShardType.DEVICES:
            return whole
        self.need(len(parts) == len(whole) and min(parts, default=1) > 0, f"shard_shape {parts} does not fit {whole}")
        if self.shard_direction is MeshShardDirection.SHARD_TO_FULL:
            return tuple(size * count for size, count in zip(whole, parts, strict=True))
        self.need(
            all(size % count == 0 for size, count in zip(whole, parts, strict=True)), f"{whole} / {parts}: not whole"
        )
        return tuple(size // count for size, count in zip(whole, parts, strict=True))


@irdl_op_definition
class CollectivePermuteOp(abstract.LikeInput):
    """Each chip's tensor sent to the chip that ``source_target_pairs`` pairs it with."""

    name = "ttir.collective_permute"
    source_target_pairs = prop_def(ELEMENTS)

    def result_shape(self) -> shapes.Shape:
        pairs = self.source_target_pairs.type.get_shape()
        self.need(len(pairs) == 2 and pairs[1] == 2, f"source_target_pairs has shape {pairs}, expected (count, 2)")
        return shape(self.input)


@irdl_op_definition
class AllToAllOp(abstract.TensorOp):
    """Each chip's parts along ``split_dim`` to the other chips, joined there along ``concat_dim``."""

    name = "ttir.all_to_all"
    input = operand_def(TensorType)
    split_dim = prop_def(SI32)
    concat_dim = prop_def(SI32)
    split_count = prop_def(SI32)
    replica_groups = prop_def(ELEMENTS)

    def result_shape(self) -> shapes.Shape:
        whole, count = list(shape(self.input)), self.split_count
        (split,) = shapes.normalise_dims((self.split_dim,), len(whole))
        (join,) = shapes.normalise_dims((self.concat_dim,), len(whole))
        self.need(count > 0 and whole[split] % count == 0, f"{whole[split]} does not split into {count} parts")
        whole[split] //= count
        whole[join] *= count
        return tuple(whole)


@irdl_op_definition
class CollectiveBroadcastOp(abstract.LikeInput):
    """The tensor of the first chip of each group, on all of it."""

    name = "ttir.collective_broadcast"
    replica_groups = prop_def(ELEMENTS)

    def result_shape(self) -> shapes.Shape:
        groups = self.replica_groups.type.get_shape()
        self.need(len(groups) == 2, f"replica_groups has shape {groups}, expected rank 2")
        return shape(self.input)


@irdl_op_definition
class SparseMatmulOp(mixture.SparseMatmul):
    """Products with the experts that are in use."""

    name = "ttir.sparse_matmul"


@irdl_op_definition
class AllToAllDispatchOp(mixture.AllToAllDispatch):
    """Tokens to the chips of their experts."""

    name = "ttir.all_to_all_dispatch"


@irdl_op_definition
class AllToAllDispatchMetadataOp(mixture.AllToAllDispatchMetadata):
    """Tokens with their experts' numbers and scores to the chips of their experts."""

    name = "ttir.all_to_all_dispatch_metadata"


@irdl_op_definition
class AllToAllCombineOp(mixture.AllToAllCombine):
    """Experts' results back to their tokens."""

    name = "ttir.all_to_all_combine"


@irdl_op_definition
class SelectiveReduceCombineOp(abstract.TensorOp):
    """Experts' dense results summed for each token and sent back to its chip."""

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
        self.need(
            shape(self.result)[-1:] == (hidden,), f"result has shape {shape(self.result)}, expected ..., {hidden}"
        )


@irdl_op_definition
class MoeExpertTokenRemapOp(mixture.ExpertTokenRemap):
    """Scores as those of the chip's own experts."""

    name = "ttir.moe_expert_token_remap"


_COUNT_BYTES = 4
_L1_ALIGNMENT = 16


def _aligned(count: int) -> int:
    """How many 32-bit counts fit where ``count`` of them lie in L1."""
    return -(-count * _COUNT_BYTES // _L1_ALIGNMENT) * _L1_ALIGNMENT // _COUNT_BYTES


@irdl_op_definition
class MoeGptOp(abstract.ShapedOp):
    """Experts' gate, up and down projections in one kernel. Tokens T, hidden size H, E experts on a chip."""

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
        tokens, hidden = self.rank("input_tensor", 2)
        self.need(hidden == self.hidden_size, f"input_tensor has {hidden} columns, hidden_size is another")
        experts = self.rank("w0_w1_tensor", 6)[2]
        self.expect("expert_scores", shape(self.expert_indices))
        records = (tokens + 1) * _aligned(2 * experts + 1)
        return (1, _aligned(experts)), (1, records), (experts, (tokens + 1) * _aligned(1)), None, None


@irdl_op_definition
class MoeComputeOp(abstract.ShapedOp):
    """Experts' projections [L, E, H, N], [L, E, H, N] and [L, E, N, H] and the sum over each token's experts."""

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
        layers, experts, hidden, inner = self.rank("w0", 4)
        self.need(inner == self.intermediate_size, f"w0 has {inner} columns, intermediate_size is another")
        self.expect("w1", (layers, experts, hidden, inner))
        self.expect("w2", (layers, experts, inner, hidden))
        count = math.prod(shape(self.tilize_input_tensor)[:-1])
        self.need(shape(self.combine_output)[-1:] == (hidden,), f"combine_output does not end in {hidden} columns")
        self.need(count > 0, "there are no tokens")
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
