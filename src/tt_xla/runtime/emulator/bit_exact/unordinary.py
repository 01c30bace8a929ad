"""Functions that differ from those of the other numerics in special values alone: denormals are zeros, an infinity
stands for a NaN of 16 bits, and a NaN compares as the largest number."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import (
    broadcast_by_packer,
    difference,
    in_float32,
    loaded,
    otherwise,
    result_of,
    types_of,
)
from tt_xla.runtime.emulator.bit_exact.padding import elementwise_kernel
from tt_xla.runtime.emulator.context import Context

Tensor = torch.Tensor


@elementwise_kernel(
    *("ttnn.frac", "ttnn.hardshrink", "ttnn.hardtanh", "ttnn.relu_max", "ttnn.relu_min", "ttnn.softshrink")
)
def of_one(ctx: Context, input: Tensor, **attributes: Any) -> Tensor:
    """A function of one number. Limits hold for a NaN as for an infinity."""
    if not input.is_floating_point():
        return otherwise(ctx, attributes)(input)
    x = loaded(input)
    if ctx.op in ("ttnn.relu_max", "ttnn.relu_min", "ttnn.hardtanh"):
        x = torch.where(x.isnan(), torch.inf, x)
    return result_of(ctx, loaded(otherwise(ctx, attributes)(x.to(input.dtype))))


@elementwise_kernel("ttnn.clamp_scalar")
def clamp_scalar(ctx: Context, input: Tensor, min: float, max: float, indexes: str | None = None) -> Tensor:
    """A number within limits, the upper one for NaN."""
    if not input.is_floating_point():
        return otherwise(ctx, {"min": min, "max": max})(input)
    return result_of(ctx, sfpu.minimum(sfpu.maximum(loaded(input), sfpu.single(min)), sfpu.single(max)))


@elementwise_kernel("ttnn.maximum", "ttnn.minimum")
def extreme_of_two(ctx: Context, lhs: Tensor, rhs: Tensor, **attributes: Any) -> Tensor:
    """The larger or the smaller of two numbers, in the order of signs and magnitudes."""
    if not lhs.is_floating_point() or not rhs.is_floating_point() or attributes:
        return otherwise(ctx, attributes)(lhs, rhs)
    compare = sfpu.maximum if ctx.op == "ttnn.maximum" else sfpu.minimum
    lhs, rhs = broadcast_by_packer(ctx, lhs, rhs)
    return result_of(ctx, compare(*torch.broadcast_tensors(loaded(lhs), loaded(rhs))))


@elementwise_kernel("ttnn.eq", "ttnn.ge", "ttnn.gt", "ttnn.le", "ttnn.lt", "ttnn.ne")
def compared(ctx: Context, lhs: Tensor, rhs: Tensor, **attributes: Any) -> Tensor:
    """A comparison. The vector unit compares bfloat16 and float32, and knows a NaN. The difference of block floats and
    of numbers of different types is the matrix unit's, to which a NaN is a number beyond infinity; it is compared with
    zero."""
    compare = otherwise(ctx, attributes)
    if not lhs.is_floating_point() or not rhs.is_floating_point() or attributes:
        return compare(lhs, rhs)
    lhs, rhs = broadcast_by_packer(ctx, lhs, rhs)
    types = types_of(ctx)
    if len(types) == 1 and not next(iter(types)).is_block_float:
        return compare(loaded(lhs), loaded(rhs))
    distance = difference(*torch.broadcast_tensors(loaded(lhs), loaded(rhs)), wide=in_float32(ctx))
    return compare(distance, torch.zeros_like(distance))
