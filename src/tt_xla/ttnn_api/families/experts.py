"""Functions of mixtures of experts."""

from __future__ import annotations

from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, operation
from tt_xla.ttnn_api.tensor import Tensor

_KEPT = 32
"""Greatest elements that TT-NN's kernel keeps."""


@operation("ttnn.moe", composite=True)
def moe(
    input_tensor: Tensor,
    expert_mask_tensor: Tensor,
    topk_mask_tensor: Tensor,
    k: int,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """Returns the weight of the first expert for each row, [N, C, H, 1]; 0 where it is not among the greatest.

    TT-NN has one kernel for it. The emulated card composes it of ``topk``, ``softmax`` and ``sum``, with their time.
    """
    _check_moe(input_tensor, topk_mask_tensor, k)
    f = Functions(memory_config)
    values, positions = f.topk(f.add(input_tensor, expert_mask_tensor), k, -1)
    weights = f.softmax(f.add(values, topk_mask_tensor), -1)
    first = f.eqz(f.typecast(positions, DataType.BFLOAT16))
    result = f.sum(f.multiply(weights, first), -1, True)
    return result if output_tensor is None else OPERATIONS["ttnn.copy"](result, output_tensor)


def _check_moe(source: Tensor, mask: Tensor, k: int) -> None:
    """Refuses what TT-NN's kernel refuses."""
    shape, mask_shape = tuple(source.shape), tuple(mask.shape)
    if len(shape) != 4:
        raise TTFatal(f"Input shape must be 4D, got {len(shape)}", hint="Reshape it with ttnn.reshape.")
    columns, pad = shape[-1], "Pad it with ttnn.pad and a value of -inf."
    if k != _KEPT:
        raise TTFatal(
            f"K must be equal to {_KEPT}, pad with -infinity if necessary to get {_KEPT}, got {k}",
            hint=f"Pass k={_KEPT} and a topk_mask_tensor with -inf behind the elements that count.",
        )
    if columns < 2 * _KEPT:
        raise TTFatal(
            f"Input shape inner dim {columns} must be a multiple of 64, pad with -infinity if necessary", hint=pad
        )
    if columns & (columns - 1):
        raise TTFatal(
            f"Input shape inner dim {columns} must be a power of 2, pad with -infinity if necessary", hint=pad
        )
    if source.layout is not Layout.TILE:
        raise TTFatal(
            "The input must be in tiled format", hint="Move it with ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)."
        )
    if mask_shape[-1] != k or any(size != 1 for size in mask_shape[:-1]):
        raise TTFatal(
            f"Topk mask must be row-broadcastable with last dim == k. Got rank={len(mask_shape)} and "
            f"shape={mask.shape} for k={k}",
            hint=f"Pass a mask of the shape [1, 1, 1, {k}].",
        )
