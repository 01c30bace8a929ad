"""Functions whose results of ordinary numbers are those of the other numerics: here denormals are zeros, an infinity
stands for a NaN of 16 bits, and where numbers are compared, a NaN is the largest."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded, otherwise, result_of, types_of
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel(
    *("ttnn.celu", "ttnn.elu", "ttnn.frac", "ttnn.hardmish", "ttnn.hardshrink", "ttnn.softshrink", "ttnn.relu_max"),
    *("ttnn.relu_min", "ttnn.hardtanh"),
    bit_exact=True,
)
def of_one(ctx: Context, input: Tensor, **attributes: Any) -> Tensor:
    """A function of one number. Limits hold for a NaN as for an infinity."""
    if not input.is_floating_point():
        return otherwise(ctx, attributes)(input)
    x = loaded(input)
    if ctx.op in ("ttnn.relu_max", "ttnn.relu_min", "ttnn.hardtanh"):
        x = torch.where(x.isnan(), torch.inf, x)
    result = loaded(otherwise(ctx, attributes)(x.to(input.dtype)))
    return result_of(ctx, result + 0.0 if ctx.op == "ttnn.celu" else result)  # of -0, celu is 0


@kernel("ttnn.clamp_scalar", bit_exact=True)
def clamp_scalar(ctx: Context, input: Tensor, min: float, max: float) -> Tensor:
    """A number within limits, the upper one for NaN."""
    if not input.is_floating_point():
        return otherwise(ctx, {"min": min, "max": max})(input)
    return result_of(ctx, sfpu.minimum(sfpu.maximum(loaded(input), sfpu.single(min)), sfpu.single(max)))


@kernel("ttnn.maximum", "ttnn.minimum", bit_exact=True)
def extreme_of_two(ctx: Context, lhs: Tensor, rhs: Tensor, **attributes: Any) -> Tensor:
    """The larger or the smaller of two numbers, in the order of signs and magnitudes."""
    if not lhs.is_floating_point() or not rhs.is_floating_point() or attributes:
        return otherwise(ctx, attributes)(lhs, rhs)
    compare = sfpu.maximum if ctx.op == "ttnn.maximum" else sfpu.minimum
    return result_of(ctx, compare(*torch.broadcast_tensors(loaded(lhs), loaded(rhs))))


@kernel("ttnn.ge", "ttnn.gt", "ttnn.le", "ttnn.lt", bit_exact=True)
def compared(ctx: Context, lhs: Tensor, rhs: Tensor, **attributes: Any) -> Tensor:
    """A comparison. The matrix unit, which subtracts block floats and numbers of different types, takes a NaN for an
    infinity."""
    types = types_of(ctx)
    by_matrix_unit = len(types) > 1 or any(dtype.is_block_float for dtype in types)
    if by_matrix_unit and lhs.is_floating_point() and rhs.is_floating_point():
        lhs, rhs = (torch.where(each.isnan(), torch.inf, each) for each in (lhs, rhs))
    return otherwise(ctx, attributes)(lhs, rhs)
