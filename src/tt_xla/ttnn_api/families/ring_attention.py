"""Attention over a sequence that is split over the chips of a mesh."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.collective import mesh_of_operand
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.plan import Operand, Step


@operation("ttnn.transformer.ring_distributed_scaled_dot_product_attention")
def ring_distributed_attention(
    input_tensor_q: Operand,
    input_tensor_k: Operand,
    input_tensor_v: Operand,
    ring_size: int,
    ring_id: int | None,
    scale: float | None,
    memory_config: MemoryConfig | None,
    page_table: Operand | None,
    chunk_start_idx: int | None,
) -> Step:
    """Computes causal attention of an early and a late part of the queries on each chip."""
    batch, heads, rows, _ = input_tensor_q.shape
    if rows % (2 * ring_size):
        raise TTFatal(
            f"sequence length {rows} must be divisible by 2 * ring_size = {2 * ring_size}", hint="Pad the sequence."
        )
    operands = {"input_tensor_q": input_tensor_q, "input_tensor_k": input_tensor_k, "input_tensor_v": input_tensor_v}
    attributes = {"ring_size": ring_size, "ring_id": ring_id, "scale": scale, "chunk_start_idx": chunk_start_idx}
    shape = (batch, heads, rows // ring_size, input_tensor_v.shape[3])
    return Step(
        "ttnn.transformer.ring_distributed_scaled_dot_product_attention",
        operands | ({} if page_table is None else {"page_table": page_table}),
        [input_tensor_q.type.with_(shape=shape, memory=memory_config)],
        attributes,
    )


_OF_RINGS = ("logical_n", "scale", "dim", "cluster_axis")
"""Parameters that are attributes of attention over the keys of all chips."""


@operation(
    "ttnn.transformer.ring_joint_scaled_dot_product_attention",
    "ttnn.transformer.exp_ring_joint_scaled_dot_product_attention",
    also=_OF_RINGS,
)
def ring_joint_attention(
    input_tensor_q: Operand,
    input_tensor_k: Operand,
    input_tensor_v: Operand,
    joint_tensor_q: Operand | None,
    joint_tensor_k: Operand | None,
    joint_tensor_v: Operand | None,
    persistent_output_buffer_k: Operand,
    persistent_output_buffer_v: Operand,
    joint_strategy: str,
    is_causal: bool | None,
    is_balanced: bool | None,
    is_cross: bool | None,
    **values: Any,
) -> Step:
    """Computes attention of each chip's queries over the keys of all chips, which it gathers.

    Keys and values of a second sequence, which all chips have, follow those of the first.
    """
    mesh_of_operand(input_tensor_q, "ring_joint_scaled_dot_product_attention")
    if joint_strategy != "rear":
        raise TTFatal(f"joint_strategy must be 'rear', got {joint_strategy!r}", hint="Pass joint_strategy='rear'.")
    given = {"joint_query": joint_tensor_q, "joint_key": joint_tensor_k, "joint_value": joint_tensor_v}
    joint = {name: each for name, each in given.items() if each is not None and each.shape[2]}
    if len(joint) not in (0, 3):
        raise TTFatal("Pass all three joint tensors together or omit all", hint="Pass q, k and v.")
    if is_causal and (joint or is_cross):
        raise TTFatal("Causal ring attention takes no joint tensors", hint="Leave is_causal or these tensors out.")
    _check_lengths(input_tensor_q, input_tensor_k, causal=bool(is_causal))
    batch, heads, rows, _ = input_tensor_q.shape
    second, width = joint["joint_query"].shape[2] if joint else 0, input_tensor_v.shape[3]
    made = input_tensor_q.type
    results = [
        made.with_(shape=(batch, heads, rows, width)),
        made.with_(shape=(batch, heads, second, width)),
        made.with_(shape=(batch, heads, 2 * (rows + second), 1)),
    ]
    buffers = (persistent_output_buffer_k, persistent_output_buffer_v)
    return Step(
        "ttnn.transformer.ring_joint_scaled_dot_product_attention",
        {"query": input_tensor_q, "key": input_tensor_k, "value": input_tensor_v, **joint},
        [*results, *(each.type for each in buffers)],
        {"is_causal": bool(is_causal), "is_balanced": bool(is_balanced), **values},
        into=[None, None, None, *buffers],
        returns=lambda outputs: tuple(outputs[:3]),
    )


def _check_lengths(query: Operand, key: Operand, *, causal: bool) -> None:
    """Refuses parts of a sequence whose keys are those of earlier calls as well."""
    if causal and query.shape[2] != key.shape[2]:
        raise TTFatal(
            "the emulated card takes causal ring attention of whole sequences alone: queries have "
            f"{query.shape[2]} rows and keys {key.shape[2]}",
            hint="Compute chunks with ttnn.transformer.chunked_scaled_dot_product_attention.",
        )


@operation("ttnn.transformer.ring_mla", also=_OF_RINGS)
def ring_mla(
    input_tensor_q: Operand,
    input_tensor_kv: Operand,
    persistent_output_buffer_kv: Operand,
    head_dim_v: int,
    is_balanced: bool,
    **values: Any,
) -> Step:
    """Computes causal attention whose values are the first ``head_dim_v`` columns of the keys of all chips."""
    mesh_of_operand(input_tensor_q, "ring_mla")
    _check_lengths(input_tensor_q, input_tensor_kv, causal=True)
    batch, heads, rows, _ = input_tensor_q.shape
    made, buffer = input_tensor_q.type, persistent_output_buffer_kv
    shapes = ((batch, heads, rows, head_dim_v), (batch, heads, 2 * rows, 1))
    return Step(
        "ttnn.transformer.ring_mla",
        {"query": input_tensor_q, "key": input_tensor_kv},
        [*(made.with_(shape=shape) for shape in shapes), buffer.type],
        {"head_dim_v": head_dim_v, "is_balanced": is_balanced, **values},
        into=[None, None, buffer],
        returns=lambda outputs: tuple(outputs[:2]),
    )
