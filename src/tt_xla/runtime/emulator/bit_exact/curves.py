"""Activations, inverse hyperbolic functions and logarithms of other bases as TT-NN 0.81's kernels compute them.

They are made of the steps of :mod:`.functions`. Some take numbers after the register. ``wide`` says whether
the accumulator has 32 bits. Source: the files ``ckernel_sfpu_*.h`` that each function names.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tt_xla.runtime.emulator.bit_exact import fast_functions, functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.functions import LOG2_E, ROUNDING, negative, newton_reciprocal, rounded, size_of

Tensor = torch.Tensor

_MINUS_LN2 = (-0.6931152343750000, -3.19461832987e-05)
"""Parts of -ln 2, which are multiplied one after another."""


def reduced(x: Tensor, ratio: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the nearest whole numbers, int32, to ``ratio = x / ln 2``, and what is left of x."""
    counted = sfpu.add(ratio, ROUNDING)
    power = sfpu.add(counted, -ROUNDING)
    rest = sfpu.mad(power, _MINUS_LN2[1], sfpu.mad(power, _MINUS_LN2[0], x))
    return sfpu.bits(counted) - 0x4B400000, rest


def scaled(value: Tensor, power: Tensor) -> Tensor:
    """Returns ``value * 2**power``, which is zero where it would be a denormal."""
    place = sfpu.exponent(value, biased=True) + power
    return torch.where(place > 0, sfpu.with_exponent(value, place), 0.0)


_SOFTPLUS = (
    6.9310557842e-01, -4.9926245213e-01, 1.2186349183e-01, 5.6753782555e-03, -1.0528374463e-02, 2.7290175203e-03,
    -3.4358495031e-04, 2.1285692128e-05, -4.8245715334e-07,
)  # fmt: skip
_SHORT_SOFTPLUS = (
    6.9423984729e-01, -5.0932420424e-01, 1.4279095486e-01, -1.3000584069e-02, -1.8627923291e-03, 5.0152968088e-04,
    -3.1273466851e-05,
)  # fmt: skip


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, *, wide: bool) -> Tensor:
    """Returns ``log(1 + exp(beta * x)) / beta``, above the threshold x (``calculate_softplus_body``)."""
    t = sfpu.multiply(sfpu.single(beta), x)
    size = size_of(t)
    rest = sfpu.polynomial(size, *(_SOFTPLUS if wide else _SHORT_SOFTPLUS))
    tail = torch.zeros_like(x)
    if wide:
        power = _exponential_below_zero(negative(size))
        tail = sfpu.multiply(power, sfpu.mad(power, sfpu.mad(power, 0.333333343, -0.5), 1.0))
    rest = torch.where(size > 5.0, tail, rest)
    factor = float(np.float32(1) / np.float32(beta))
    result = sfpu.multiply(factor, sfpu.add(sfpu.maximum(t, 0.0), rest))
    return torch.where(t <= threshold, rounded(result, wide=wide), x)


def _exponential_below_zero(x: Tensor) -> Tensor:
    """Returns ``exp(x)`` of float32 by Taylor's series of degree 7 (``softplus_exp_negative``)."""
    power, rest = reduced(x, sfpu.multiply(x, LOG2_E))
    series = (1.0, 1.0, 0.5, 0.166666667, 0.0416666667, 0.00833333333, 0.00138888889, 0.000198412698)
    return scaled(sfpu.polynomial(rest, *series), power)


def softsign(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x / (1 + abs(x))`` (``calculate_softsign``)."""
    return sfpu.multiply(x, newton_reciprocal(sfpu.add(size_of(x), 1.0), 2))


_LOG_SIGMOID = (
    0.6924354434013367, 0.49275708198547363, 0.12142381817102432, 0.0031102809589356184, -0.00330807245336473,
    -0.00028794066747650504, 5.3185409342404455e-05, 7.1853546614875086e-06, 7.4961114648886e-08,
)  # fmt: skip


def log_sigmoid(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of the logistic function: a polynomial between -4 and 4, beyond which it is x or an
    approximate exponential, which the accumulator holds (``calculate_logsigmoid``)."""
    opposite = negative(x)
    power = fast_functions.exp(opposite, wide=wide)
    result = torch.where(sfpu.greater(4.0, opposite), negative(sfpu.polynomial(opposite, *_LOG_SIGMOID)), x)
    return torch.where(sfpu.greater(-4.0, opposite), negative(sfpu.stored(power, wide=wide)), result)


def selu(x: Tensor, scale: float = 1.0507, alpha: float = 1.67326, *, wide: bool) -> Tensor:
    """Returns ``scale * x`` above zero and ``scale * alpha * expm1(x)`` below (``calculate_selu``)."""
    factor = float(np.float32(scale) * np.float32(alpha))
    below = sfpu.multiply(factor, _exponential_less_1(x, wide=wide))
    return rounded(torch.where(x >= 0, sfpu.multiply(sfpu.single(scale), x), below), wide=wide)


def elu(x: Tensor, alpha: float = 1.0, *, wide: bool) -> Tensor:
    """Returns x above zero and ``alpha * expm1(x)`` below (``calculate_elu``)."""
    below = sfpu.multiply(sfpu.single(alpha), _exponential_less_1(x, wide=wide))
    return rounded(torch.where(x.signbit(), below, x), wide=wide)


def celu(x: Tensor, alpha: float = 1.0, *, wide: bool) -> Tensor:
    """Returns x above zero and ``alpha * expm1(x / alpha)`` below, by alpha's inverse (``calculate_celu``)."""
    inverse = float(np.float32(1.0) / np.float32(alpha))
    below = sfpu.multiply(sfpu.single(alpha), _exponential_less_1(sfpu.multiply(inverse, x), wide=wide))
    return rounded(torch.where(x.signbit(), below, x), wide=wide)


def hardmish(x: Tensor, *, wide: bool) -> Tensor:
    """Returns x by ``x / 2 + 1`` within 0 and 1; an accumulator of 16 bits keeps the first 16 (``hardmish``)."""
    scale = sfpu.minimum(sfpu.maximum(sfpu.mad(x, 0.5, 1.0), 0.0), 1.0)
    return sfpu.multiply(x, scale)


def softcap(x: Tensor, beta: float = 1.0, *, wide: bool) -> Tensor:
    """Returns ``beta * tanh(x / beta)`` by beta's inverse and the polynomial of 16-bit numbers (``_sfpu_softcap_``)."""
    inverse = float(np.float32(1.0) / np.float32(beta))
    curve = functions.tanh_polynomial(sfpu.multiply(x, inverse))
    return rounded(sfpu.multiply(curve, sfpu.single(beta)), wide=wide)


def _exponential_less_1(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``exp(x) - 1`` (``expm1_cw_clamped``)."""
    x = sfpu.maximum(x, -87.0)
    counted = sfpu.mad(x, LOG2_E, ROUNDING)
    power = sfpu.add(counted, -ROUNDING)
    rest = sfpu.mad(power, _MINUS_LN2[1], sfpu.mad(power, _MINUS_LN2[0], x))
    series = (1.0, 4.9999371171e-01, 1.6666433215e-01, 4.1875664145e-02, 8.3751315251e-03)
    if wide:
        series = (1.0, 0.5, 1.6666504741e-01, 4.1666239500e-02, 8.3691505715e-03, 1.3948583510e-03)
    part = sfpu.multiply(rest, sfpu.polynomial(rest, *series))
    scale = sfpu.with_exponent(torch.ones_like(x), sfpu.bits(counted) - 0x4B3FFF81)
    return sfpu.mad(scale, part, sfpu.add(scale, -1.0))


_TANHSHRINK = (
    3.3333331347e-01, -1.3333128393e-01, 5.3934831172e-02, -2.1660288796e-02, 8.2192532718e-03, -2.5107525289e-03,
    4.2079269770e-04,
)  # fmt: skip
_SHORT_TANHSHRINK = (3.3329936862e-01, -1.3223160803e-01, 4.8076551408e-02, -1.0762925260e-02)


def tanhshrink(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``x - tanh(x)``: an odd polynomial up to 1 (``calculate_tanhshrink``)."""
    size, square = size_of(x), sfpu.multiply(x, x)
    series = sfpu.polynomial(square, *(_TANHSHRINK if wide else _SHORT_TANHSHRINK))
    small = sfpu.multiply(sfpu.multiply(x, square), series)
    if wide:
        power = functions.exponential_of_float32(sfpu.multiply(-2.0, sfpu.minimum(size, 9.0)))
        tangent = sfpu.mad(2.0, newton_reciprocal(sfpu.add(1.0, power), 2), -1.0)
        large = sfpu.with_sign(sfpu.add(size, negative(tangent)), x)
    else:
        curve = sfpu.polynomial(size, 6.1829000893e-02, 1.0561303143, -4.0859283753e-01, 5.3348409333e-02)
        large = sfpu.add(x, negative(sfpu.with_sign(sfpu.minimum(curve, 1.0), x)))
    return rounded(torch.where(size > 1.0, large, small), wide=wide)


def exp2(x: Tensor, *, wide: bool) -> Tensor:
    """Returns ``2**x`` (``calculate_exp2``)."""
    return _exp2_of_float32(x) if wide else exp2_of_bfloat16(x)


def exp2_of_bfloat16(x: Tensor) -> Tensor:
    """Returns ``2**x`` rounded to bfloat16 (``_sfpu_exp2_bf16_``)."""
    return sfpu.to_bfloat16(functions.power_of_two(sfpu.add(x, 127.0)))


def _exp2_of_float32(x: Tensor) -> Tensor:
    whole = sfpu.to_integer(x, 0x7FFF, signed=True)
    power = sfpu.from_integer(whole)
    rest = sfpu.add(x, negative(power))
    digits = ("0x1.c6afd8p-5", "0x1.3b4p-7", "0x1.5f4p-10", "0x1.41cp-13")
    third = sfpu.polynomial(rest, *map(float.fromhex, digits))
    second = sfpu.mad(third, rest, float.fromhex("0x1.ebfba0p-3"))
    result = sfpu.mad(sfpu.mad(second, rest, float.fromhex("0x1.62e42ep-1")), rest, 1.0)
    magnitude = whole & 0x7FFFFFFF
    place = sfpu.exponent(result, biased=True) + torch.where(sfpu.bits(power) < 0, -magnitude, magnitude)
    scaled = torch.where(place < 1, 0.0, sfpu.with_exponent(result, place))
    return torch.where(place < 255, scaled, sfpu.multiply(third, torch.inf))


def _root(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the square root of a number that is not negative (``_sfpu_sqrt_ge0_``)."""
    half = sfpu.multiply(x, 0.5)
    y = sfpu.number(0x5F1110A0 - ((sfpu.bits(x) >> 1) & 0x7FFFFFFF))
    for _ in range(3 if wide else 2):
        y = sfpu.multiply(y, sfpu.mad(negative(sfpu.multiply(half, y)), y, 1.5))
    root = sfpu.multiply(x, y)
    rest = sfpu.mad(negative(root), root, x)
    return torch.where(x == 0, 0.0, sfpu.mad(sfpu.multiply(0.5, rest), y, root))


def inverse(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the reciprocal of a positive number (``_sfpu_reciprocal_gt0_``)."""
    y = sfpu.approximate_reciprocal(x)
    for _ in range(2 if wide else 1):
        y = sfpu.mad(y, sfpu.mad(negative(x), y, 1.0), y)
    return y


_LARGE = 2.0**28
_LN2 = 0.6931471805599453


def acosh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the inverse hyperbolic cosine by a logarithm of ``1 + argument``, NaN below 1 (``calculate_acosh``)."""
    less = sfpu.add(x, -1.0)
    argument = sfpu.add(less, _root(sfpu.multiply(sfpu.add(x, 1.0), less), wide=wide))
    argument = torch.where(x < _LARGE, argument, less)
    result = functions.log_of_1_and(sfpu.stored(argument, wide=wide), wide=wide)
    result = torch.where(x >= _LARGE, sfpu.add(result, _LN2), result)
    result = torch.where(x == 1, 0.0, torch.where(x < 1, torch.nan, result))
    return rounded(result, wide=wide)


_ASINH = (
    1.0, -1.666652262e-01, 7.495806366e-02, -4.417778924e-02, 2.785361186e-02, -1.484858524e-02, 4.375355784e-03,
)  # fmt: skip


def asinh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the inverse hyperbolic sine: an odd polynomial below 0.75 and a logarithm above (``calculate_asinh``)."""
    size, square = size_of(x), sfpu.multiply(x, x)
    below = inverse(sfpu.add(1.0, _root(sfpu.mad(x, x, 1.0), wide=wide)), wide=wide)
    argument = torch.where(size >= _LARGE, sfpu.add(size, -1.0), sfpu.mad(square, below, size))
    argument = torch.where(size < 0.75, 0.0, argument)
    result = functions.log_of_1_and(sfpu.stored(argument, wide=wide), wide=wide)
    result = torch.where(size >= _LARGE, sfpu.add(result, _LN2), result)
    small = sfpu.multiply(size, sfpu.polynomial(square, *_ASINH))
    return rounded(sfpu.with_sign(torch.where(size < 0.75, small, result), x), wide=wide)


def atanh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the inverse hyperbolic tangent by half a logarithm, NaN beyond 1 (``calculate_atanh``)."""
    size = size_of(x)
    inner = torch.where(size >= 1, 0.0, size)
    argument = sfpu.multiply(sfpu.add(inner, inner), inverse(sfpu.add(1.0, negative(inner)), wide=wide))
    result = functions.log_of_1_and(sfpu.stored(argument, wide=wide), wide=wide)
    result = sfpu.with_sign(sfpu.multiply(0.5, result), x)
    result = torch.where(size == 1, sfpu.with_sign(torch.full_like(x, torch.inf), x), result)
    return rounded(torch.where(size > 1, torch.nan, result), wide=wide)


def log10(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of base 10: that of base e by a factor (``calculate_log_body``)."""
    return rounded(functions.natural_log(x, wide=wide, factor=functions.LOG10_E), wide=wide)


def log2(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of base 2, exact for powers of two (``calculate_log_body``)."""
    return rounded(functions.natural_log(x, wide=wide, base_two=True), wide=wide)


def custom_root(x: Tensor) -> Tensor:
    """Returns the square root by two steps of Newton's method (``sfpu_sqrt_custom``)."""
    y = sfpu.number(0x5F370000 - ((sfpu.bits(x) >> 1) & 0x7FFFFFFF))
    half = sfpu.multiply(x, -0.5)
    for _ in range(2):
        y = sfpu.multiply(sfpu.mad(sfpu.multiply(y, y), half, 1.5), y)
    return torch.where((x != 0) & torch.isfinite(x), sfpu.multiply(y, x), x)


def erfinv(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the inverse of the error function by Winitzki's approximation (``calculate_erfinv_body``)."""
    logarithm = functions.natural_log(sfpu.mad(negative(x), x, 1.0), wide=False)
    term = sfpu.mad(-0.5, logarithm, -4.330746750799873)
    inner = sfpu.mad(term, term, negative(sfpu.multiply(logarithm, 6.802721088435375)))
    return sfpu.with_sign(custom_root(sfpu.add(term, custom_root(inner))), x)


_I0 = (
    0.25, 0.015625, 0.0004340277778, 0.000006781684028, 6.78e-08, 4.71e-10, 2.40e-12, 9.39e-15, 2.90e-17, 7.24e-20,
    1.50e-22,
)  # fmt: skip


def i0(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the modified Bessel function of order 0 by its series (``calculate_i0``)."""
    square = sfpu.multiply(x, x)
    return sfpu.mad(sfpu.polynomial(square, *_I0), square, 1.0)


_XIELU = (
    0.500000059604644775390625, 0.16666667163372039794921875, 4.16650883853435516357421875e-2,
    8.333188481628894805908203125e-3, 1.400390756316483020782470703125e-3, 1.99588379473425447940826416015625e-4,
)  # fmt: skip


def xielu(x: Tensor, positive: float = 0.8, below: float = 0.8, *, wide: bool) -> Tensor:
    """Returns the expanded integral of ELU, in four pieces (``calculate_xielu``).

    Args:
        positive: ``alpha_p``.
        below: ``alpha_n``.
    """
    half, above, under = sfpu.multiply(0.5, x), sfpu.single(positive), sfpu.single(below)
    ratio = sfpu.maximum(sfpu.multiply(x, LOG2_E), -126.5)
    power, rest = reduced(x, ratio)
    series = (1.0, 1.0, 0.5, *(float(np.float32(1) / np.float32(each)) for each in (6, 24, 120, 720, 5040)))
    large = sfpu.add(sfpu.add(scaled(sfpu.polynomial(rest, *series), power), -1.0), negative(x))
    middle = sfpu.multiply(sfpu.multiply(x, x), sfpu.polynomial(x, *_XIELU))
    small = sfpu.add(sfpu.single(-0.0000009999995427), negative(x))
    term = torch.where(x > -0.5, middle, large)
    term = torch.where(x >= sfpu.single(-1e-6), small, term)
    negative_part = sfpu.mad(under, term, half)
    return rounded(torch.where(x > 0, sfpu.mad(sfpu.multiply(above, x), x, half), negative_part), wide=wide)


def rdiv(x: Tensor, value: float, rounding_mode: str | None = None, *, wide: bool) -> Tensor:
    """Returns a number by an element: the reciprocal is rounded to bfloat16 for a narrow accumulator
    (``calculate_rdiv``).

    Args:
        rounding_mode: ``floor`` or ``trunc``, to which whole number quotients are rounded; None for none.
    """
    reciprocal = rounded(newton_reciprocal(x, 2 if wide else 1), wide=wide)
    quotient = sfpu.multiply(reciprocal, sfpu.single(value))
    rounding = {"floor": torch.floor, "trunc": torch.trunc}.get(rounding_mode or "")
    return quotient if rounding is None else rounding(quotient)


def square(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the square, rounded to nearest even (``calculate_square``)."""
    product = sfpu.multiply(x, x)
    return product if wide else sfpu.to_nearest_even(product)


def bitwise_not(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the float that has the other bits, of which an accumulator of 16 bits holds the first 16
    (``calculate_bitwise_not``)."""
    return sfpu.number(~sfpu.bits(x) if wide else ~sfpu.bits(x) & -0x10000)


def round_decimals(x: Tensor, decimals: float, *, wide: bool) -> Tensor:
    """Rounds to a number of decimals, halves to even, by powers of ten in float32 (``_calculate_round_``)."""
    coefficient, back = (float(np.float32(10.0**power)) for power in (decimals, -decimals))
    return sfpu.multiply(back, torch.round(sfpu.multiply(x, coefficient)))


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "acosh": acosh,
    "asinh": asinh,
    "atanh": atanh,
    "bitwise_not": bitwise_not,
    "celu": celu,
    "elu": elu,
    "erfinv": erfinv,
    "exp2": exp2,
    "hardmish": hardmish,
    "i0": i0,
    "log10": log10,
    "log2": log2,
    "log_sigmoid": log_sigmoid,
    "rdiv": rdiv,
    "round_decimals": round_decimals,
    "selu": selu,
    "softcap": softcap,
    "softplus": softplus,
    "softsign": softsign,
    "square": square,
    "tanhshrink": tanhshrink,
    "xielu": xielu,
}
"""Functions of one number by the name of their op; each takes a register, parameters and whether the accumulator has
32 bits."""
