"""Attention over selected keys, and the scores that select them, whose kernels have TT-NN's own parameters."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.inferred import from_kernel


def _check_indices(values: dict[str, Any]) -> dict[str, Any]:
    """Refuses what TT-NN refuses."""
    indices, kind = values["indices"], values.get("kv_format")
    if kind is not None and kind.name != "BF16":
        raise TTFatal(f"the emulated card has no caches of {kind}", hint="Pass SparseKVFormat.BF16.")
    if indices.shape[-1] * 4 % 64:
        raise TTFatal(
            "indices row bytes must be 64B aligned", hint="Pad the indices to a multiple of 16 with 0xFFFFFFFF."
        )
    return {}


def _check_start(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the position of the first query: on one chip it is the call's."""
    start = values["chunk_start_idx"]
    return {"chunk_start_idx": values["k"].shape[2] - values["q"].shape[2] if start is None else start}


from_kernel("ttnn.transformer.sparse_sdpa", layout=Layout.ROW_MAJOR, prepare=_check_indices, also_takes=("kv_format",))
from_kernel("ttnn.transformer.sparse_sdpa_msa", layout=Layout.ROW_MAJOR, prepare=_check_indices)
for _name in ("indexer_score_dsa", "indexer_score_msa"):
    from_kernel(f"ttnn.experimental.{_name}", dtype=DataType.BFLOAT16, layout=Layout.ROW_MAJOR, prepare=_check_start)
