"""Conversions between memory and registers: the unpacker fills SrcA and SrcB, the packer writes results.

A register's number is held in a float32. The accumulator (Dst) has 32 bits, or 16 with ``fp32_dest_acc_en=false``.
"""

from __future__ import annotations

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE
from tt_xla.runtime.emulator.containers import INTEGER_RANGES
from tt_xla.runtime.emulator.formats import MAGNITUDE_BITS

Tensor = torch.Tensor

_SIGN = -(1 << 31)
_INFINITY = 0xFF << 23
_TF32, _BF16 = -(1 << 13), -(1 << 16)
"""Masks of the bits of a float32 that a source register keeps."""


def source(tensor: Tensor, *, wide: bool) -> Tensor:
    """Returns operands as SrcA and SrcB hold them, in float32: the further bits of float32 are cut off.

    Args:
        tensor: the values, which bfloat16 and block floats keep.
        wide: whether the accumulator has 32 bits. If not, TT-NN lets the unpacker convert float32 to bfloat16.
    """
    bits = tensor.to(torch.float32).view(torch.int32) & (_TF32 if wide else _BF16)
    return torch.where(bits & _INFINITY == 0, bits & _SIGN, bits).view(torch.float32)


def packed(tensor: Tensor, dtype: DataType, *, rounds_first: bool = True) -> Tensor:
    """Returns the packed values of an accumulator, as a float32 tensor of values of ``dtype``.

    The packer rounds halves away from zero: to bfloat16, or for block floats to 7 significant bits before it aligns
    them. A NaN becomes an infinity.

    Args:
        tensor: the accumulator, float32.
        dtype: a float type of the result.
        rounds_first: whether numbers of block floats are rounded before they are aligned.
    """
    if dtype.is_block_float:
        return _packed_blocks(tensor, MAGNITUDE_BITS[dtype.value], rounds_first=rounds_first)
    if dtype is DataType.F32:
        return tensor
    bits = _without_nan(tensor.view(torch.int32))
    rounded = (bits + (1 << 15)) & _BF16
    return torch.where(rounded & _INFINITY == 0, 0, rounded).view(torch.float32)


def repacked(tensor: Tensor, dtype: DataType) -> Tensor:
    """Returns the packed values of elements that the unpacker brought to the accumulator, as float32. The sign of
    a NaN is lost."""
    number = tensor.to(torch.float32)
    return packed(torch.where(number.isnan(), torch.nan, number).contiguous(), dtype)


def added_in_l1(total: Tensor, sums: Tensor, dtype: DataType) -> Tensor:
    """Returns a sum of the packer, which rounds to nearest even."""
    added = total + sums
    return added.to(torch.bfloat16).to(torch.float32) if dtype is DataType.BF16 else added


def _without_nan(bits: Tensor) -> Tensor:
    return torch.where(bits & ~_SIGN > _INFINITY, (bits & _SIGN) | _INFINITY, bits)


def _packed_blocks(tensor: Tensor, magnitude: int, *, rounds_first: bool) -> Tensor:
    """Rounds blocks of 16 along the last dimension to a sign, ``magnitude`` bits and a shared exponent."""
    columns = tensor.shape[-1]
    padded = torch.nn.functional.pad(tensor, (0, -columns % FACE)).contiguous()
    bits = _without_nan(padded.view(torch.int32))
    if rounds_first:
        bits = (bits + (1 << 16)) & -(1 << 17)
    blocks = bits.reshape(*padded.shape[:-1], -1, FACE)
    exponent = (blocks >> 23) & 0xFF
    mantissa = torch.where(exponent > 0, ((blocks >> 16) & 0x7F) | 0x80, 0)
    shared = exponent.amax(-1, keepdim=True)
    distance = (shared - exponent).clamp_(max=8)
    rounded = ((mantissa + (1 << distance)) >> (distance + 1)).clamp_(max=0x7F) >> (7 - magnitude)
    values = torch.ldexp(rounded.to(torch.float32), shared - 127 - (magnitude - 1))
    values = torch.where((blocks < 0) & (rounded > 0), -values, values)
    return values.reshape(padded.shape)[..., :columns]


def integer_of_float(number: Tensor, dtype: DataType) -> Tensor:
    """Returns integers of float64 numbers. Those beyond 8 bits wrap, and beyond the other types get the nearest."""
    if dtype is DataType.U8:
        kept = torch.where(number.abs() < 1 << 31, number, 0.0)
        return kept.trunc().to(torch.int64) & 0xFF
    low, high = INTEGER_RANGES[dtype]
    within = number.nan_to_num(high, high, low).clamp(low, high)
    return torch.floor(within + 0.5) if dtype is DataType.U16 else within.trunc()
