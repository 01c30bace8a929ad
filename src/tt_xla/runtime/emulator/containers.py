"""The torch dtype that holds each device dtype, and the ways values get into one: rounding, quantising, wrapping.

Tile padding is not materialised: tensors have logical shapes.
"""

from __future__ import annotations

import numpy as np
import torch

from tt_xla.ir.element_types import DataType, ElementType
from tt_xla.runtime.emulator.formats import quantize
from tt_xla.runtime.emulator.truth import as_float

CONTAINERS: dict[DataType, torch.dtype] = {dtype: getattr(torch, dtype.torch) for dtype in DataType}
"""Torch dtype that holds the elements of each data type; see :attr:`DataType.torch`."""

INTEGER_RANGES: dict[DataType, tuple[int, int]] = {
    dtype: (int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max))
    for dtype in DataType
    if not dtype.is_host_only and not dtype.is_float
}
"""Least and greatest value of each integer type that a chip holds."""

DECLARED: dict[str, torch.dtype] = {element.value: getattr(torch, element.torch) for element in ElementType}
"""Torch dtype of an argument or result by its StableHLO element type."""

_WRAPS = {DataType.U32: 0xFFFFFFFF, DataType.U16: 0xFFFF}
"""Bits of unsigned integers whose container is wider."""


def fills_container(dtype: DataType) -> bool:
    """Whether ``dtype`` has every value of its container, so that a tensor in the container needs no change."""
    return dtype.is_host_only or not (dtype.is_block_float or dtype in _WRAPS)


def hold(tensor: torch.Tensor, dtype: DataType) -> torch.Tensor:
    """Converts a tensor to the values that ``dtype`` can hold, in its container; returns it unchanged if it holds them.

    Floats round to nearest even. A float becomes an integer by truncation toward zero, limited to the integer's range;
    a NaN becomes 0. Integers wrap.
    """
    container = CONTAINERS[dtype]
    if dtype.is_host_only:
        return tensor.to(container)
    if dtype.is_block_float:
        return quantize(tensor, dtype.value, container)
    if tensor.dtype is container and dtype not in _WRAPS:
        return tensor
    if dtype.is_float:
        return as_float(tensor, container) if tensor.dtype is torch.bool else tensor.to(container)
    if tensor.is_floating_point():
        low, high = INTEGER_RANGES[dtype]
        # In float64, where both ends of every range are exact.
        return tensor.to(torch.float64).nan_to_num(0.0, high, low).trunc_().clamp_(low, high).to(container)
    mask = _WRAPS.get(dtype)
    return tensor.to(container) if mask is None else tensor.to(container).bitwise_and(mask)
