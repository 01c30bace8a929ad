"""Hyperbolic functions, logit, and special functions as TT-NN 0.81's kernels compute them.

``wide`` says whether the accumulator has 32 bits. Source: the files ``ckernel_sfpu_*.h`` that each function names.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.curves import inverse
from tt_xla.runtime.emulator.bit_exact.functions import negative, newton_reciprocal, rounded, size_of

Tensor = torch.Tensor


def _counted(x: Tensor, *, wide: bool) -> tuple[Tensor, Tensor]:
    """Returns the nearest whole multiples of ln 2 in the size of x, int32 up to 255, and what is left of the size."""
    whole = sfpu.to_integer(sfpu.multiply(x, 1.442695), 0xFF, signed=False)
    count, size = sfpu.from_integer(whole), size_of(x)
    if not wide:
        return whole, sfpu.mad(count, -0.6931471805599453, size)
    return whole, sfpu.mad(count, -1.42860677e-6, sfpu.mad(count, -0.693145752, size))


def cosh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the hyperbolic cosine by a quarter of ``exp(abs(x))`` (``calculate_cosh``)."""
    whole, rest = _counted(x, wide=wide)
    series = (1.0, 0.999963462, 0.500122011, 0.168174848, 0.038877178)
    if wide:
        series = (1.0, 1.0, 4.99999851e-1, 1.66664720e-1, 4.16695364e-2, 8.37312452e-3, 1.37805939e-3)
    scaled = sfpu.multiply(sfpu.polynomial(rest, *series), sfpu.number((whole + 125) << 23))
    quarter = torch.where(whole + 125 < 255, scaled, sfpu.multiply(size_of(x), torch.inf))
    doubled = sfpu.add(quarter, quarter)
    other = sfpu.multiply(inverse(quarter, wide=wide), 0.125)
    return rounded(torch.where(sfpu.exponent(quarter) < 24, sfpu.add(doubled, other), doubled), wide=wide)


def sinh(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the hyperbolic sine by a quarter of ``exp(abs(x)) - 1`` (``_sfpu_sinh_``)."""
    whole, rest = _counted(x, wide=wide)
    series = (0.5, 1.666259766e-01, 4.177856445e-02, 8.361816406e-03)
    if wide:
        series = (4.999999702e-1, 1.666667163e-1, 4.166680202e-2, 8.333439939e-3, 1.393107930e-3, 1.974105835e-04)
    part = sfpu.mad(sfpu.polynomial(rest, *series), sfpu.multiply(rest, rest), rest)
    scale = sfpu.number((whole << 23) + 0x3E800000)
    near = sfpu.mad(part, scale, sfpu.add(scale, -0.25))
    quarter = torch.where(whole < 130, near, sfpu.multiply(size_of(x), torch.inf))
    below = inverse(sfpu.mad(4.0, quarter, 1.0), wide=wide)
    doubled = sfpu.add(quarter, quarter)
    place = sfpu.exponent(quarter)
    result = torch.where(place < 23, sfpu.mad(doubled, below, doubled), doubled)
    return rounded(sfpu.with_sign(torch.where(place >= -27, result, x), x), wide=wide)


_I1 = (
    (4.9992737740e-01, 5.4503594600e-02, 1.6126291630e-03, 2.0223499130e-05),
    (1.0, -1.6242591070e-02, 1.0333660750e-04, -2.5076132990e-07),
)
_LONG_I1 = (
    (5.0000000000e-01, 5.6819390506e-02, 1.9247245509e-03, 2.8397364076e-05, 2.0916867527e-07, 7.7937084564e-10,
     1.2293555930e-12),
    (1.0, -1.1361218989e-02, 6.1268139689e-05, -1.9771712800e-07, 3.8127551116e-10, -3.1218170410e-13,
     -3.0635529988e-16, 7.4301498523e-19),
)  # fmt: skip
"""Numerator, odd in x, and denominator up to 10."""
_I1_TAIL = (
    3.9894228967e-01, -1.4960495444e-01, -4.6652925320e-02, -4.3674591560e-02, -1.9748322314e-02, -3.3467922914e-01,
)  # fmt: skip


def i1(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the modified Bessel function of order 1: a quotient of polynomials, and from 10 on an exponential by a
    root (``calculate_i1``)."""
    x = sfpu.maximum(sfpu.minimum(x, 88.5), -88.5)
    size, square = size_of(x), sfpu.multiply(x, x)
    above, below = (sfpu.polynomial(square, *each) for each in (_LONG_I1 if wide else _I1))
    near = sfpu.multiply(sfpu.multiply(above, x), newton_reciprocal(below, 2))
    power = functions.exponential_of_float32(size) if wide else functions.exponential_21(size)
    y = sfpu.number(0x5F1110A0 - (sfpu.bits(size) >> 1))
    c = sfpu.multiply(negative(y), sfpu.multiply(size, y))
    y = sfpu.multiply(y, sfpu.mad(c, sfpu.add(c, 2.2533049), 2.2825186))
    c = sfpu.mad(negative(y), sfpu.multiply(size, y), 1.0)
    y = sfpu.mad(c, sfpu.multiply(y, 0.5), y)
    tail = sfpu.multiply(sfpu.multiply(power, y), sfpu.polynomial(sfpu.multiply(y, y), *_I1_TAIL))
    return rounded(torch.where(size > 10.0, sfpu.with_sign(tail, x), near), wide=wide)


_DIGAMMA = (
    (-3.3767190625e05, -6.0287050000e05, 2.1532992188e05, 2.1398454688e05, 1.9496867188e04, 2.4847094727e02,
     8.7151519954e-02),
    (1.0, 3.3760150000e05, 4.0892268750e05, 9.9775718750e04, 5.1246479492e03, 4.1351390839e01),
)  # fmt: skip
_LONG_DIGAMMA = (
    ((-4.2596286535e-01, -1.2459139824, -7.0374596119e-01, 3.5418295860e-01, 3.9686101675e-01, 1.0760356486e-01,
      1.1159370653e-02, 4.5299832709e-04, 6.4513715188e-06, 2.3348954770e-08, 3.3629592167e-12),
     (-6.3762914866e-08, 4.2596703768e-01, 1.0, 8.2736301422e-01, 3.0081826448e-01, 4.9985647202e-02,
      3.7117889151e-03, 1.1463041301e-04, 1.2610012732e-06, 3.3732798776e-09)),
    ((1.3856337913e05, -2.7915017828e05, 5.5189096727e04, 2.6230285816e04, 2.0102400217e03, 5.4774037756e01,
      6.1410588531e-01, 2.8495312547e-03, 4.9248967852e-06, 2.2963254970e-09, 3.8530168912e-14),
     (-1.6724299601e05, 1.0, 6.3677231206e04, 1.1013851737e04, 5.9383811201e02, 1.2890647910e01, 1.2061770104e-01,
      4.7490052009e-04, 6.9240316615e-07, 2.5925175628e-10)),
)  # fmt: skip
"""Numerators and denominators below 51.005 and above."""


def digamma(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithmic derivative of the gamma function: quotients of polynomials, and from 102 on a logarithm
    with corrections (``calculate_digamma``)."""
    if wide:
        near, far = ([sfpu.polynomial(x, *each) for each in piece] for piece in _LONG_DIGAMMA)
        above, below = (torch.where(x >= 51.005, *pair) for pair in zip(far, near, strict=True))
    else:
        above, below = (sfpu.polynomial(x, *each) for each in _DIGAMMA)
    result = sfpu.multiply(above, newton_reciprocal(below, 2))
    one = newton_reciprocal(x, 2)
    square = sfpu.multiply(one, one)
    bern = sfpu.mad(negative(square), 0.0083333333, 0.0833333333)
    large = sfpu.mad(negative(one), 0.5, functions.cubic_log(x, functions.CUBIC_LOG, 0.692871))
    large = sfpu.mad(negative(square), bern, large)
    return torch.where(sfpu.greater(x, 102.0), torch.where(x == torch.inf, torch.inf, large), result)


_LOG_ROOT_2PI, _LOG_PI = 0.9189385332046727, 1.1447298858
_NEAR_1 = (-0.57721566, 0.82246703, -0.40068563, 0.27058081, -0.20738555)
_NEAR_2 = (0.42278434, 0.32246703, -0.06735230, 0.02058081, -0.00738555)
_STIRLING = (0.0833333333, -0.0027777777, 0.0007936507, -0.0005952380)


def lgamma(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the logarithm of the gamma function by Stirling's series, reflected below 0.5 (``lgamma_kernel.cpp``,
    ``lgamma_fast_kernel.cpp``)."""
    z = torch.where(x < 0.5, sfpu.add(1.0, negative(x)), x)
    stirling = sfpu.stored(_stirling_of_float32(z) if wide else _stirling_of_bfloat16(x, z), wide=wide)
    fraction = sfpu.stored(x - torch.trunc(x), wide=wide)
    pi = sfpu.stored(torch.full_like(x, math.pi), wide=wide)
    turned = sfpu.multiply(fraction, pi)
    turned = turned if wide else sfpu.to_nearest_even(turned)
    sine = torch.where(x == torch.floor(x), 0.0, sfpu.stored(functions.sine(turned, wide=wide), wide=wide))
    logarithm = sfpu.stored(functions.log(size_of(sine), wide=wide), wide=wide)
    reflected = sfpu.add(sfpu.add(_LOG_PI, negative(logarithm)), negative(stirling))
    result = rounded(torch.where(x < 0.5, reflected, stirling), wide=wide)
    return torch.where(x.isinf(), torch.inf, result) if wide else result


def _stirling_of_bfloat16(x: Tensor, z: Tensor) -> Tensor:
    logarithm = functions.cubic_log(z, functions.CUBIC_LOG, 0.692871)
    result = sfpu.add(sfpu.mad(sfpu.add(z, -0.5), logarithm, negative(z)), _LOG_ROOT_2PI)
    one = newton_reciprocal(z, 2)
    result = sfpu.mad(one, sfpu.mad(sfpu.multiply(one, one), _STIRLING[1], _STIRLING[0]), result)
    return sfpu.to_bfloat16(torch.where((x == 1) | (x == 2), 0.0, result))


def _stirling_of_float32(z: Tensor) -> Tensor:
    """Returns the logarithm by a polynomial around its zeros, 1 and 2, and by the series elsewhere."""
    first, second = sfpu.add(z, -1.0), sfpu.add(z, -2.0)
    logarithm = sfpu.stored(functions.log(z, wide=True), wide=True)
    far = sfpu.add(sfpu.mad(sfpu.add(z, -0.5), logarithm, negative(z)), _LOG_ROOT_2PI)
    one = newton_reciprocal(z, 2)
    far = sfpu.mad(one, sfpu.polynomial(sfpu.multiply(one, one), *_STIRLING), far)
    result = torch.where(size_of(second) <= 0.25, sfpu.multiply(second, sfpu.polynomial(second, *_NEAR_2)), far)
    near = sfpu.multiply(first, sfpu.polynomial(first, *_NEAR_1))
    result = torch.where(size_of(first) <= 0.25, near, result)
    return torch.where(size_of(sfpu.add(z, -0.5)) < 0.01, sfpu.single(0.57236494), result)


def logit(x: Tensor, eps: float | None = None, *, wide: bool) -> Tensor:
    """Returns ``log(x / (1 - x))`` of a number between ``eps`` and ``1 - eps`` (``logit_kernel.cpp``)."""
    if eps is not None:
        x = sfpu.maximum(sfpu.minimum(x, sfpu.single(1.0 - eps)), sfpu.single(eps))
    other = sfpu.add(1.0, negative(x))
    if wide:
        return functions.log(sfpu.stored(functions.quotient(x, other), wide=True), wide=True)
    ratio = functions.quotient_of_bfloat16(x, sfpu.to_nearest_even(other))
    return functions.log(sfpu.stored(ratio, wide=True), wide=False)


_FACTORIALS = {2: 2.0000002384185791, 3: 6.000000476837158, 5: 120.00000762939453, 9: 362880.03125, 11: 39916804.0}
"""Factorials that TT-NN's host computes in float32 otherwise than exactly (``std::tgamma``)."""


def polygamma(x: Tensor, order: float, *, wide: bool) -> Tensor:
    """Returns a derivative of :func:`digamma`: six terms of its series and a tail (``calculate_polygamma``)."""
    n = int(order)
    scale = (-1) ** (n + 1) * _FACTORIALS.get(n, float(math.factorial(n)))
    steps = 2 if wide else 1
    total = torch.zeros_like(x)
    for term in range(6):
        one = newton_reciprocal(sfpu.add(x, float(term)), steps)
        total = sfpu.mad(*_last_factors(one, n + 1, torch.full_like(x, scale)), total)
    series = [float(np.float32(scale) / np.float32(n))]
    for count, divisor in ((1, 12), (3, -720), (5, 30240)):
        product = np.float32(scale) * np.float32(math.prod(range(n + 1, n + 1 + count)))
        series.append(float(product * (np.float32(1) / np.float32(divisor))))  # as the kernel's compiler divides
    one = newton_reciprocal(sfpu.add(x, 6.0), steps)
    square = sfpu.multiply(one, one)
    tail = sfpu.mad(0.5 * scale, one, sfpu.polynomial(square, *series))
    if n == 1:
        return rounded(sfpu.mad(tail, one, total), wide=wide)
    tail = sfpu.multiply(tail, one) if n & 1 else tail
    return rounded(sfpu.mad(*_last_factors(square, n >> 1, tail), total), wide=wide)


def _last_factors(x: Tensor, power: int, value: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the last two factors of ``value * x**power``, which the kernel multiplies bit by bit of the power."""
    while True:
        if power & 1:
            if power == 1:
                return value, x
            value = sfpu.multiply(value, x)
        power >>= 1
        if power == 1:
            return sfpu.multiply(value, x), x
        x = sfpu.multiply(x, x)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "cosh": cosh,
    "digamma": digamma,
    "i1": i1,
    "lgamma": lgamma,
    "logit": logit,
    "polygamma": polygamma,
    "sinh": sinh,
}
"""Functions of one number by the name of their op; each takes a register, parameters and whether the accumulator has
32 bits."""
