"""``torch_xla._XLAC._xla_dot_general``: products over any dimensions, as XLA's op ``DotGeneral``."""

from __future__ import annotations

from collections.abc import Sequence

import torch

DimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]] | tuple[()], tuple[Sequence[int], Sequence[int]] | tuple[()]
]
"""Dimensions that are summed over and batch dimensions, each of both tensors, or an empty tuple for none."""


def dot_general(
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    dimension_numbers: DimensionNumbers,
    precision_config: None = None,
    preferred_element_type: torch.dtype | None = None,
) -> torch.Tensor:
    """Multiplies two tensors of the device and sums over dimensions.

    Args:
        lhs: the first tensor.
        rhs: the second tensor.
        dimension_numbers: dimensions of both that are summed over, and batch dimensions of both; they may be negative.
        precision_config: None.
        preferred_element_type: dtype of the result and of the sums; by default that of the tensors together.

    Returns:
        A tensor with the batch dimensions, then the other dimensions of ``lhs``, then those of ``rhs``.

    Raises:
        RuntimeError: a tensor is not on the device.
        ValueError: there is a precision.
    """
    if precision_config is not None:
        raise ValueError(f"precision_config is {precision_config!r}, expected None, as torch_xla does.")
    for place, tensor in (("first", lhs), ("second", rhs)):
        if tensor.device.type != "tt":
            kind = f"{tensor.device.type.upper()}{tensor.type().rpartition('.')[2].removesuffix('Tensor')}Type"
            raise RuntimeError(
                f"Expected input tensor ({place} argument) to be an actual XLA tensor. Got: {kind}. Consider moving it "
                f"({place} argument) to XLA."
            )
    summed, batch = (pair or ((), ()) for pair in dimension_numbers)
    dims = list(range(lhs.dim())), list(range(lhs.dim(), lhs.dim() + rhs.dim()))
    for pair in (summed, batch):
        for left, right in zip(*pair, strict=True):
            dims[1][right] = dims[0][left]
    shared = [dims[0][left] for left in batch[0]]
    gone = {dims[0][left] for left in summed[0]}
    kept = [dim for side in dims for dim in side if dim not in gone and dim not in shared]
    dtype = preferred_element_type or torch.promote_types(lhs.dtype, rhs.dtype)
    return torch.einsum(lhs.to(dtype), dims[0], rhs.to(dtype), dims[1], shared + kept)
