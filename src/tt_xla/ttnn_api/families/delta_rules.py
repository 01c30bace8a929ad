"""Gated delta rules, whose kernels have TT-NN's own parameters."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.inferred import from_kernel

_WIDTH = 128
"""Width of the keys of ``gated_delta_attn_seq``."""


def _pair(values: list[Any]) -> tuple[Any, ...]:
    """Returns the output and the state, which is None where it was not asked for."""
    return (values[0], values[1] if len(values) > 1 else None)


def _check_normalized(values: dict[str, Any]) -> None:
    if values["use_qk_l2norm"]:
        raise TTFatal("use_qk_l2norm must be False", hint="Normalize queries and keys before the call.")


def _ring(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the tensor whose blocks receive the states."""
    _check_normalized(values)
    if values["initial_state_block_idx"] is None:
        return {}
    if values["initial_state"] is None or not values["output_per_token_state"]:
        raise TTFatal(
            "initial_state_block_idx requires initial_state and output_per_token_state=True",
            hint="Pass the ring of states as initial_state.",
        )
    return {"ring": values["initial_state"]}


def _check_chunks(values: dict[str, Any]) -> dict[str, Any]:
    """Refuses what TT-NN refuses."""
    _check_normalized(values)
    size, flat = values["chunk_size"], values["q"].rank == 3
    if size not in (32, 64):
        raise TTFatal(f"chunk_size must be 32 or 64, got {size}", hint="Pass chunk_size=64.")
    if flat and (size != 32 or values["q"].shape[1] % size):
        raise TTFatal(
            "flat q/k/v require chunk_size == 32 and T a multiple of it",
            hint="Pass chunk_size=32 and pad the sequence, or split the heads with ttnn.reshape.",
        )
    for name in ("q", "k", "v", "g", "beta"):
        if values[name].layout is not Layout.TILE:
            raise TTFatal(f"{name} must be in TILE layout", hint=f"Move {name} with ttnn.to_layout.")
    return {"head_layout": Layout.TILE if values["output_head_major"] else Layout.ROW_MAJOR}


def _check_width(values: dict[str, Any]) -> dict[str, Any]:
    for name, operand in (("key_dim", values["k_bd_sc"]), ("value_dim", values["v_beta_sc"])):
        if operand.shape[-1] != _WIDTH:
            raise TTFatal(
                f"{name} must be exactly {_WIDTH}, got {operand.shape[-1]}", hint="Pad the tensors with ttnn.pad."
            )
    return {}


from_kernel(
    "ttnn.transformer.fused_recurrent_gated_delta_rule",
    outputs=("", "ring"),
    dtype=DataType.FLOAT32,
    layout=Layout.TILE,
    pack=_pair,
    prepare=_ring,
    also_takes=("use_qk_l2norm",),
)
from_kernel(
    "ttnn.transformer.chunk_gated_delta_rule",
    dtype=DataType.FLOAT32,
    layout=("head_layout", Layout.TILE),
    pack=_pair,
    prepare=_check_chunks,
    also_takes=("use_qk_l2norm", "chunk_size", "wy_inverse", "eye", "tril", "ones", "masks"),
)
from_kernel("ttnn.transformer.gated_delta_attn_seq", dtype=DataType.FLOAT32, pack=tuple, prepare=_check_width)
