"""Functions of one number as TT-NN 0.81's kernels compute them on the vector unit, by its instructions.

``wide`` says whether the accumulator, from which the functions read and to which they write, has 32 bits.
Source: the files ``ckernel_sfpu_*.h`` that TT-NN's wheel contains for Blackhole; each function names its own.
"""

from __future__ import annotations

import torch

from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu

Tensor = torch.Tensor

LOG2_E = 1.4426950216293335
_STEPS = 256.0
"""Parts of an octave that the 16 bits of :func:`fast_exponential` tell apart."""


def fast_exponential(x: Tensor, scale: float = 1.0) -> Tensor:
    """Returns ``exp(scale * x)`` by Schraudolph's method, with 16 bits of exponent and mantissa.

    Negative results, of x far below zero, are left to the packer, which makes them zeros (``calculate_exponential``
    with ``APPROXIMATION_MODE`` and without clamping).
    """
    slope = float(torch.tensor(_STEPS * LOG2_E) * torch.tensor(scale))
    integer = sfpu.to_integer(sfpu.mad(slope, x, 32500.818359375), 0x7FFF, signed=True)
    return sfpu.with_sign(sfpu.number(sfpu.shifted(integer, 15)), sfpu.number(integer))


def exponential(x: Tensor, *, wide: bool, scale: float | None = None) -> Tensor:
    """Returns ``exp(scale * x)`` in the kernel's accurate mode (``_ckernel_sfpu_exp_accurate_``)."""
    if scale is not None:
        x = sfpu.multiply(x, scale)
    return exponential_of_float32(x) if wide else exponential_of_bfloat16(x)


def exponential_of_bfloat16(x: Tensor) -> Tensor:
    """Returns ``exp(x)`` rounded to bfloat16: a polynomial of degree 2 of the fraction (``_sfpu_exp_21f_bf16_``)."""
    return sfpu.to_bfloat16(exponential_21(x))


def exponential_21(x: Tensor) -> Tensor:
    """Returns ``exp(x)`` with 21 bits, before it is rounded."""
    exponent = sfpu.maximum(sfpu.minimum(sfpu.mad(x, LOG2_E, 127.0), 255.0), 0.0)
    joined = sfpu.number(sfpu.shifted(sfpu.mantissa(exponent, hidden=True), sfpu.exponent(exponent)))
    fraction = sfpu.from_integer(sfpu.mantissa(joined))
    refined = sfpu.polynomial(fraction, 1.0017248, 7.839635491371155e-08, 4.791750143340323e-15)
    return sfpu.with_exponent(refined, sfpu.exponent(joined, biased=True))


def exponential_of_float32(x: Tensor) -> Tensor:
    """Returns ``exp(x)`` by a polynomial of degree 6 around multiples of ln 2 (``_sfpu_exp_fp32_accurate_``)."""
    whole = sfpu.to_integer(sfpu.multiply(1.442695, x), 0x7FFF, signed=True)
    power = sfpu.from_integer(whole)
    rest = sfpu.mad(power, -1.42860677e-6, sfpu.mad(power, -6.93145752e-1, x))
    refined = sfpu.polynomial(rest, 1.0, 1.0, 4.99999851e-1, 1.66664720e-1, 4.16695364e-2, 8.37312452e-3, 1.37805939e-3)
    magnitude = whole & 0x7FFFFFFF
    place = sfpu.exponent(refined, biased=True) + torch.where(sfpu.bits(power) < 0, -magnitude, magnitude)
    result = sfpu.with_exponent(refined, place)
    # The kernel multiplies the polynomial before its last step by infinity, which keeps NaN.
    before = sfpu.polynomial(rest, 1.0, 4.99999851e-1, 1.66664720e-1, 4.16695364e-2, 8.37312452e-3, 1.37805939e-3)
    beyond = sfpu.multiply(before, torch.inf)
    return torch.where(place < 255, torch.where(place < 1, 0.0, result), beyond)


def reciprocal(x: Tensor, *, wide: bool, approximate: bool = False) -> Tensor:
    """Returns ``1 / x``: the instruction's 8 bits, one correction of bfloat16's last bit, or a series of degree 3
    (``calculate_reciprocal``)."""
    guess = sfpu.approximate_reciprocal(x)
    if approximate:
        return guess
    if wide:
        error = sfpu.mad(sfpu.number(sfpu.bits(x) ^ -(1 << 31)), guess, 1.0)
        series = sfpu.mad(sfpu.mad(error, error, error), error, error)
        return sfpu.mad(sfpu.minimum(series, 1.0), guess, guess)
    guess = sfpu.number(sfpu.bits(guess) | 0x8000)
    error = sfpu.mad(x, guess, -1.0)
    return sfpu.number(sfpu.bits(guess) + sfpu.shifted(sfpu.bits(error), -16))
