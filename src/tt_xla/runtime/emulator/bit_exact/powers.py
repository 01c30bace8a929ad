"""Powers as TT-NN 0.81's kernels compute them: by a logarithm and an exponential of base 2.

Sources: ``ckernel_sfpu_binary_pow.h`` and ``ckernel_sfpu_unary_power.h``, whose accurate powers differ in the first
guess of a reciprocal and in the exponential.
"""

from __future__ import annotations

import torch

from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.functions import ROUNDING, negative, size_of

Tensor = torch.Tensor


def power(x: Tensor, exponent: float, *, wide: bool) -> Tensor:
    """Returns a power with a number (``calculate_unary_power``)."""
    exponents = torch.full_like(x, sfpu.single(exponent))
    result = _power_of_two(*_logarithm(x, exponents, 1.003, 0.244)) if wide else _of_bfloat16(x, exponents)
    result = _signed(result, x, exponents)
    at_zero = torch.where(exponents > 0, 0.0, result) if exponent >= 0 else torch.full_like(x, torch.nan)
    result = torch.where(x == 0, at_zero, result)
    return result if wide else sfpu.to_bfloat16(result)


def of_registers(base: Tensor, exponent: Tensor, *, wide: bool) -> Tensor:
    """Returns ``base ** exponent`` (``_sfpu_binary_power_``)."""
    if not wide:
        result = _signed(_of_bfloat16(base, exponent), base, exponent)
        at_zero = torch.where(exponent < 0, torch.nan, torch.where(exponent != 0, 0.0, result))
        return sfpu.to_bfloat16(torch.where(size_of(base) == 0, at_zero, result))
    total, rest = _logarithm(base, exponent, 1.0, 0.2426406871192851)
    result = _signed(_accurate_power_of_two(total, rest), base, size_of(exponent))
    nothing, infinite = (sfpu.with_sign(torch.full_like(base, each), result) for each in (0.0, torch.inf))
    at_zero = torch.where(exponent != 0, torch.where(exponent < 0, infinite, nothing), result)
    at_zero = torch.where(exponent.isnan(), torch.nan, at_zero)
    return torch.where(base == 0, at_zero, result)


def _signed(result: Tensor, base: Tensor, exponent: Tensor) -> Tensor:
    """Gives the powers of negative numbers their sign: that of an odd exponent, NaN for a fraction,
    of which -0 and denormals are some."""
    whole = sfpu.to_integer(exponent, 0x7FFF, signed=True)
    odd = sfpu.number(sfpu.shifted(whole, 31))
    is_whole = sfpu.bits(sfpu.from_integer(whole)) == sfpu.bits(exponent)
    of_negative = torch.where(is_whole, sfpu.with_sign(result, odd), torch.nan)
    return torch.where(base < 0, of_negative, result)


def _to_positive_integer(value: Tensor) -> Tensor:
    """Returns the whole part of a number, below 2**31 (``_float_to_int32_positive_``)."""
    place = sfpu.exponent(value)
    whole = sfpu.shifted(sfpu.mantissa(value, hidden=True), place - 23)
    return torch.where(place < 0, 0, torch.where(place > 30, 0x7FFFFFFF, whole))


def _of_bfloat16(base: Tensor, exponent: Tensor) -> Tensor:
    """Returns a power of the size of a number: the logarithm has 16 bits, and the exponential two factors."""
    x = sfpu.with_exponent(size_of(base), torch.full_like(sfpu.bits(base), 127))
    logarithm = sfpu.mad(sfpu.polynomial(x, *functions.CUBIC_LOG), 1.442695, sfpu.exponent(base).to(torch.float32))
    z = sfpu.maximum(sfpu.multiply(exponent, logarithm), -127.0)
    joined = _to_positive_integer(sfpu.add(sfpu.with_added_exponent(z, 23), float(0x3F800000)))
    fraction = sfpu.mantissa(sfpu.number(joined))
    first = sfpu.multiply(0.40196114e-7, sfpu.from_integer(fraction + 0xF94EE7))
    second = sfpu.from_integer(fraction + 0x560E)
    refined = sfpu.number(_to_positive_integer(sfpu.multiply(first, second)))
    return sfpu.with_exponent(refined, sfpu.exponent(sfpu.number(joined)) + 127)


def _logarithm(base: Tensor, exponent: Tensor, constant: float, slope: float) -> tuple[Tensor, Tensor]:
    """Returns the logarithm of base 2 of a power of the size of a number, as a sum of two parts: the logarithm of the
    mantissa is a series of its ratio. ``constant - slope * (m + 1)`` is the first guess of a reciprocal."""
    size = size_of(base)
    m = sfpu.with_exponent(size, torch.full_like(sfpu.bits(base), 127))
    place = sfpu.exponent(size)
    above = m >= 1.4142135381698608
    m, place = torch.where(above, sfpu.multiply(m, 0.5), m), torch.where(above, place + 1, place)
    more = sfpu.add(m, 1.0)
    inverse = sfpu.mad(-slope, more, constant)
    for _ in range(3):
        inverse = sfpu.multiply(inverse, sfpu.mad(negative(more), inverse, 2.0))
    z = sfpu.multiply(sfpu.add(m, -1.0), inverse)
    series = (1.0, 1 / 3, 0.2, 0.14285714285714285, 0.1111111111111111, 0.09090909090909091)
    logarithm = sfpu.multiply(2.0, sfpu.multiply(z, sfpu.polynomial(sfpu.multiply(z, z), *map(sfpu.single, series))))
    whole = place.to(torch.float32)
    split = sfpu.multiply(exponent, 4097.0)
    high = sfpu.add(split, negative(sfpu.add(split, negative(exponent))))
    low = sfpu.add(exponent, negative(high))
    first = sfpu.multiply(high, whole)
    second = sfpu.mad(low, whole, sfpu.multiply(exponent, sfpu.multiply(logarithm, functions.LOG2_E)))
    total = sfpu.add(first, second)
    return total, sfpu.add(second, negative(sfpu.add(total, negative(first))))


def _accurate_power_of_two(total: Tensor, rest: Tensor) -> Tensor:
    """Returns 2 to the power of a sum of two parts by the exponential of the fraction (``_sfpu_binary_power_f32_``)."""
    below = total < -127.0
    total, rest = torch.where(below, -127.0, total), torch.where(below, 0.0, rest)
    counted = sfpu.add(total, ROUNDING)
    power = sfpu.bits(counted) - 0x4B400000
    fraction = sfpu.add(sfpu.add(total, negative(sfpu.add(counted, -ROUNDING))), rest)
    result = functions.exponential_of_float32(sfpu.multiply(fraction, 0.693147180559945309))
    place = sfpu.exponent(result, biased=True) + power
    return torch.where(place >= 255, torch.inf, sfpu.with_exponent(result, place))


def _power_of_two(total: Tensor, rest: Tensor) -> Tensor:
    """Returns 2 to the power of a sum of two parts (``_sfpu_pow2_f32_accurate_hilo_``)."""
    total = sfpu.maximum(total, -126.99999)
    counted = sfpu.add(total, ROUNDING)
    power = sfpu.bits(counted) - 0x4B400000
    fraction = sfpu.add(sfpu.add(total, negative(sfpu.add(counted, -ROUNDING))), rest)
    r = sfpu.mad(fraction, 0.693359375, sfpu.multiply(fraction, -2.12194440e-4))
    series = (1.0, 1.0, 0.5, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040)
    result = sfpu.polynomial(r, *map(sfpu.single, series))
    place = sfpu.exponent(result, biased=True) + power
    return torch.where(place >= 255, torch.inf, sfpu.with_exponent(result, place))
