"""Type conversions as TT-NN's kernel computes them (``ckernel_sfpu_typecast.h``).

The vector unit rounds a float to a 16-bit integer and cuts it to the others. Narrow integers hold the low byte of a
number in 8 bits, and the nearest number in 16.
"""

from __future__ import annotations

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import otherwise
from tt_xla.runtime.emulator.bit_exact.registers import integer_of_float, packed, source
from tt_xla.runtime.emulator.containers import INTEGER_RANGES
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_BYTE = 0xFF


@kernel("ttnn.typecast", bit_exact=True)
def typecast(ctx: Context, input: Tensor) -> Tensor:
    """Nothing is computed where the type stays; the host rounds as with the other numerics."""
    dtype = ctx.spec("input").layout.dtype
    on_device = all(spec.layout.on_device for spec in ctx.specs)
    if dtype is ctx.dtype or not on_device or ctx.dtype.is_host_only:
        return otherwise(ctx, {})(input)
    if ctx.dtype.is_float:
        number = input.to(torch.float32)
        result = _float(number, dtype, ctx.dtype).to(ctx.container)
        return torch.where(result.isnan(), torch.nan, result)
    if dtype.is_float:
        return integer_of_float(input.to(torch.float64), ctx.dtype).to(ctx.container)
    low, high = INTEGER_RANGES[DataType.U16]
    number = input.to(torch.int64)
    if ctx.dtype is DataType.U16:
        return number.clamp(low, high).to(ctx.container)
    return (number & _BYTE if ctx.dtype is DataType.U8 else number).to(ctx.container)


@kernel("ttnn.assign", bit_exact=True)
def assign(ctx: Context, input: Tensor) -> Tensor:
    """A copy. If it has another type of floats, it passes source registers and an accumulator of 16 bits."""
    dtype = ctx.spec("input").layout.dtype
    on_device = all(spec.layout.on_device for spec in ctx.specs)
    if dtype is ctx.dtype or not on_device or not (dtype.is_float and ctx.dtype.is_float):
        return otherwise(ctx, {})(input)
    number = packed(source(input, wide=False), DataType.BF16 if ctx.dtype is DataType.F32 else ctx.dtype)
    return number.to(ctx.container)


def _float(number: Tensor, type_: DataType, dtype: DataType) -> Tensor:
    """Returns a float type's number of a float32 one, which the vector unit rounds before the packer does."""
    cuts = dtype is DataType.BFP_BF4  # of the seven bits that it rounds to first
    if not type_.is_float:
        number = packed(number, DataType.BF16) if dtype is not DataType.F32 else number
        return packed(number, dtype, rounds_first=cuts)
    nan = number.isnan()
    number = torch.where(nan, torch.nan, number)
    # The accumulator adds zero to what becomes float32, and loses the sign of a zero.
    if dtype is DataType.F32:
        return packed(number, DataType.BF16)
    if type_ is DataType.F32 and dtype is DataType.BF16:
        number = sfpu.to_nearest_even(number)
        return packed(torch.where(nan, torch.nan, number), dtype)
    result = packed(number, dtype, rounds_first=cuts)
    return torch.where(nan, torch.nan, result) if type_ is DataType.F32 and dtype is DataType.BFP_BF8 else result
