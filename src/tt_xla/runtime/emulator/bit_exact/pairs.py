"""Functions of two numbers that TT-NN composes of steps in one kernel, powers, and choices.

Sources: TT-NN 0.81's ``binary_ng_utils.cpp`` and ``ckernel_sfpu_logaddexp*.h``.
"""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import curves, functions, matrix_unit, powers
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import (
    applied,
    broadcast_by_packer,
    in_float32,
    loaded,
    otherwise,
    product_of_matrix_unit,
    result_of,
    total,
)
from tt_xla.runtime.emulator.bit_exact.functions import negative, size_of
from tt_xla.runtime.emulator.bit_exact.padding import elementwise_kernel
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Settings
from tt_xla.runtime.emulator.context import Context

Tensor = torch.Tensor


def _of_floats(lhs: Tensor, rhs: Tensor, others: dict[str, Any]) -> bool:
    return lhs.is_floating_point() and rhs.is_floating_point() and not others


def _before(name: str, x: Tensor, between: DataType, *, wide: bool) -> Tensor:
    """Returns an operand after a function, as the buffer between holds it."""
    return packed(applied(name, loaded(x), wide=wide), DataType.F32 if wide else between)


@elementwise_kernel("ttnn.hypot")
def hypot(ctx: Context, lhs: Tensor, rhs: Tensor, **others: Any) -> Tensor:
    """The root of a sum of squares, which the matrix unit adds for 16-bit numbers."""
    if not _of_floats(lhs, rhs, others):
        return otherwise(ctx, others)(lhs, rhs)
    wide = in_float32(ctx)
    a = _before("square", lhs, ctx.spec("lhs").layout.dtype, wide=wide)
    b = _before("square", rhs, ctx.spec("rhs").layout.dtype, wide=wide)
    squares = a + b if wide else total(a, b)
    return result_of(ctx, applied("sqrt", sfpu.stored(squares, wide=True), wide=wide))


@elementwise_kernel("ttnn.ldexp")
def ldexp(ctx: Context, lhs: Tensor, rhs: Tensor, **others: Any) -> Tensor:
    """A product with a power of two, by the matrix unit for 16-bit numbers."""
    if not _of_floats(lhs, rhs, others):
        return otherwise(ctx, others)(lhs, rhs)
    wide = in_float32(ctx)
    a, b = torch.broadcast_tensors(loaded(lhs), _before("exp2", rhs, DataType.BF16, wide=wide))
    if wide:
        return result_of(ctx, sfpu.stored(a * b, wide=True))
    return result_of(ctx, product_of_matrix_unit(a, b, wide=False))


_LOG1P = tuple(map(float.fromhex, ("-0x1.f48448p-2", "0x1.074d5ap-2", "-0x1.3402cep-4")))


@elementwise_kernel("ttnn.logaddexp", "ttnn.logaddexp2")
def logaddexp(ctx: Context, lhs: Tensor, rhs: Tensor, **others: Any) -> Tensor:
    """The larger number and a logarithm of what the other adds to it (``calculate_sfpu_logaddexp``)."""
    if not _of_floats(lhs, rhs, others):
        return otherwise(ctx, others)(lhs, rhs)
    a, b = torch.broadcast_tensors(loaded(lhs), loaded(rhs))
    largest, gap = sfpu.maximum(a, b), size_of(sfpu.add(a, negative(b)))
    undefined = gap.isnan()
    largest, gap = torch.where(undefined, sfpu.add(a, b), largest), torch.where(undefined, 0.0, gap)
    base_two, wide = ctx.op == "ttnn.logaddexp2", in_float32(ctx)
    if wide:
        power = functions.exponential_of_float32(sfpu.multiply(gap, -0.693147182) if base_two else negative(gap))
        more = functions.log_of_1_and(power, wide=True)
        return result_of(ctx, sfpu.mad(more, 1.442695041, largest) if base_two else sfpu.add(largest, more))
    if base_two:
        y = curves.exp2_of_bfloat16(negative(gap))
    else:
        y = functions.exponential_of_bfloat16(negative(sfpu.minimum(gap, 88.0)))
    more = sfpu.mad(sfpu.polynomial(y, *_LOG1P), sfpu.multiply(y, y), y)
    result = sfpu.mad(more, 1.442695041, largest) if base_two else sfpu.add(largest, more)
    return result_of(ctx, sfpu.stored(sfpu.to_bfloat16(result), wide=False))


_XLOGY = (-1.49277612, 2.11263230, -0.72910421, 0.10968964)


@elementwise_kernel("ttnn.xlogy")
def xlogy(ctx: Context, lhs: Tensor, rhs: Tensor, **others: Any) -> Tensor:
    """A product with a logarithm, which the accumulator holds; NaN for negative numbers and -0
    (``calculate_sfpu_binary``)."""
    if not _of_floats(lhs, rhs, others):
        return otherwise(ctx, others)(lhs, rhs)
    a, b = torch.broadcast_tensors(*map(loaded, broadcast_by_packer(ctx, lhs, rhs)))
    wide = in_float32(ctx)
    logarithm = sfpu.stored(functions.cubic_log(b, _XLOGY, 0.69314718), wide=wide)
    result = torch.where(b.signbit() | b.isnan(), torch.nan, sfpu.multiply(logarithm, a))
    return result_of(ctx, sfpu.stored(result, wide=wide))


@elementwise_kernel("ttnn.nextafter")
def nextafter(ctx: Context, lhs: Tensor, rhs: Tensor, **others: Any) -> Tensor:
    """The neighbour of a number in the direction of another, by one step of its bits, of bfloat16 by 2**16
    (``calculate_sfpu_binary``)."""
    if not _of_floats(lhs, rhs, others):
        return otherwise(ctx, others)(lhs, rhs)
    a, b = torch.broadcast_tensors(*map(loaded, broadcast_by_packer(ctx, lhs, rhs)))
    step = 1 if in_float32(ctx) else 1 << 16
    away = (a < b) == (a >= 0)
    result = sfpu.number(sfpu.bits(a) + torch.where(a == b, 0, torch.where(away, step, -step)).to(torch.int32))
    tiny = sfpu.number(torch.full_like(sfpu.bits(a), step))
    result = torch.where((a == 0) & (b != 0), sfpu.with_sign(tiny, b), result)
    result = torch.where((a == 0) & (b == 0), b, result)
    return result_of(ctx, torch.where(a.isnan() | b.isnan(), torch.nan, result))


@elementwise_kernel("ttnn.where")
def where(ctx: Context, first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """A choice: the packer makes an infinity of a NaN of 16 bits, and a zero of a denormal. A condition of floats holds
    unless all bits are zero, which those of -0 are not."""
    first = sfpu.bits(first.to(torch.float32)) != 0 if first.is_floating_point() else first
    chosen = otherwise(ctx, {})(first, second, third)
    return result_of(ctx, loaded(chosen, keeps_denormals=True)) if chosen.is_floating_point() else chosen


_ITERATED = (2.0, 3.0)
"""Exponents of which TT-NN computes products; for 0 and 1 it computes nothing."""


@elementwise_kernel("ttnn.pow_tensor")
def pow_tensor(ctx: Context, lhs: Tensor, rhs: Tensor, **functions_of_operands: object) -> Tensor:
    """A power of two tensors."""
    if not lhs.is_floating_point() or not rhs.is_floating_point() or functions_of_operands:
        return otherwise(ctx, dict(functions_of_operands))(lhs, rhs)
    operands = broadcast_by_packer(ctx, lhs, rhs)
    base, exponent = torch.broadcast_tensors(*(loaded(each, keeps_denormals=True) for each in operands))
    wide = in_float32(ctx)
    return result_of(ctx, sfpu.stored(powers.of_registers(base, exponent, wide=wide), wide=wide))


@elementwise_kernel("ttnn.pow_scalar")
def pow_scalar(ctx: Context, lhs: Tensor, rhs: float) -> Tensor:
    """A power with a number: a product for 2 and 3."""
    if not lhs.is_floating_point() or rhs in (0.0, 1.0):
        return otherwise(ctx, {"rhs": rhs})(lhs)
    x, wide = loaded(lhs), ctx.spec("lhs").layout.dtype is DataType.F32
    if rhs in _ITERATED:
        square = sfpu.multiply(x, x)
        result = square if rhs == 2 else sfpu.multiply(x, square)
        return result_of(ctx, sfpu.stored(result, wide=wide))
    return result_of(ctx, sfpu.stored(powers.power(x, float(rhs), wide=wide), wide=wide))


@elementwise_kernel("ttnn.rpow")
def rpow(ctx: Context, input: Tensor, params: tuple[float, ...]) -> Tensor:
    """A power of a number."""
    if not input.is_floating_point():
        return otherwise(ctx, {"params": params})(input)
    exponent, wide = loaded(input, keeps_denormals=True), ctx.spec("input").layout.dtype is DataType.F32
    base = torch.full_like(exponent, sfpu.single(params[0]))
    return result_of(ctx, sfpu.stored(powers.of_registers(base, exponent, wide=wide), wide=wide))


@elementwise_kernel("ttnn.bcast")
def bcast(ctx: Context, lhs: Tensor, rhs: Tensor, function: str) -> Tensor:
    """The matrix unit computes with an accumulator of 16 bits, in HiFi4, whatever the operands' types are."""
    settings = Settings(matrix_unit.PHASES["hifi4"], wide=False, approximate=False)
    compute = {"add": settings.add, "multiply": settings.multiply, "subtract": settings.subtract}[function]
    return result_of(ctx, compute(*torch.broadcast_tensors(loaded(lhs), loaded(rhs))))
