"""The properties of TTNN's ops between chips that the expansion of a Program needs."""

from __future__ import annotations

from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import DEALLOCATE, Instruction

MESH_PARTITION = "ttnn.mesh_partition"
POINT_TO_POINT = "ttnn.point_to_point"

JOINING = ("ttnn.all_gather", "ttnn.all_reduce", "ttnn.all_reduce_async")
"""Exchanges after which all chips of a group hold the same tensor."""

SPLITTING = ("ttnn.all_to_all", "ttnn.reduce_scatter")
"""Exchanges after which each chip of a group holds a tensor of its own."""

EXCHANGES = (*JOINING, *SPLITTING)
"""Ops in which the chips of a group exchange tensors: each of them waits for all others."""

BROADCAST, ALL_BROADCAST = "ttnn.broadcast", "ttnn.all_broadcast"
"""Exchanges of hand-written TT-NN that programs have no use for."""

OF_GROUPS = (
    *("ttnn.all_to_all_dispatch", "ttnn.all_to_all_combine", "ttnn.moe_expert_token_remap", "ttnn.moe_routing_remap"),
    *("ttnn.reduce_to_root", "ttnn.fused_rms_minimal", "ttnn.transformer.ring_mla"),
    "ttnn.transformer.ring_joint_scaled_dot_product_attention",
    "ttnn.transformer.ring_distributed_scaled_dot_product_attention",
)
"""Ops of hand-written TT-NN whose kernel computes the results of a whole group of chips."""

BETWEEN_CHIPS = (*EXCHANGES, MESH_PARTITION, POINT_TO_POINT, BROADCAST, ALL_BROADCAST, *OF_GROUPS)
"""All ops whose result on a chip depends on its place in the mesh."""

_WRITTEN = ("cache", "dst")
"""Names of the operands that ops without results write to."""


def group_axes(instruction: Instruction, mesh: Mesh) -> tuple[int, ...]:
    """Returns the mesh axes along which the chips of a group lie: ``cluster_axis``, or all axes where it is absent."""
    axis = instruction.attributes.get("cluster_axis")
    return tuple(range(len(mesh.shape))) if axis is None else (int(axis),)


def written_value(instruction: Instruction) -> int | None:
    """Returns the value whose memory an instruction writes to; None for instructions that only compute results."""
    if instruction.results or instruction.op == DEALLOCATE:
        return None
    operands = (instruction.operands.get(name) for name in _WRITTEN)
    return next((operand for operand in operands if isinstance(operand, int)), None)
