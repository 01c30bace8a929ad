"""Functions of one number as TT-NN 0.81's kernels compute them on the vector unit, by its instructions.

``wide`` says whether the accumulator, from which the functions read and to which they write, has 32 bits.
Source: the files ``ckernel_sfpu_*.h`` that TT-NN's wheel contains for Blackhole; each function names its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu

Tensor = torch.Tensor

LOG2_E = 1.4426950216293335
LOG10_E = 0.4342944920063019
_STEPS = 256.0
"""Parts of an octave that the 16 bits of :func:`fast_exponential` tell apart."""


def fast_exponential(x: Tensor, scale: float = 1.0) -> Tensor:
    """Returns ``exp(scale * x)`` by Schraudolph's method, with 16 bits of exponent and mantissa.

    Negative results, of x far below zero, are left to the packer, which makes them zeros (``calculate_exponential``
    with ``APPROXIMATION_MODE`` and without clamping).
    """
    slope = float(np.float32(_STEPS * LOG2_E) * np.float32(scale))
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


def exponential_21(x: Tensor, constant: float = 1.0017248) -> Tensor:
    """Returns ``exp(x)`` with 21 bits, before it is rounded; ``constant`` is the polynomial's first coefficient."""
    return power_of_two(sfpu.mad(x, LOG2_E, 127.0), constant)


def power_of_two(exponent: Tensor, constant: float = 1.0017248) -> Tensor:
    """Returns ``2**(exponent - 127)`` with 21 bits, of an exponent that is taken between 0 and 255."""
    exponent = sfpu.maximum(sfpu.minimum(exponent, 255.0), 0.0)
    joined = sfpu.number(sfpu.shifted(sfpu.mantissa(exponent, hidden=True), sfpu.exponent(exponent)))
    fraction = sfpu.from_integer(sfpu.mantissa(joined))
    refined = sfpu.polynomial(fraction, constant, 7.839635491371155e-08, 4.791750143340323e-15)
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


def newton_reciprocal(x: Tensor, steps: int) -> Tensor:
    """Returns ``1 / x`` by Newton's method; infinities and zeros stay as guessed (``sfpu_reciprocal_iter``)."""
    y = sfpu.approximate_reciprocal(x)
    valid: Tensor | None = None
    for _ in range(steps):
        error = sfpu.mad(x, y, -2.0)
        if valid is None:
            valid = error < 0
        y = torch.where(valid, sfpu.mad(y, negative(error), -0.0), y)
    return y


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a / b`` of float32: the quotient of the significands is refined once, then gets its exponent, in two
    factors (``calculate_sfpu_binary_div``)."""
    one = torch.full_like(sfpu.bits(a), 127)
    above, below = sfpu.with_exponent(a, one), sfpu.with_exponent(b, one)
    guess = sfpu.approximate_reciprocal(below)
    inverse = sfpu.mad(guess, negative(sfpu.mad(below, guess, -2.0)), -0.0)
    q = sfpu.multiply(above, inverse)
    q = sfpu.mad(sfpu.mad(negative(q), below, above), inverse, q)
    place, other = sfpu.exponent(a, biased=True), sfpu.exponent(b)
    total = place - other + sfpu.exponent(q, biased=True)
    half = sfpu.shifted(total, -1)
    result = sfpu.multiply(sfpu.with_exponent(q, half), sfpu.with_exponent(torch.ones_like(q), total - half))
    scale = sfpu.number(~sfpu.bits(b) & -(1 << 23))
    nan = sfpu.number(torch.where(sfpu.bits(b) & 0x7FFFFFFF > 0x7F800000, -1, 0))
    is_normal = (place >= 1) & (place < 255) & (other >= -126) & (other < 128)
    return torch.where(is_normal, result, sfpu.mad(negative(a), scale, nan))


def quotient_of_bfloat16(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a / b`` rounded to bfloat16, halves to even. The inverse of a NaN and of numbers from 2^126 is zero;
    the quotient of two zeros is undefined if both are +0 (``calculate_sfpu_binary_div``)."""
    a, b = torch.broadcast_tensors(a, b)
    result = torch.where(size_of(b) < 2.0**126, a / b, a * 0.0)
    by_zero = torch.where(sfpu.bits(a) == 0, torch.nan, sfpu.with_sign(torch.full_like(a, torch.inf), a))
    return sfpu.to_nearest_even(torch.where(sfpu.bits(b) == 0, by_zero, result))


def quotient_of_integers(a: Tensor, b: Tensor) -> Tensor:
    """Returns the quotient of integers in float32: its remainder corrects it once (``calculate_div_int32``)."""
    x, y = a.to(torch.float32), b.to(torch.float32)
    inverse = newton_reciprocal(y, 2)
    guess = sfpu.multiply(x, inverse)
    corrected = sfpu.mad(sfpu.mad(negative(guess), y, x), inverse, guess)
    corrected = torch.where(y == 0, guess, corrected)
    return torch.where((a == b) & (a != 0), 1.0, corrected)


_BY_ZERO = 1 << 16
"""Size of the whole quotient of an integer by zero."""


def rounded_quotient(lhs: Tensor, rhs: Tensor, mode: str) -> Tensor:
    """Returns quotients of integers that are rounded by ``mode``, as int64 (``calculate_div_int32_body``)."""
    a, b = torch.broadcast_tensors(lhs.to(torch.int64), rhs.to(torch.int64))
    whole = torch.div(a, torch.where(b == 0, 1, b), rounding_mode=mode)
    return torch.where(b == 0, torch.sign(a) * _BY_ZERO, whole)


def negative(x: Tensor) -> Tensor:
    """Returns a number with the other sign."""
    return sfpu.number(sfpu.bits(x) ^ -(1 << 31))


def size_of(x: Tensor) -> Tensor:
    """Returns a number without its sign."""
    return sfpu.number(sfpu.bits(x) & 0x7FFFFFFF)


def rounded(x: Tensor, *, wide: bool) -> Tensor:
    """Rounds to bfloat16 for an accumulator of 16 bits."""
    return x if wide else sfpu.to_bfloat16(x)


def _sigmoid(x: Tensor, *, wide: bool) -> Tensor:
    power = exponential_of_float32(negative(x)) if wide else exponential_21(negative(x))
    return newton_reciprocal(sfpu.add(power, 1.0), 2 if wide else 1)


def sigmoid(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logistic function (``calculate_sigmoid``)."""
    return rounded(_sigmoid(x, wide=wide), wide=wide)


def silu(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x * sigmoid(x)`` (``calculate_silu``)."""
    return rounded(sfpu.multiply(x, _sigmoid(x, wide=wide)), wide=wide)


_ERF = (
    (1.1283791065, 2.1477432549e-1, 6.2133435160e-2, 5.6230435148e-3, 6.1307044234e-4, 1.7678321456e-5, 2.7384647439e-8,
     -2.8632063387e-10),
    (1.0, 5.2367275953e-1, 1.2961706519e-1, 1.9642570987e-2, 1.9545555115e-3, 1.3179056987e-4, 1.3156344494e-6,
     -3.5153888689e-9, -6.7350725691e-12),
)  # fmt: skip
_SHORT_ERF = (
    (1.1280932447, 2.7609212279e-1, 4.5400281738e-2, 7.4481184425e-4),
    (1.0, 5.7439188334e-1, 1.3675764810e-1, 8.2844606784e-3, 2.4813862145e-5),
)
"""Coefficients of a numerator, odd in x, and of a denominator, even in x (``ERF_LUT``, ``GELU_ERF_NUM``)."""


def _erf(x: Tensor, coefficients: tuple[tuple[float, ...], tuple[float, ...]], steps: int = 2) -> Tensor:
    square = sfpu.multiply(x, x)
    numerator, denominator = (sfpu.polynomial(square, *each) for each in coefficients)
    quotient = sfpu.multiply(sfpu.multiply(numerator, x), newton_reciprocal(denominator, steps))
    return sfpu.maximum(sfpu.minimum(quotient, 1.0), -1.0)


def erf(x: Tensor, *, wide: bool, steps: int = 2) -> Tensor:
    """Returns the error function: a quotient of polynomials; an accumulator of 16 bits cuts it (``calculate_erf``).

    Args:
        steps: steps of Newton's method by which the reciprocal is computed.
    """
    clamped = sfpu.maximum(sfpu.minimum(x, 10.0), -10.0)
    return _erf(clamped, _ERF if wide else _SHORT_ERF, steps)


def gelu(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x * Phi(x)``, by the error function or by three pieces (``calculate_gelu``)."""
    if not wide:
        return sfpu.to_bfloat16(_gelu_in_pieces(x))
    error = _erf(sfpu.minimum(sfpu.multiply(x, 0.7071067811865475), 10.0), _ERF)
    result = sfpu.multiply(x, sfpu.mad(error, 0.5, 0.5))
    result = torch.where(error == -1.0, sfpu.multiply(x, 2.0**-25), result)
    return torch.where(sfpu.greater(x, -5.54259443), result, sfpu.add(x, negative(x)))


def gelu_by_tanh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns gelu's approximation by a hyperbolic tangent, which has 32 bits (``calculate_gelu_tanh``)."""
    inner = sfpu.multiply(x, sfpu.mad(0.044715, sfpu.multiply(x, x), 1.0))
    tangent = tanh(sfpu.multiply(0.7978845608028654, inner), wide=True)
    half = sfpu.multiply(x, 0.5)
    return rounded(sfpu.mad(half, tangent, half), wide=wide)


def _gelu_in_pieces(x: Tensor) -> Tensor:
    square = sfpu.multiply(x, x)
    place = sfpu.mad(square, -0.72134752044, 127.0)
    joined = sfpu.number(sfpu.shifted(sfpu.mantissa(place, hidden=True), sfpu.exponent(place)))
    refined = sfpu.polynomial(
        sfpu.from_integer(sfpu.mantissa(joined)), 1.0017248, 7.839635491371155e-08, 4.791750143340323e-15
    )
    bell = sfpu.with_exponent(refined, sfpu.exponent(joined, biased=True))
    tail = sfpu.multiply(bell, sfpu.polynomial(x, 3.0369991064e-1, 9.5413386822e-2, 1.3809983619e-2, 7.5950479368e-4))
    # Added and subtracted again, the constant rounds the tail to a grid.
    result = sfpu.multiply(x, sfpu.add(sfpu.add(tail, 0.375), -0.375))
    odd = sfpu.polynomial(
        square, 3.9894227818e-1, -6.6361041488e-2, 9.7720050615e-3, -1.0717806322e-3, 8.1812159812e-5, -3.8082057209e-6,
        7.9821413868e-8,
    )  # fmt: skip
    middle = sfpu.multiply(x, sfpu.mad(x, odd, 0.5))
    result = torch.where(x >= -3.125, middle, result)
    result = torch.where(x >= 2.78125, x, result)
    return torch.where(sfpu.greater(x, -5.54259443), result, 0.0)


_TANH = (
    0.0, 0.999004364013671875, 3.0897438526153564453125e-2, -0.4890659749507904052734375, 0.281917631626129150390625,
    -6.6649019718170166015625e-2, 5.876733921468257904052734375e-3,
)  # fmt: skip


def tanh_polynomial(x: Tensor) -> Tensor:
    """Returns the hyperbolic tangent by a polynomial of degree 6, up to 1 (``_sfpu_tanh_polynomial_``)."""
    return sfpu.with_sign(sfpu.minimum(sfpu.polynomial(size_of(x), *_TANH), 1.0), x)


def tanh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the hyperbolic tangent: a polynomial of degree 6, or ``expm1(2 x) / (expm1(2 x) + 2)``
    (``calculate_tanh``)."""
    if not wide:
        return sfpu.to_bfloat16(tanh_polynomial(x))
    doubled = sfpu.number(sfpu.bits(sfpu.add(x, x)) & 0x7FFFFFFF)
    whole = sfpu.to_integer(sfpu.multiply(x, 2 * 1.442695), 0xFF, signed=False)
    rest = sfpu.mad(sfpu.from_integer(whole), -0.6931471805599453, doubled)
    series = sfpu.polynomial(rest, 0.5, 1.666667163e-1, 4.166680202e-2, 8.331298828e-3, 1.393318176e-3, 1.974105835e-4)
    series = sfpu.mad(series, sfpu.multiply(rest, rest), rest)
    scale = sfpu.with_exponent(torch.zeros_like(x), whole + 126)
    above = sfpu.mad(series, scale, sfpu.add(scale, -0.5))
    below = sfpu.add(above, 1.0)
    guess = sfpu.approximate_reciprocal(below)
    guess = sfpu.mad(guess, sfpu.mad(negative(below), guess, 1.0), guess)
    quotient = sfpu.multiply(above, guess)
    quotient = sfpu.mad(sfpu.mad(negative(below), quotient, above), guess, quotient)
    finite = torch.where(sfpu.exponent(x, biased=True) >= 115, quotient, x)
    past = sfpu.mad(sfpu.number(sfpu.bits(doubled) - 1), 0.0, 1.0)
    return sfpu.with_sign(torch.where(whole < 61, finite, past), x)


def root_and_rest(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns guesses of ``1 / sqrt(x)`` and ``sqrt(x)``, and what is left of 1 (``_calculate_sqrt_body_``)."""
    y = sfpu.number(0x5F1110A0 - ((sfpu.bits(x) >> 1) & 0x7FFFFFFF))
    c = sfpu.multiply(negative(y), sfpu.multiply(x, y))
    y = sfpu.multiply(y, sfpu.mad(c, sfpu.add(c, 2.2533049), 2.2825186))
    root = sfpu.multiply(x, y)
    return y, root, sfpu.mad(negative(y), root, 1.0)


def sqrt(x: Tensor, *, wide: bool, checks: bool = True) -> Tensor:
    """Returns the square root (``calculate_sqrt``).

    Args:
        checks: whether negative numbers give NaN, and -0 itself.
    """
    y, root, rest = root_and_rest(x)
    # The kernel subtracts to compare, and the difference of a negative number's bits wraps.
    refined = sfpu.bits(x) - 0x7F800000 < 0
    result = torch.where(refined, sfpu.mad(rest, sfpu.multiply(root, 0.5), root), y)
    if checks:
        result = torch.where(x < 0, torch.nan, result)
        result = torch.where(sfpu.bits(x) & 0x7FFFFFFF == 0, x, result)
    return rounded(result, wide=wide)


def rsqrt(x: Tensor, *, wide: bool, approximate: bool = False, checks: bool = True) -> Tensor:
    """Returns ``1 / sqrt(x)`` (``calculate_rsqrt``).

    Args:
        checks: whether negative numbers give NaN.
    """
    if approximate:
        guess = sfpu.number(0x5F0B3892 - ((sfpu.bits(x) >> 1) & 0x7FFFFFFF))
        result = sfpu.multiply(guess, sfpu.mad(negative(guess), sfpu.multiply(x, guess), 1.89099014875))
    else:
        y, _, rest = root_and_rest(x)
        result = sfpu.mad(rest, sfpu.with_added_exponent(y, -1), y)
    if checks:
        result = torch.where(x < 0, torch.nan, result)
    edge = 0x7F800000 - sfpu.bits(x)
    special = (edge == 0) | (sfpu.bits(x) & 0x7FFFFFFF == 0)
    return rounded(torch.where(special, sfpu.number(edge), result), wide=wide)


def log(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the natural logarithm, NaN of negative numbers (``calculate_log``)."""
    return rounded(natural_log(x, wide=wide), wide=wide)


def natural_log(
    x: Tensor, *, wide: bool, factor: float | None = None, base_two: bool = False, normalises: bool = True
) -> Tensor:
    """Returns a logarithm before it is rounded (``calculate_log_body``).

    Args:
        wide: whether the series is the one for 32 bits.
        factor: what the natural logarithm is multiplied by.
        base_two: whether the logarithm of base 2 is computed, whose exponent takes no factor.
        normalises: whether denormals and -0 count as 0.
    """
    if normalises:
        x = sfpu.mad(x, 1.0, 0.0)
    place = (sfpu.bits(x) - 0x3F400000) & -(1 << 23)
    m = sfpu.add(sfpu.number(sfpu.bits(x) - place), -1.0)
    size = torch.where(place < 0, -place, place)
    power = sfpu.with_sign(sfpu.from_integer(size), sfpu.number(place))
    result = sfpu.mad(sfpu.polynomial(m, *(_LOG if wide else _SHORT_LOG)), sfpu.multiply(m, m), m)
    if base_two:
        result = sfpu.mad(power, 1.19209290e-7, sfpu.multiply(result, 1.4426950216293335))
    else:
        result = sfpu.mad(power, 0.693147182 * 1.19209290e-7, result)
    if factor is not None:
        result = sfpu.multiply(result, factor)
    halved = sfpu.with_added_exponent(x, -1)
    result = torch.where(sfpu.exponent(halved, biased=True) == 255, sfpu.multiply(result, halved), result)
    return torch.where(sfpu.bits(x) >= 0, result, torch.nan)


CUBIC_LOG = tuple(map(float.fromhex, ("-0x1.952992p+0", "0x2.4f5388p+0", "-0xd.e712ap-4", "0x2.44734p-4")))
"""Coefficients of a cubic for the natural logarithm of a number from 1 to 2, the constant one first."""


def cubic_log(x: Tensor, series: tuple[float, ...], ln2: float) -> Tensor:
    """Returns the natural logarithm of a positive number by a cubic of its mantissa (``_calculate_log_body_``).

    Args:
        series: coefficients of the cubic, the constant one first.
        ln2: what the exponent is multiplied by.
    """
    m = sfpu.with_exponent(x, torch.full_like(sfpu.bits(x), 127))
    result = sfpu.mad(sfpu.exponent(x).to(torch.float32), ln2, sfpu.polynomial(m, *series))
    return torch.where(x == 0, -torch.inf, result)


_LOG = tuple(
    float.fromhex(digits)
    for digits in (
        "-0x1p-1", "0x1.555572p-2", "-0x1.00001ap-2", "0x1.998p-3", "-0x1.55p-3", "0x1.274p-3", "-0x1.0c4p-3",
        "0x1.b84p-4", "-0x1.92cp-5",
    )
)  # fmt: skip
_SHORT_LOG = tuple(map(float.fromhex, ("-0x1.008p-1", "0x1.744p-2", "-0x1p-2")))


def log1p(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of ``1 + x``, NaN below -1 (``calculate_log1p``)."""
    return rounded(log_of_1_and(x, wide=wide), wide=wide)


def log_of_1_and(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of ``1 + x`` before it is rounded (``calculate_log1p_fp32``)."""
    above = sfpu.add(x, 1.0)
    place = (sfpu.bits(above) - 0x3F400000) & -(1 << 23)
    m = sfpu.number(sfpu.bits(x) - place)
    m = sfpu.add(m, sfpu.mad(-0.25, sfpu.number(-0x3F800000 - place), -1.0))
    size = torch.where(place < 0, -place, place)
    power = sfpu.with_sign(sfpu.from_integer(size), sfpu.number(place))
    result = sfpu.mad(sfpu.polynomial(m, *(_LOG if wide else _SHORT_LOG)), sfpu.multiply(m, m), m)
    result = sfpu.mad(power, 0.693147182 * 1.19209290e-7, result)
    result = torch.where(sfpu.bits(above) >= 0x7F800000, above, result)
    return torch.where(above >= 0, result, torch.nan)


def expm1(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``exp(x) - 1`` around multiples of ln 2, scaled by half until the end (``_sfpu_expm1_``)."""
    counted = sfpu.mad(1.442695, x, ROUNDING)
    power = sfpu.add(counted, -ROUNDING)
    scale = sfpu.number(sfpu.shifted(sfpu.bits(counted), 23) + 0x3F000000)
    if wide:
        rest = sfpu.mad(power, -1.42860677e-6, sfpu.mad(power, -0.693145752, x))
        last = float(np.nextafter(np.float32(0.5), np.float32(0)))
        series = (last, 1.666667163e-1, 4.166680202e-2, 8.333439939e-3, 1.393107930e-3, 1.974105835e-4)
        is_one = sfpu.add(power, -1.0) == 0
        linear = torch.where(is_one, sfpu.add(rest, 0.5), rest)
        result = sfpu.mad(sfpu.polynomial(rest, *series), sfpu.multiply(rest, rest), linear)
        rough = sfpu.add(scale, -0.5)
        exact = sfpu.add(sfpu.add(scale, negative(rough)), -0.5)
        far = sfpu.add(sfpu.mad(result, scale, exact), rough)
        two_less = sfpu.add(sfpu.add(power, -1.0), -1.0)
    else:
        rest = sfpu.mad(power, -0.6931471805599453, x)
        series = (0.5, 1.666259766e-01, 4.177856445e-02, 8.361816406e-03)
        result = sfpu.mad(sfpu.polynomial(rest, *series), sfpu.multiply(rest, rest), rest)
        is_one = torch.zeros_like(rest, dtype=torch.bool)
        far = sfpu.mad(scale, result, sfpu.add(scale, -0.5))
        two_less = sfpu.add(power, -2.0)
    beyond = sfpu.to_integer(size_of(two_less), 127, signed=False) >= 127
    edge = torch.where(two_less < 0, -0.5, sfpu.multiply(two_less, torch.inf))
    scaled = torch.where(is_one, result, torch.where(beyond, edge, far))
    return rounded(torch.where(power != 0, sfpu.multiply(scaled, 2.0), result), wide=wide)


def cbrt(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the cube root: a guess by a third of the exponent and a series of its error (``calculate_cube_root``)."""
    size = size_of(x)
    third = float.fromhex("-0x1.555556p-10")
    magic = float(np.float32(np.float32(1418472267.0) / np.float32(256.0) + np.float32(8388608.0)))
    y = sfpu.number(sfpu.shifted(sfpu.bits(sfpu.mad(sfpu.from_integer(sfpu.bits(size)), third, magic)), 8))
    series = tuple(map(float.fromhex, ("0x1.c09806p0", "-0x1.403e6cp0", "0x1.04cdb2p-1")))
    if not wide:
        d = sfpu.multiply(size, sfpu.multiply(y, y))
        t = sfpu.polynomial(sfpu.multiply(d, y), *series)
        return sfpu.to_bfloat16(sfpu.multiply(sfpu.with_sign(d, x), sfpu.multiply(t, t)))
    c = sfpu.multiply(sfpu.multiply(size, y), sfpu.multiply(y, y))
    y = sfpu.multiply(y, sfpu.polynomial(c, *series))
    d = sfpu.multiply(size, sfpu.multiply(y, y))
    t = sfpu.mad(sfpu.mad(d, y, -1.0), third * 256, 1.0)
    return sfpu.multiply(sfpu.with_sign(d, x), sfpu.multiply(t, t))


def mish(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x * tanh(log(1 + exp(x)))`` as a quotient of squares (``calculate_mish``)."""
    return mish_of(x, exponential(x, wide=wide), 2 if wide else 1, wide=wide)


def mish_of(x: Tensor, power: Tensor, steps: int, *, wide: bool) -> Tensor:
    """Returns :func:`mish` of x from its exponential, by a reciprocal of so many steps of Newton's method."""
    above = sfpu.add(power, 1.0)
    inverse = newton_reciprocal(sfpu.mad(above, above, 1.0), steps)
    positive = sfpu.multiply(x, sfpu.mad(inverse, -2.0, 1.0))
    negative = sfpu.multiply(x, sfpu.multiply(sfpu.multiply(power, sfpu.add(power, 2.0)), inverse))
    return rounded(torch.where(x < 8.0, torch.where(x >= 0, positive, negative), x), wide=wide)


_SINE = tuple(map(float.fromhex, ("-0x1.55554cp-3", "0x1.110edap-7", "-0x1.9f70fp-13", "0x1.5dc908p-19")))
_SHORT_SINE = tuple(map(float.fromhex, ("-0x1.5554a4p-3", "0x1.10c2a2p-7", "-0x1.8b10a4p-13")))
_MINUS_PI = tuple(map(float.fromhex, ("-0x1.92p+1", "-0x1.fbp-11", "-0x1.51p-21", "-0x1.0b4612p-33")))
"""Parts of -pi, which are subtracted one after another."""
ROUNDING = 12582912.0
"""1.5 * 2**23: added, it leaves the nearest integer in the low bits."""


def sine(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the sine, after multiples of pi are subtracted (``calculate_sine``)."""
    counted = sfpu.mad(x, 0.31830987334251404, ROUNDING)
    return _sine(x, sfpu.add(counted, -ROUNDING), counted, 1.0, wide=wide)


def cosine(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the cosine, after odd multiples of pi / 2 are subtracted (``calculate_cosine``)."""
    counted = sfpu.add(sfpu.mad(x, 0.31830987334251404, 0.5), ROUNDING)
    return _sine(x, sfpu.mad(sfpu.add(counted, -ROUNDING), 2.0, -1.0), counted, 0.5, wide=wide)


def _sine(x: Tensor, multiple: Tensor, counted: Tensor, unit: float, *, wide: bool) -> Tensor:
    rest = x
    for part in _MINUS_PI:
        rest = sfpu.mad(multiple, part * unit, rest)
    square = sfpu.multiply(rest, rest)
    rest = sfpu.number(sfpu.bits(rest) ^ sfpu.shifted(sfpu.bits(counted), 31))
    series = sfpu.polynomial(square, *(_SINE if wide else _SHORT_SINE))
    return rounded(sfpu.mad(series, sfpu.multiply(rest, square), rest), wide=wide)


_ERFC = (
    ((1.0000233650, -1.3375675678, 6.8185544014e-1, -1.5691982210e-1, 1.3746744953e-2),
     (1.0, -2.0801517367e-1, 4.3667086959e-1, -3.4568668343e-3, 2.5104774162e-2, 2.8375532478e-2)),
    ((-2.5655237550e-5, 2.1275576728e-5, -6.6162156145e-6, 9.1439767402e-7, -4.7387182178e-8),
     (1.0, -1.6457208991e-1, -2.0572184026e-1, -1.3888636231e-1, 1.2677097321e-1, -2.1375391632e-2)),
)  # fmt: skip
"""Numerator and denominator below 2.5 and above (``ERFC_LUT``)."""


def erfc(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the complementary error function: quotients of polynomials in two pieces, by the guess of a reciprocal
    (``calculate_erfc``)."""
    size = sfpu.minimum(sfpu.number(sfpu.bits(x) & 0x7FFFFFFF), 5.0)
    near, far = ([sfpu.polynomial(size, *each) for each in piece] for piece in _ERFC)
    numerator, denominator = (torch.where(size >= 2.5, *pair) for pair in zip(far, near, strict=True))
    result = sfpu.multiply(numerator, sfpu.approximate_reciprocal(denominator))
    return torch.where(sfpu.bits(x) < 0, sfpu.add(negative(result), 2.0), result)


def hardsigmoid(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x / 6 + 0.5`` between 0 and 1."""
    return sfpu.maximum(sfpu.minimum(sfpu.mad(x, 0.1666666716337204, 0.5), 1.0), 0.0)


def _exponential(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``exp(x)`` as the op computes it, which for 16 bits holds the constant in fp16
    (``_sfpu_exp_21f_bf16_tti_``)."""
    return exponential_of_float32(x) if wide else sfpu.to_bfloat16(exponential_21(x, 1.001953125))


def _reciprocal(x: Tensor, *, wide: bool) -> Tensor:
    return reciprocal(x, wide=wide)


def _negative(x: Tensor, *, wide: bool) -> Tensor:
    return negative(x)


def _logical_not(x: Tensor, *, wide: bool) -> Tensor:
    """Returns whether all bits are zero, which those of a negative zero are not."""
    return (sfpu.bits(x) == 0).to(torch.float32)


def _relu6(x: Tensor, *, wide: bool) -> Tensor:
    """Returns a number within 0 and 6, which is 6 for NaN."""
    return torch.where(x.isnan(), 6.0, x.clamp(0.0, 6.0))


def _sign(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the sign, which is that of the bits for NaN."""
    return torch.where(x.isnan(), 1.0, torch.sign(x))


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "cbrt": cbrt,
    "cos": cosine,
    "erf": erf,
    "erfc": erfc,
    "exp": _exponential,
    "expm1": expm1,
    "gelu": gelu,
    "gelu_tanh": gelu_by_tanh,
    "hardsigmoid": hardsigmoid,
    "log": log,
    "log1p": log1p,
    "logical_not": _logical_not,
    "mish": mish,
    "neg": _negative,
    "recip": _reciprocal,
    "relu6": _relu6,
    "reciprocal": _reciprocal,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "sign": _sign,
    "silu": silu,
    "sin": sine,
    "sqrt": sqrt,
    "tanh": tanh,
}
"""Functions of one number by the name of their op; each takes a register and whether the accumulator has 32 bits."""
