"""Exchanges of mixtures of experts and of attention states, whose kernels compute the results of a group of chips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.configs import Config
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.collective import mesh_of_operand
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.shapes import MeshCoordinate


def _check_rows(name: str, **operands: Operand) -> None:
    """Refuses tensors that are not row-major, or that have another number of dimensions than 4."""
    for parameter, operand in operands.items():
        if operand.layout is not Layout.ROW_MAJOR:
            raise TTFatal(
                f"{name}: {parameter} must be in row major layout",
                hint=f"Move {parameter} with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT).",
            )
        if operand.rank != 4:
            raise TTFatal(f"{name}: {parameter} must have rank 4, got {operand.rank}", hint="Reshape it.")


@operation("ttnn.all_to_all_dispatch")
def all_to_all_dispatch(
    input_tensor: Operand,
    expert_indices_tensor: Operand,
    expert_mapping_tensor: Operand,
    cluster_axis: int | None,
    output_tensors: Sequence[Operand] | None,
    memory_config: MemoryConfig | None,
    output_concat_dim: int,
) -> Step:
    """Sends tokens [B, S, 1, H] to the chips of their experts; returns the tokens of a chip, and all experts."""
    name = "all_to_all_dispatch"
    device = mesh_of_operand(input_tensor, name)
    operands = {
        "input_tensor": input_tensor,
        "expert_indices_tensor": expert_indices_tensor,
        "expert_mapping_tensor": expert_mapping_tensor,
    }
    _check_rows(name, **operands)
    if input_tensor.shape[:3] != expert_indices_tensor.shape[:3]:
        raise TTFatal(
            f"{name}: input and indices must have the same shape but for the last dimension, got {input_tensor.shape} "
            f"and {expert_indices_tensor.shape}",
            hint="Distribute both tensors in the same way.",
        )
    if output_concat_dim not in (1, 2):
        raise TTFatal(f"{name}: output_concat_dim must be 1 or 2, got {output_concat_dim}", hint="Pass 1 or 2.")
    sizes = list(input_tensor.shape[:2])
    sizes[output_concat_dim - 1] *= device.group_size(cluster_axis)
    results = [
        each.type.with_(shape=(1, *sizes, each.shape[3]), memory=memory_config)
        for each in (input_tensor, expert_indices_tensor)
    ]
    return Step(
        f"ttnn.{name}",
        operands,
        [each.type for each in output_tensors] if output_tensors else results,
        {"cluster_axis": cluster_axis, "output_concat_dim": output_concat_dim},
        into=output_tensors,
        returns=tuple,
    )


@operation("ttnn.all_to_all_combine")
def all_to_all_combine(
    input_tensor: Operand,
    expert_metadata_tensor: Operand,
    expert_mapping_tensor: Operand,
    local_reduce: bool,
    output_shard_dim: int,
    cluster_axis: int | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Sends the results of experts back to the chips of their tokens: [K, B, S, H] of a chip's own tokens."""
    name = "all_to_all_combine"
    device = mesh_of_operand(input_tensor, name)
    operands = {
        "input_tensor": input_tensor,
        "expert_metadata_tensor": expert_metadata_tensor,
        "expert_mapping_tensor": expert_mapping_tensor,
    }
    _check_rows(name, **operands)
    experts = expert_mapping_tensor.shape[2] // expert_mapping_tensor.shape[3]
    if not local_reduce and input_tensor.shape[0] != experts:
        raise TTFatal(
            f"{name}: expected {experts} experts in the first dimension, got {input_tensor.shape[0]}",
            hint="Pass local_reduce=True for a sum over a chip's experts.",
        )
    sizes, group = list(expert_metadata_tensor.shape[1:3]), device.group_size(cluster_axis)
    if output_shard_dim not in (1, 2) or sizes[output_shard_dim - 1] % group:
        raise TTFatal(
            f"{name}: dimension {output_shard_dim} of the metadata {expert_metadata_tensor.shape} must be 1 or 2 and "
            f"divisible by the number of devices {group}",
            hint="Pass output_shard_dim=1 or 2, along which the tokens were distributed.",
        )
    sizes[output_shard_dim - 1] //= group
    shape = (expert_metadata_tensor.shape[3], *sizes, input_tensor.shape[3])
    result = input_tensor.type.with_(shape=shape, memory=memory_config)
    return Step(
        f"ttnn.{name}",
        operands,
        [result if output_tensor is None else output_tensor.type],
        {"cluster_axis": cluster_axis, "local_reduce": local_reduce, "output_shard_dim": output_shard_dim},
        into=output_tensor,
    )


@operation("ttnn.moe_expert_token_remap")
def moe_expert_token_remap(
    topk_tensor: Operand,
    expert_mapping_tensor: Operand,
    expert_metadata_tensor: Operand,
    memory_config: MemoryConfig | None,
    optional_output_mapping_tensor: Operand | None,
    optional_output_reduced_tensor: Operand | None,
    reduction_size: int,
) -> Step:
    """Returns the weights of a chip's own experts for all tokens, and which groups of tokens use them."""
    operands = {
        "topk_tensor": topk_tensor,
        "expert_mapping_tensor": expert_mapping_tensor,
        "expert_metadata_tensor": expert_metadata_tensor,
    }
    _check_rows("moe_expert_token_remap", **operands)
    _, batch, rows, _ = topk_tensor.shape
    if reduction_size < 1 or batch * rows % reduction_size:
        raise TTFatal(
            f"reduction_size {reduction_size} must divide batch * seq = {batch * rows}", hint="Pass a divisor."
        )
    experts = expert_mapping_tensor.shape[2] // expert_mapping_tensor.shape[3]
    results = [
        topk_tensor.type.with_(shape=(1, batch, rows, experts), memory=memory_config),
        topk_tensor.type.with_(
            shape=(1, 1, batch * rows // reduction_size, experts), dtype=DataType.UINT16, memory=memory_config
        ),
    ]
    into = [optional_output_mapping_tensor, optional_output_reduced_tensor]
    types = [made if given is None else given.type for made, given in zip(results, into, strict=True)]
    attributes = {"reduction_size": reduction_size}
    return Step("ttnn.moe_expert_token_remap", operands, types, attributes, into=into, returns=tuple)


@operation("ttnn.moe_routing_remap")
def moe_routing_remap(
    routing_weights_tensor: Operand,
    non_zero_weight_size: int,
    expert_parallel_size: int,
    cluster_axis: int,
    memory_config: MemoryConfig | None,
    optional_output_tensor: Operand | None,
) -> Step:
    """Leaves to each chip along an axis an equal number of the weights that are not 0."""
    if routing_weights_tensor.layout is not Layout.ROW_MAJOR:
        raise TTFatal("input tensor expected to be row major", hint="Move it with ttnn.to_layout.")
    size = 1 if routing_weights_tensor.device is None else routing_weights_tensor.device.group_size(cluster_axis)
    if expert_parallel_size != size:
        raise TTFatal(
            f"expert parallel size ({expert_parallel_size}) should be the same as size of cluster axis {cluster_axis} "
            f"({size})",
            hint="Pass the number of chips along the axis.",
        )
    if non_zero_weight_size % size:
        raise TTFatal(
            f"non zero weight size {non_zero_weight_size} must be divisible by the expert parallel size {size}",
            hint="Select as many experts as divide over the chips.",
        )
    result = routing_weights_tensor.type.with_(memory=memory_config)
    return Step(
        "ttnn.moe_routing_remap",
        {"routing_weights_tensor": routing_weights_tensor},
        [result if optional_output_tensor is None else optional_output_tensor.type],
        {"cluster_axis": cluster_axis, "non_zero_weight_size": non_zero_weight_size},
        into=optional_output_tensor,
    )


@operation("ttnn.reduce_to_root")
def reduce_to_root(
    input_tensor_l: Operand,
    input_tensor_s: Operand,
    input_tensor_m: Operand,
    root_coord: MeshCoordinate,
    scale_fp32: float,
    output_tensor_l: Operand | None,
    output_tensor_s: Operand | None,
    output_tensor_m: Operand | None,
) -> Step:
    """Joins the states of attention on four chips on one of them: values, sums and maxima."""
    device = mesh_of_operand(input_tensor_l, "reduce_to_root")
    operands = {"input_tensor_l": input_tensor_l, "input_tensor_s": input_tensor_s, "input_tensor_m": input_tensor_m}
    if len(device.chips) != _ROOTED:
        raise TTFatal(
            f"reduce_to_root: requires {_ROOTED} devices, got {len(device.chips)}",
            hint="Open a mesh or a submesh of the shape (4, 1).",
        )
    for name, operand in operands.items():
        if not operand.memory.is_sharded():
            raise TTFatal(f"reduce_to_root: {name} must be sharded", hint="Move it with ttnn.to_memory_config.")
    device.get_device_id(root_coord)
    root = root_coord[0] * device.shape[1] + root_coord[1]
    into = [output_tensor_l, output_tensor_s, output_tensor_m]
    types = [
        source.type if given is None else given.type for source, given in zip(operands.values(), into, strict=True)
    ]
    attributes = {"root": root, "scale": scale_fp32}
    return Step("ttnn.reduce_to_root", operands, types, attributes, into=into, returns=list)


_ROOTED = 4
"""Chips whose states ``reduce_to_root`` joins."""


@operation("ttnn.fused_rms_minimal")
def fused_rms_minimal(
    input_tensor: Operand,
    program_config: Config | None,
    cluster_axis: int,
    mesh_device: MeshDevice,
    global_semaphore: Any,
    persistent_output_tensor: Operand | None,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    residual_input_tensor: Operand | None,
    epsilon: float,
    weight: Operand | None,
    stats: Operand | None,
) -> Step:
    """Normalizes rows that are split over the chips of an axis by the root of their mean square."""
    mesh_of_operand(input_tensor, "fused_rms_minimal")
    if weight is None or stats is None:
        raise TTFatal("fused_rms_minimal requires weight and stats", hint="Pass both tensors.")
    if input_tensor.layout is not Layout.TILE or not input_tensor.memory.is_sharded():
        raise TTFatal(
            "fused_rms_minimal: input must be tiled and width sharded in L1",
            hint="Move it with ttnn.to_layout and ttnn.to_memory_config.",
        )
    operands = {"input_tensor": input_tensor, "weight": weight}
    if residual_input_tensor is not None:
        operands["residual_input_tensor"] = residual_input_tensor
    result = input_tensor.type.with_(dtype=dtype, memory=memory_config)
    attributes = {"cluster_axis": cluster_axis, "epsilon": epsilon}
    return Step("ttnn.fused_rms_minimal", operands, [result], attributes)
