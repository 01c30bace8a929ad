"""Quantisation to 8 bits, which TT-NN holds in 32: sign and magnitude, so that -127 is the least number.

The parameters are TT-NN's. Scales and zero points are numbers, tensors of one element, or of one for each channel.
"""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
_LIMIT = 127.0


def _along(value: Tensor | float, x: Tensor, axis: int | None) -> Tensor | float:
    """Returns a value that multiplies a tensor, by channel if there is an axis."""
    if not isinstance(value, Tensor):
        return float(value)
    shape = [1] * x.ndim
    if axis is not None:
        shape[axis] = value.numel()
    return value.float().reshape(shape)


def _whole(x: Tensor) -> Tensor:
    return x.round().clamp(-_LIMIT, _LIMIT)


@kernel("ttnn.quantize")
def quantize(
    ctx: Any, input_tensor: Tensor, scale: Tensor | float, zero_point: Tensor | float, axis: int | None = None
) -> Tensor:
    """Returns ``x / scale + zero_point``, rounded."""
    x = input_tensor.float()
    return _whole(x / _along(scale, x, axis) + _along(zero_point, x, axis))


@kernel("ttnn.dequantize")
def dequantize(
    ctx: Any, input_tensor: Tensor, scale: Tensor | float, zero_point: Tensor | float, axis: int | None = None
) -> Tensor:
    """Returns ``(x - zero_point) * scale``."""
    x = input_tensor.float()
    return (x - _along(zero_point, x, axis)) * _along(scale, x, axis)


@kernel("ttnn.requantize")
def requantize(
    ctx: Any,
    input_tensor: Tensor,
    in_scale: Tensor | float,
    in_zero_point: Tensor | float,
    out_scale: Tensor | float,
    out_zero_point: Tensor | float,
    axis: int | None = None,
) -> Tensor:
    """Returns quantised numbers with another scale and zero point."""
    wide = dequantize(ctx, input_tensor, in_scale, in_zero_point, axis)
    return quantize(ctx, wide, out_scale, out_zero_point, axis)
