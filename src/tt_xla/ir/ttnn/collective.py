"""Collective ops between chips, and mixture of experts. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from tt_xla.ir import abstract, shapes
from tt_xla.ir.abstract import collective as shared
from tt_xla.ir.abstract import mixture
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, I64S, SI32, STR, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ranks import rows_of
from tt_xla.ir.ttcore import MOE_ACTIVATION, TOPOLOGY, MoEActivation
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.base import ComputeOp, TTNNOp
from tt_xla.ir.ttnn.configs import CORE_RANGE_SET, MATMUL_1D_CONFIG, MESH_COMPOSER, MESH_MAPPER


class _Links(TTNNOp, ABC):
    """The properties that say how an exchange runs; absent ones are left to TT-NN.

    Those from ``process_group`` on are ours. An op has them where ranks of ``torch.distributed`` take part, which run
    programs of their own (:mod:`tt_xla.ir.ranks`). It has ``effects`` then: it runs as often and in the same order as
    in the source, because the other ranks wait for it.
    """

    sub_device_id = opt_prop_def(UI32)
    num_links = opt_prop_def(UI32)
    topology = opt_prop_def(TOPOLOGY)
    process_group = opt_prop_def(STR)
    ranks = opt_prop_def(UI32)
    chips = opt_prop_def(I64S)
    element_type = opt_prop_def(STR)
    effects = opt_prop_def(BOOL)


@irdl_op_definition
class AllGatherOp(_Links, shared.AllGather):
    """Joins the tensors of all chips."""

    name = "ttnn.all_gather"


@irdl_op_definition
class AllReduceOp(_Links, shared.AllReduce):
    """Reduces over all chips; each chip has the result."""

    name = "ttnn.all_reduce"


@irdl_op_definition
class AllReduceAsyncOp(_Links, shared.AllReduce):
    """Does the same as ``all_reduce``, while the chips compute."""

    name = "ttnn.all_reduce_async"


@irdl_op_definition
class ReduceScatterOp(_Links, ComputeOp, shared.ReduceScatter):
    """Reduces over all chips; each chip has its part of the result."""

    name = "ttnn.reduce_scatter"


@irdl_op_definition
class AllToAllOp(_Links, abstract.TensorOp):
    """Sends each chip's parts along ``split_dim`` to the other chips, which join them along ``concat_dim``.

    Ours: it stands for ``ttnn.experimental.all_to_all_async_generic``, for which upstream's dialect has no op.
    """

    name = "ttnn.all_to_all"
    input = operand_def(TensorType)
    split_dim = prop_def(SI32)
    concat_dim = prop_def(SI32)
    cluster_axis = prop_def(UI32)
    sent = opt_prop_def(I64S)
    """Sizes of the parts for each rank of ``torch.distributed``, where they differ."""
    received = opt_prop_def(I64S)
    """Sizes of the parts that each rank sends to this one, where they differ."""

    def result_shape(self) -> shapes.Shape:
        before, after = list(shape(self.input)), shape(self.result)
        if self.received is not None:
            return (rows_of(self.received), *before[1:])
        self.require(len(after) == len(before), f"result has shape {after}, expected the rank of {tuple(before)}")
        (split,) = shapes.normalise_dims((self.split_dim,), len(before))
        (join,) = shapes.normalise_dims((self.concat_dim,), len(before))
        if split != join:
            self.require(
                after[split] > 0 and before[split] % after[split] == 0,
                f"result has size {after[split]} along split_dim, expected a divisor of {before[split]}",
            )
            before[join] *= before[split] // after[split]
            before[split] = after[split]
        return tuple(before)


@irdl_op_definition
class BroadcastOp(_Links, abstract.LikeInput):
    """Sends the tensor of the rank ``root`` to all others.

    Ours: it stands for ``ttnn.broadcast``, for which upstream's dialect has no op.
    """

    name = "ttnn.broadcast"
    input = operand_def(TensorType)
    root = prop_def(UI32)
    cluster_axis = prop_def(UI32)


@irdl_op_definition
class MeshPartitionOp(TTNNOp, shared.MeshPartition):
    """Takes each chip's part of a tensor that all chips have."""

    name = "ttnn.mesh_partition"


@irdl_op_definition
class PointToPointOp(TTNNOp, abstract.LikeInput):
    """Sends the tensor of one chip to another; both are given by their place along each axis of the mesh."""

    name = "ttnn.point_to_point"
    input = operand_def(TensorType)
    optional_output_tensor = opt_operand_def(TensorType)
    sender_coord = prop_def(I64S)
    receiver_coord = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        for name, place in (("sender_coord", self.sender_coord), ("receiver_coord", self.receiver_coord)):
            self.require(len(place) >= 2, f"{name} {place} has {len(place)} entries, expected at least row and column")
        self.expect_shape("optional_output_tensor", shape(self.input))
        return shape(self.input)


@irdl_op_definition
class DistributeTensorOp(TTNNOp, abstract.TensorOp):
    """Spreads a host tensor over a mesh as ``mapper_config`` says."""

    name = "ttnn.distribute_tensor"
    input = operand_def(TensorType)
    mesh_device = operand_def(DeviceType)
    mapper_config = prop_def(MESH_MAPPER)
    cq_id = opt_prop_def(UI32)

    def result_shape(self) -> None:
        same = len(shape(self.input)) == len(shape(self.result))
        self.require(same, f"result has shape {shape(self.result)}, expected the rank of {shape(self.input)}")


@irdl_op_definition
class AggregateTensorOp(TTNNOp, abstract.TensorOp):
    """Joins the shards of a tensor on the host as ``composer_config`` says."""

    name = "ttnn.aggregate_tensor"
    input = operand_def(TensorType)
    mesh_device = operand_def(DeviceType)
    composer_config = prop_def(MESH_COMPOSER)

    def result_shape(self) -> None:
        same = len(shape(self.input)) == len(shape(self.result))
        self.require(same, f"result has shape {shape(self.result)}, expected the rank of {shape(self.input)}")


@irdl_op_definition
class SparseMatmulOp(ComputeOp, mixture.SparseMatmul):
    """Multiplies by the experts that are in use."""

    name = "ttnn.sparse_matmul"
    program_config = opt_prop_def(MATMUL_1D_CONFIG)


@irdl_op_definition
class AllToAllDispatchOp(TTNNOp, mixture.AllToAllDispatch):
    """Sends tokens to the chips of their experts."""

    name = "ttnn.all_to_all_dispatch"


@irdl_op_definition
class AllToAllDispatchMetadataOp(TTNNOp, mixture.AllToAllDispatchMetadata):
    """Sends tokens, with numbers and scores of their experts, to the chips of these."""

    name = "ttnn.all_to_all_dispatch_metadata"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input_tensor = operand_def(TensorType)
    expert_indices = operand_def(TensorType)
    expert_scores = operand_def(TensorType)
    expert_mapping = operand_def(TensorType)
    dispatched_buffer = opt_operand_def(TensorType)
    indices_buffer = opt_operand_def(TensorType)
    scores_buffer = opt_operand_def(TensorType)
    cross_device_semaphore = opt_operand_def()


@irdl_op_definition
class AllToAllCombineOp(TTNNOp, mixture.AllToAllCombine):
    """Sends the experts' results back to their tokens."""

    name = "ttnn.all_to_all_combine"


@irdl_op_definition
class MoeExpertTokenRemapOp(TTNNOp, mixture.ExpertTokenRemap):
    """Selects the scores of the chip's own experts."""

    name = "ttnn.moe_expert_token_remap"


@irdl_op_definition
class MoeComputeOp(TTNNOp, abstract.ShapedOp):
    """Computes the experts' projections and sums over each token's experts.

    The weights are in the order of TT-NN's kernel.
    """

    name = "ttnn.moe_compute"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    tilize_input_tensor = operand_def(TensorType)
    tilize_expert_indices_tensor = operand_def(TensorType)
    tilize_expert_scores_tensor = operand_def(TensorType)
    tilize_expert_mapping_tensor = operand_def(TensorType)
    matmul_w0_w1_tensor = operand_def(TensorType)
    matmul_w2_tensor = operand_def(TensorType)
    optional_output_tensor = opt_operand_def(TensorType)
    cross_device_semaphore = opt_operand_def()
    device = operand_def(DeviceType)
    layer_id = prop_def(UI32)
    output_height_shard_dim = prop_def(UI32)
    intermediate_size = prop_def(UI32)
    has_bias = prop_def(BOOL)
    activation_function = defaulted(MOE_ACTIVATION, MoEActivation.SILU)
    cluster_axis = prop_def(UI32)
    num_links = opt_prop_def(UI32)
    topology = opt_prop_def(TOPOLOGY)
    mux_core_range_set = prop_def(CORE_RANGE_SET)
    combine_output = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        hidden, output = shape(self.tilize_input_tensor)[-1:], shape(self.combine_output)
        self.require(output[-1:] == hidden, f"combine_output has shape {output}, expected {hidden} columns")
        self.expect_shape("optional_output_tensor", output)
        return ()


OPS = (
    AllGatherOp,
    AllReduceOp,
    AllReduceAsyncOp,
    ReduceScatterOp,
    AllToAllOp,
    BroadcastOp,
    MeshPartitionOp,
    PointToPointOp,
    DistributeTensorOp,
    AggregateTensorOp,
    SparseMatmulOp,
    AllToAllDispatchOp,
    AllToAllDispatchMetadataOp,
    AllToAllCombineOp,
    MoeExpertTokenRemapOp,
    MoeComputeOp,
)
