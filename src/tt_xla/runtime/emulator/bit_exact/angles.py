"""Tangent and its inverse, arc sine and arc cosine as TT-NN 0.81's kernels compute them, like :mod:`.functions`.

Source: ``ckernel_sfpu_trigonometry.h``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.curves import custom_root
from tt_xla.runtime.emulator.bit_exact.functions import (
    ROUNDING,
    negative,
    newton_reciprocal,
    root_and_rest,
    rounded,
    size_of,
)

Tensor = torch.Tensor

_HALF_PI = 1.5707963705062866
_MINUS_HALF_PI = tuple(map(float.fromhex, ("-0x1.92p+0", "-0x1.fbp-12", "-0x1.51p-22", "-0x1.0b4612p-34")))
"""Parts of -pi / 2, which are subtracted one after another."""
_TANGENT = (
    "0x1.555556p-2", "0x1.111072p-3", "0x1.ba5716p-5", "0x1.620abcp-6", "0x1.4787dp-7", "0x1.2b404p-10",
    "0x1.fa9f82p-9",
)  # fmt: skip
_SHORT_TANGENT = ("0x1.55953p-2", "0x1.02b98p-3", "0x1.4f1f4ep-4")
_ARC = (
    "-0x1.24p-3", "0x1.bd4p-4", "-0x1.48cp-4", "0x1.93p-5", "-0x1.4bcp-6", "0x1.01cp-8",
)  # fmt: skip
_SHORT_ARC = (0.9997878670692444, -0.3258085846900940, 0.1555790007114410, -0.04432667449736595)
_SHORT_ARC_2 = ("-0x1.54p-2", "0x1.668p-3", "-0x1.de8p-5")


def _series(x: Tensor, coefficients: tuple[str, ...]) -> Tensor:
    return sfpu.polynomial(x, *map(float.fromhex, coefficients))


def tan(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the tangent, after multiples of pi / 2 are subtracted (``calculate_tangent``)."""
    counted = sfpu.mad(x, 0.6366197466850281, ROUNDING)
    multiple = sfpu.add(counted, -ROUNDING)
    rest = x
    for part in _MINUS_HALF_PI:
        rest = sfpu.mad(multiple, part, rest)
    square = sfpu.multiply(rest, rest)
    t = sfpu.multiply(_series(square, _TANGENT if wide else _SHORT_TANGENT), square)
    near = sfpu.mad(t, rest, rest)
    guess = sfpu.approximate_reciprocal(near)
    error = sfpu.mad(negative(near), guess, 1.0)
    # Minus the reciprocal.
    far = sfpu.mad(negative(guess), error, negative(guess))
    if wide:
        left = sfpu.mad(t, rest, sfpu.mad(-1.0, near, rest))
        correction = sfpu.mad(left, far, sfpu.mad(near, far, 1.0))
        far = sfpu.mad(correction, far, far)
    return rounded(torch.where(sfpu.bits(counted) & 1 != 0, far, near), wide=wide)


def atan(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the arc tangent, beyond 1 of the reciprocal (``calculate_atan``)."""
    size = size_of(x)
    if not wide:
        beyond = sfpu.add(size, -1.0) >= 0
        a = torch.where(beyond, newton_reciprocal(size, 2), size)
        arc = sfpu.multiply(sfpu.polynomial(sfpu.multiply(a, a), *_SHORT_ARC), a)
        arc = torch.where(beyond, sfpu.mad(-1.0, arc, _HALF_PI), arc)
        return sfpu.to_bfloat16(torch.where(x.isnan(), torch.nan, sfpu.with_sign(arc, x)))
    place = sfpu.exponent(size)
    guess = sfpu.approximate_reciprocal(size)
    for _ in range(2):
        guess = sfpu.mad(guess, sfpu.mad(negative(size), guess, 1.0), guess)
    edge = sfpu.multiply(sfpu.number(sfpu.bits(size) - 1), 0.0)
    a = torch.where(place >= 0, torch.where(place < 26, guess, edge), size)
    square = sfpu.multiply(a, a)
    arc = sfpu.mad(_series(square, ("-0x1.555552p-2", "0x1.999384p-3", *_ARC)), sfpu.multiply(square, a), a)
    return sfpu.with_sign(torch.where(place >= 0, sfpu.mad(-1.0, arc, _HALF_PI), arc), x)


def atan2(y: Tensor, x: Tensor, *, wide: bool) -> Tensor:
    """Returns the angle of a point, by the arc tangent of the smaller coordinate's share (``_sfpu_atan2_``)."""
    across, up = size_of(x), size_of(y)
    small, large = sfpu.minimum(across, up), sfpu.maximum(across, up)
    inverse = newton_reciprocal(large, 2) if wide else sfpu.approximate_reciprocal(large)
    a = sfpu.multiply(small, inverse)
    square = sfpu.multiply(a, a)
    series = _series(square, ("-0x1.555558p-2", "0x1.99938ap-3", *_ARC) if wide else _SHORT_ARC_2)
    r = sfpu.mad(sfpu.multiply(series, square), a, a)
    steep, equal = sfpu.bits(small) >= sfpu.bits(across), sfpu.bits(small) >= sfpu.bits(large)
    diagonal = torch.where(large == 0, 0.0, _HALF_PI / 2)
    r = torch.where(steep, torch.where(equal, diagonal, sfpu.mad(-1.0, r, _HALF_PI)), r)
    r = torch.where(sfpu.bits(x) < 0, sfpu.mad(-1.0, r, 2 * _HALF_PI), r)
    result = sfpu.with_sign(rounded(r, wide=wide), y)
    return torch.where(sfpu.bits(large) > 0x7F800000, torch.nan, result)


_ARC_SINE = ("0x1.55578cp-3", "0x1.329a74p-4", "0x1.7dcp-5", "0x1.364p-6", "0x1.9ep-5")
_ARC_COSINE = ("0x1.555552p-3", "0x1.33411ep-4", "0x1.6acp-5", "0x1.158p-5", "0x1.cap-8", "0x1.83p-5")
_SHORT_ARC_SINE = (
    0.999978601932525634765625, 0.16771225631237030029296875, 0.06381262838840484619140625,
    0.083148844540119171142578125,
)  # fmt: skip


def asin(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the arc sine, near 1 of half the distance to it, NaN beyond (``calculate_asin``)."""
    if not wide:
        return sfpu.to_bfloat16(torch.where(size_of(x) <= 1, _short_asin(x), torch.nan))
    z, far, half = _reduced(x)
    p = sfpu.multiply(_series(sfpu.multiply(z, z), _ARC_SINE), sfpu.multiply(z, z))
    arc = sfpu.mad(p, z, z)
    arc = torch.where(far >= 0, sfpu.mad(-2.0, arc, _HALF_PI), arc)
    return torch.where(half < 0, torch.nan, sfpu.with_sign(arc, x))


def acos(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the arc cosine, NaN beyond 1 (``calculate_acos``)."""
    if not wide:
        arc = sfpu.add(_HALF_PI, negative(_short_asin(x)))
        return sfpu.to_bfloat16(torch.where(size_of(x) <= 1, arc, torch.nan))
    z, far, half = _reduced(x)
    p = sfpu.multiply(_series(sfpu.multiply(z, z), _ARC_COSINE), sfpu.multiply(z, z))
    z = sfpu.with_sign(z, sfpu.number(sfpu.bits(x) ^ sfpu.bits(far)))
    arc = sfpu.mad(p, z, z)
    arc = torch.where((sfpu.bits(z) | sfpu.bits(far)) < 0, sfpu.add(arc, _HALF_PI), arc)
    arc = torch.where(far >= 0, sfpu.add(arc, arc), arc)
    return torch.where(half < 0, torch.nan, arc)


def _reduced(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the number whose arc sine is computed, the distance of the size of x from where it is a root, and half
    the distance from 1 (``_sfpu_sqrt_endpoint_``)."""
    size = size_of(x)
    half = sfpu.multiply(sfpu.add(1.0, negative(size)), 0.5)
    far = sfpu.add(size, -0.5625)
    _, root, rest = root_and_rest(half)
    return torch.where(far < 0, size, sfpu.mad(rest, sfpu.multiply(root, 0.5), root)), far, half


def _short_asin(x: Tensor) -> Tensor:
    size = size_of(x)
    far = sfpu.add(size, -0.625)
    root = custom_root(sfpu.multiply(sfpu.add(1.0, negative(size)), 0.5))
    z = torch.where(far < 0, size, root)
    arc = sfpu.multiply(z, sfpu.polynomial(sfpu.multiply(z, z), *_SHORT_ARC_SINE))
    return sfpu.with_sign(torch.where(far >= 0, sfpu.mad(-2.0, arc, _HALF_PI), arc), x)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {"acos": acos, "asin": asin, "atan": atan, "tan": tan}
"""Functions of one number, like those of :mod:`.functions`."""
