"""Quotients and remainders as TT-NN's kernels of the vector unit compute them.

All but the quotient of two floats multiply by an inverse that two steps of Newton's method refine. A comparison with
zero does not hold for -0, whose bits differ.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import (
    Functions,
    broadcast_by_packer,
    in_float32,
    loaded,
    otherwise,
    result_of,
)
from tt_xla.runtime.emulator.bit_exact.padding import elementwise_kernel
from tt_xla.runtime.emulator.context import Context

Tensor = torch.Tensor


def _inverse(x: Tensor) -> Tensor:
    return functions.newton_reciprocal(x, 2)


def of_truncated(a: Tensor, b: Tensor) -> Tensor:
    """Returns the remainder of a division whose quotient is cut; it has the sign of ``a`` (``_sfpu_binary_fmod_``)."""
    size = functions.size_of(b)
    result = _rest(a, b, torch.trunc)
    closer = torch.where(result >= 0, result - size, result + size)
    result = torch.where(functions.size_of(result) >= size, closer, result)
    wrong = torch.where(a >= 0, result < 0, result > 0)
    result = torch.where(wrong, torch.where(a >= 0, result + size, result - size), result)
    result = torch.where(a == b, 0.0, result)
    return torch.where(sfpu.bits(b) == 0, torch.nan, result)


def of_floor(a: Tensor, b: Tensor) -> Tensor:
    """Returns the remainder of a division that rounds down; it has the sign of ``b`` (``_sfpu_binary_remainder_``)."""
    result = _rest(a, b, torch.floor)
    result = torch.where((sfpu.bits(result) != 0) & (result.signbit() != b.signbit()), result + b, result)
    less = result - b
    too_large = torch.where(b > 0, (a > 0) & (less >= 0), (b < 0) & (a < 0) & (less <= 0))
    result = torch.where(too_large, less, result)
    return torch.where(sfpu.bits(b) == 0, torch.nan, result)


def _rest(a: Tensor, b: Tensor, whole: Callable[[Tensor], Tensor]) -> Tensor:
    return sfpu.mad(functions.negative(whole(sfpu.multiply(a, _inverse(b)))), b, a)


_SUBTRACTIONS = 10
"""How often the kernels of a remainder by a number subtract the number at the end."""


def by_number(x: Tensor, divisor: float, *, floors: bool) -> Tensor:
    """Returns the remainder of a division by a number (``calculate_fmod``, ``calculate_remainder``).

    Args:
        floors: whether the quotient is rounded down. If not, it is cut.
    """
    size = abs(divisor)
    inverse = float(torch.tensor(size, dtype=torch.float32, device="cpu").reciprocal())
    v = functions.size_of(x)
    ratio = sfpu.multiply(v, inverse)
    place = sfpu.exponent(ratio)
    whole = sfpu.number(sfpu.shifted(sfpu.shifted(sfpu.bits(ratio), place - 23), 23 - place))
    q = torch.where(place < 0, 0.0, torch.where(place < 23, whole, ratio))
    too_large = sfpu.greater(q, ratio) if floors else (place < 23) & sfpu.greater(sfpu.multiply(q, size), v)
    q = torch.where(too_large, sfpu.add(q, -1.0), q)
    v = sfpu.mad(functions.negative(q), size, v)
    sign = x
    if floors:
        v = torch.where((sfpu.bits(x) < 0) & (sfpu.bits(v) != 0), sfpu.add(size, functions.negative(v)), v)
        v = torch.where(sfpu.bits(v) != 0, sfpu.add(v, divisor), v) if divisor < 0 else v
        sign = torch.full_like(x, divisor)
    v = sfpu.with_sign(v, sign) if divisor else torch.full_like(x, torch.nan)
    for _ in range(_SUBTRACTIONS):
        v = torch.where(sfpu.greater(size, v), v, sfpu.add(v, -size))
    return torch.where(functions.size_of(v) == size, 0.0, v)


_REMAINDERS = {"ttnn.modulo": of_floor, "ttnn.remainder": of_truncated}
"""The remainder by a tensor."""


@elementwise_kernel(*_REMAINDERS)
def remainder(ctx: Context, lhs: Tensor, rhs: Tensor, **functions_of_operands: Functions) -> Tensor:
    """The kernel of two tensors rounds to nearest even. Of one with a number the accumulator keeps its 16 bits."""
    if not lhs.is_floating_point() or not rhs.is_floating_point() or functions_of_operands:
        return otherwise(ctx, functions_of_operands)(lhs, rhs)
    if rhs.ndim == 0:
        wide = ctx.spec("lhs").layout.dtype is DataType.F32
        result = by_number(loaded(lhs), float(rhs), floors=ctx.op == "ttnn.modulo")
        return result_of(ctx, sfpu.stored(result, wide=wide))
    result = _REMAINDERS[ctx.op](*torch.broadcast_tensors(*map(loaded, broadcast_by_packer(ctx, lhs, rhs))))
    result = torch.where(result.isnan(), torch.nan, result)
    return result_of(ctx, result if in_float32(ctx) else sfpu.to_bfloat16(result))


@elementwise_kernel("ttnn.div_no_nan", "ttnn.floor_div")
def quotient(ctx: Context, lhs: Tensor, rhs: Tensor, **functions_of_operands: Functions) -> Tensor:
    """The quotient has the type of the result before it is rounded down, or replaced where the divisor is zero: there
    an infinity has cleared its block of a block float. Two tensors of integers have integers for
    quotients that are rounded down, whose bits ``floor_div`` gives the type float32."""
    if functions_of_operands:
        return otherwise(ctx, functions_of_operands)(lhs, rhs)
    of_integers = not lhs.is_floating_point() and not rhs.is_floating_point()
    a, b = torch.broadcast_tensors(*broadcast_by_packer(ctx, lhs, rhs))
    if of_integers:
        result = functions.quotient_of_integers(a, b)
    elif in_float32(ctx):
        result = functions.quotient(loaded(a), loaded(b))
    else:
        result = functions.quotient_of_bfloat16(loaded(a), loaded(b))
    result = torch.where(result.isnan(), torch.nan, result)
    if ctx.op == "ttnn.div_no_nan":
        return result_of(ctx, torch.where(rhs == 0, 0.0, loaded(result_of(ctx, result))))
    if of_integers and rhs.ndim:
        whole = sfpu.number(functions.rounded_quotient(lhs, rhs, "floor"))
        return torch.where(result.isinf(), result, whole).to(ctx.container)
    return result_of(ctx, torch.floor(loaded(result_of(ctx, result))))


@elementwise_kernel("ttnn.addcdiv")
def addcdiv(ctx: Context, input: Tensor, first: Tensor, second: Tensor, value: float = 1.0) -> Tensor:
    """A multiply-add of the product of ``value`` and ``first`` with the inverse of ``second``."""
    tensors = (input, first, second)
    if not all(tensor.is_floating_point() for tensor in tensors):
        return otherwise(ctx, {"value": value})(*tensors)
    a, b, c = torch.broadcast_tensors(*map(loaded, tensors))
    result = sfpu.mad(sfpu.multiply(b, sfpu.single(value)), _inverse(c), a)
    return result_of(ctx, result if in_float32(ctx) else sfpu.to_nearest_even(result))
