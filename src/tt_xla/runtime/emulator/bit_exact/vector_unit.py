"""Instructions of the vector unit (SFPU) of Blackhole, in torch, bit for bit.

Numbers are float32 tensors, integers and bit patterns int32 tensors. Functions that kernels of TT-NN build of these
instructions stand in :mod:`.functions`.

Sources: ttsim's ``fma.cpp`` (``fma_model_bh``) and ``tensix.cpp``, and the pages of the vector unit in
tt-isa-documentation.
"""

from __future__ import annotations

import torch

Tensor = torch.Tensor
Operand = Tensor | float
"""A register, or a constant that all lanes share."""

_SIGN = -(1 << 31)
_MAGNITUDE = 0x7FFFFFFF
_INFINITY = 0x7F800000
_NAN = 0x7FC00000
_MANTISSA = 0x7FFFFF
_GUARD = 3
"""Bits below a significand that take part in rounding."""


def bits(value: Tensor) -> Tensor:
    """Returns the bit pattern of float32."""
    return value.contiguous().view(torch.int32)


def number(pattern: Tensor) -> Tensor:
    """Returns the float32 that has a bit pattern."""
    return pattern.to(torch.int32).contiguous().view(torch.float32)


def mad(a: Operand, b: Operand, c: Operand) -> Tensor:
    """Returns ``a * b + c`` as SFPMAD computes it.

    Denormals are zero. The product keeps 27 bits and one more that says whether others were lost, and what an
    alignment shifts out is kept in the same way, unless nothing else is left. So the sum is rounded once, to nearest
    even, but may differ from the exact one where terms cancel.
    """
    x, y, z = (_wide(value) for value in _together(a, b, c))
    (x_exponent, x_significand), (y_exponent, y_significand), (z_exponent, z_significand) = map(_unpacked, (x, y, z))
    product_sign, z_sign = (x ^ y) & _SIGN, z & _SIGN
    product = (x_significand * y_significand) << _GUARD
    product = (product >> 23) | (product & _MANTISSA).ne(0).to(torch.int64)
    exponent = x_exponent + y_exponent - 127
    largest = torch.maximum(exponent, z_exponent)
    left = _aligned(product, largest - exponent)
    right = _aligned(z_significand << _GUARD, largest - z_exponent)
    same = product_sign == z_sign
    total = torch.where(same, left + right, (left - right).abs())
    sign = torch.where(left >= right, product_sign, z_sign)
    result = torch.where(total == 0, z_sign & product_sign, sign | _rounded(total, largest))
    z_or_zero = torch.where(z_significand != 0, z, z_sign & product_sign)
    result = torch.where((product == 0) | (exponent < 0), z_or_zero, result)
    infinite = (x_exponent == 255) | (y_exponent == 255)
    invalid = (x_exponent == 255) & ((x_significand != 0x800000) | (y_significand == 0))
    invalid |= (y_exponent == 255) & ((y_significand != 0x800000) | (x_significand == 0))
    invalid |= (z_exponent == 255) & ((z_significand != 0x800000) | (infinite & ~same))
    special = torch.where(z_exponent == 255, z, product_sign | _INFINITY)
    special = torch.where(invalid, _NAN, special)
    return number(torch.where(infinite | (exponent >= 255) | (z_exponent == 255), special, result))


def add(a: Operand, b: Operand) -> Tensor:
    """Returns ``a + b`` as SFPADD computes it."""
    return mad(a, 1.0, b)


def multiply(a: Operand, b: Operand) -> Tensor:
    """Returns ``a * b`` as SFPMUL computes it."""
    return mad(a, b, 0.0)


def polynomial(x: Tensor, *coefficients: float) -> Tensor:
    """Returns a polynomial by Horner's rule; the constant coefficient is the first."""
    result: Operand = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = mad(result, x, coefficient)
    assert isinstance(result, Tensor)
    return result


def exponent(value: Tensor, *, biased: bool = False) -> Tensor:
    """Returns the exponent, as SFPEXEXP does."""
    return ((bits(value) >> 23) & 0xFF) - (0 if biased else 127)


def mantissa(value: Tensor, *, hidden: bool = False) -> Tensor:
    """Returns the 23 bits of the mantissa, with the hidden bit if ``hidden``, as SFPEXMAN does."""
    return (bits(value) & _MANTISSA) | (0x800000 if hidden else 0)


def with_exponent(value: Tensor, place: Tensor) -> Tensor:
    """Returns a number with the sign and mantissa of ``value`` and a biased exponent, as SFPSETEXP does."""
    return number((bits(value) & ~_INFINITY) | ((place & 0xFF) << 23))


def with_added_exponent(value: Tensor, added: int) -> Tensor:
    """Returns a number by a power of two, as SFPDIVP2 does: the exponent wraps, also that of a zero, and infinities and
    NaN keep theirs."""
    place = exponent(value, biased=True)
    return with_exponent(value, torch.where(place == 255, 255, place + added))


def with_sign(value: Tensor, sign: Tensor) -> Tensor:
    """Returns ``value`` with the sign of ``sign``, as SFPSETSGN does."""
    return number((bits(value) & _MAGNITUDE) | (bits(sign) & _SIGN))


def shifted(value: Tensor, distance: Tensor | int) -> Tensor:
    """Shifts bits to the left, or with a negative distance to the right, by 5 bits of the distance, as SFPSHFT does."""
    wide = value.to(torch.int64) & 0xFFFFFFFF
    by = torch.as_tensor(distance, dtype=torch.int64, device=value.device)
    result = torch.where(by >= 0, (wide << (by & 31)) & 0xFFFFFFFF, wide >> (-by & 31))
    return _narrow(result)


def from_integer(value: Tensor) -> Tensor:
    """Returns the float32 nearest to a sign and magnitude, as SFPCAST does."""
    return number(bits((value & _MAGNITUDE).to(torch.float32)) | (value & _SIGN))


def to_integer(value: Tensor, largest: int, *, signed: bool) -> Tensor:
    """Returns the nearest integer as sign and magnitude, halves away from zero, as SFP_STOCH_RND does.

    Args:
        value: a number; magnitudes from 2**16 on, infinities and NaN become ``largest``.
        largest: the largest magnitude.
        signed: whether the sign is kept.
    """
    pattern = bits(value)
    place = exponent(value)
    significand = mantissa(value, hidden=True).to(torch.int64)
    scaled = torch.where(place >= 0, significand << place.clamp(0, 16), significand >> (-place).clamp(0, 40))
    magnitude = ((scaled >> 23) + ((scaled & _MANTISSA) >= 0x400000)).clamp(max=largest)
    magnitude = torch.where(place >= 16, largest, torch.where(place < -1, 0, magnitude)).to(torch.int32)
    return torch.where(magnitude == 0, 0, (pattern & _SIGN if signed else 0) | magnitude)


def to_bfloat16(value: Tensor) -> Tensor:
    """Rounds to bfloat16, halves away from zero, as SFP_STOCH_RND does; NaN becomes infinity, denormals zero."""
    pattern = bits(value)
    place = pattern & _INFINITY
    rounded = (pattern + 0x8000) & -0x10000
    special = torch.where(place == 0, 0, pattern & (_SIGN | _INFINITY))
    return number(torch.where((place == 0) | (place == _INFINITY), special, rounded))


def to_nearest_even(value: Tensor) -> Tensor:
    """Rounds to bfloat16, halves to even, as kernels do before they store a number in an accumulator of 16 bits."""
    return torch.where(value.isnan(), torch.nan, value.to(torch.bfloat16).to(torch.float32))


def single(value: float) -> float:
    """Returns a number rounded to float32, as TT-NN's host passes it to a kernel."""
    return float(torch.tensor(value, dtype=torch.float32, device="cpu"))


def greater(a: Operand, b: Operand) -> Tensor:
    """Returns where ``a`` is greater in the total order of signs and magnitudes, as SFPGT and SFPSWAP compare."""
    first, second = (order(bits(value)) for value in _together(a, b))
    return first > second


def order(pattern: Tensor) -> Tensor:
    """Maps signs and magnitudes to integers in the same order, and back; -0 is below 0."""
    return torch.where(pattern < 0, pattern ^ _MAGNITUDE, pattern)


def minimum(a: Operand, b: Operand) -> Tensor:
    """Returns the smaller number in the order of :func:`greater`."""
    first, second = _together(a, b)
    return torch.where(greater(first, second), second, first)


def maximum(a: Operand, b: Operand) -> Tensor:
    """Returns the larger number in the order of :func:`greater`."""
    first, second = _together(a, b)
    return torch.where(greater(first, second), first, second)


def approximate_reciprocal(value: Tensor) -> Tensor:
    """Returns SFPARECIP's reciprocal of 8 bits: infinity for zeros and denormals, zero from 2**126 on."""
    pattern = bits(value)
    magnitude = pattern & _MAGNITUDE
    table = _reciprocals(value.device)
    found = ((253 - (magnitude >> 23)) << 23) | (table[(magnitude >> 16).to(torch.int64) & 0x7F] << 16)
    found = torch.where(magnitude < 0x800000, _INFINITY, torch.where(magnitude < 0x7E800000, found, 0))
    return number(found | (pattern & _SIGN))


def stored(value: Tensor, *, wide: bool) -> Tensor:
    """Returns the accumulator's copy of a register: all of it, or the first 16 bits; denormals are zero."""
    pattern = bits(value)
    pattern = torch.where(pattern & _INFINITY == 0, pattern & _SIGN, pattern)
    return number(pattern if wide else pattern & -0x10000)


def _reciprocals(device: torch.device) -> Tensor:
    """Returns mantissas of 1 / x, of 7 bits, by the first 7 bits of x's: rounded at the middle of each interval."""
    middle = 1 + (torch.arange(128, dtype=torch.float64, device=device) + 0.5) / 128
    return torch.round((2 / middle - 1) * 128 - 0.0).to(torch.int32)


def _together(*values: Operand) -> tuple[Tensor, ...]:
    shape = next(value for value in values if isinstance(value, Tensor))
    return torch.broadcast_tensors(
        *(torch.as_tensor(value, dtype=torch.float32, device=shape.device) for value in values)
    )


def _wide(value: Tensor) -> Tensor:
    return bits(value).to(torch.int64)


def _narrow(pattern: Tensor) -> Tensor:
    """Returns the int32 of the low 32 bits of int64."""
    return ((pattern << 32) >> 32).to(torch.int32)


def _unpacked(pattern: Tensor) -> tuple[Tensor, Tensor]:
    place = (pattern >> 23) & 0xFF
    return place, torch.where(place == 0, 0, (pattern & _MANTISSA) | 0x800000)


def _aligned(significand: Tensor, distance: Tensor) -> Tensor:
    """Shifts right; the last bit says whether bits were lost, unless none is left."""
    by = distance.clamp(0, 40)
    result = significand >> by
    lost = (result << by) != significand
    return torch.where(result == 0, 0, result | lost.to(torch.int64))


def _rounded(total: Tensor, place: Tensor) -> Tensor:
    """Returns the pattern of ``total * 2**(place - 127 - 26)``, rounded to nearest even, without sign."""
    width = (total.to(torch.float64).view(torch.int64) >> 52) - 1022
    excess = width - 27
    place = place + excess
    small = place <= 0
    excess = torch.where(small, excess + 1, excess)
    right = excess.clamp(min=0)
    lost = (total & torch.where(right > 0, right | 1, 0)) != 0
    significand = torch.where(excess <= 0, total << (-excess).clamp(min=0), (total >> right) | lost.to(torch.int64))
    pattern = (torch.where(small, 0, place) << 23) + ((significand >> _GUARD) & _MANTISSA)
    pattern = pattern + (((significand & 7) + (pattern & 1)) > 4)
    pattern = torch.where(pattern >> 23 == 0, 0, pattern)
    return torch.where(place >= 255, _INFINITY, pattern)
