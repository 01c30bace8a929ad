"""Functions of one number by the emulated card's own polynomials, with the same bits on every CPU.

Each has the operations of its namesake in ``cpp/emulator.h``, in the same order, and computes there where there is a
compiler. The polynomial of the exponential is Sleef's ``expf``, those of tanh and erf are minimax polynomials by
N. Juffa, those of sine and cosine are FreeBSD's, in float64, where logarithms are computed too, by their series; errors
are at most 2 ULP in float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import torch

from tt_xla.runtime.emulator.library import library

Tensor = torch.Tensor


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Returns a polynomial by Horner's rule, its highest power first; every operation is rounded."""
    result = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def _power_of_two(exponent: Tensor) -> Tensor:
    return ((exponent + 127) << 23).view(torch.float32)


def exponential(x: Tensor) -> Tensor:
    """Returns e**x of float32: the definition, in torch."""
    q = (x * 1.44269502).round()
    s = (x - q * 0.693145752) - q * 1.42860677e-06
    u = _polynomial(s, (0.000198527618, 0.00139304355, 0.00833336078, 0.0416664854, 0.166666672, 0.5))
    u = ((s * s) * u + s) + 1.0
    e = q.clamp(-200.0, 200.0).nan_to_num().to(torch.int32)
    half = e >> 1
    u = (u * _power_of_two(half)) * _power_of_two(e - half)
    return torch.where(x > 100.0, math.inf, torch.where(x < -104.0, 0.0, u))


def sigmoid(x: Tensor) -> Tensor:
    """Returns 1 / (1 + e**-x) of float32."""
    return (exponential(-x) + 1.0).reciprocal()


def silu(x: Tensor) -> Tensor:
    """Returns x / (1 + e**-x) of float32."""
    return x / (exponential(-x) + 1.0)


def tanh(x: Tensor) -> Tensor:
    """Returns the hyperbolic tangent of float32."""
    t, s = x.abs().clamp(max=10.0), x * x
    near = x + (_polynomial(s, (0.0157394409, -0.0523025580, 0.133152470, -0.333327681)) * s) * x
    far = (1.0 - 2.0 / (exponential(2.0 * t) + 1.0)).copysign(x)
    return torch.where(t < 0.599609375, near, torch.where(x.isnan(), x, far))


_ERF_NEAR = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
_ERF_FAR = (
    -1.72853470e-5,
    3.83197126e-4,
    -3.88396438e-3,
    2.42546219e-2,
    -1.06777877e-1,
    -6.34846687e-1,
    -1.28717512e-1,
)


def error_function(x: Tensor) -> Tensor:
    """Returns erf of float32."""
    t, s = x.abs().clamp(max=4.0), x * x
    near = x + _polynomial(s, _ERF_NEAR) * x
    far = (1.0 - exponential(_polynomial(t, _ERF_FAR) * t - t)).copysign(x)
    return torch.where(t < 0.927734375, near, torch.where(x.isnan(), x, far))


def gelu(x: Tensor) -> Tensor:
    """Returns x / 2 * (1 + erf(x / sqrt(2))) of float32."""
    return (x * 0.5) * (error_function(x * 0.707106769) + 1.0)


_SINE = (0.0000027183114939898219064, -0.000198393348360966317347, 0.0083333293858894631756, -0.166666666416265235595)
_COSINE = (0.0000243904487962774090654, -0.00138867637746099294692, 0.0416666233237390631894, -0.499999997251031003120)
_LARGE_ANGLE = 1048576.0
"""Angles from here on are the C library's, in float64: the parts of pi / 2 have too few bits for them."""


def _sine(x: Tensor, quarters: int) -> Tensor:
    """Returns the sine of ``x + quarters * pi / 2`` of float32."""
    is_near = x.abs() <= _LARGE_ANGLE
    angle = torch.where(is_near, x, 0.0).to(torch.float64)
    q = (angle * 0.63661977236758134308).round()
    r = torch.where(q == 0.0, angle, (angle - q * 1.57079632673412561417) - q * 6.07710050650619224932e-11)
    s, quarter = r * r, (q.to(torch.int32) + quarters) & 3
    odd = (_polynomial(s, _SINE) * s + 1.0) * r
    even = _polynomial(s, _COSINE) * s + 1.0
    value = torch.where((quarter & 1) != 0, even, odd)
    result = torch.where((quarter & 2) != 0, -value, value).to(torch.float32)
    if not bool(is_near.all()):
        library_s = math.cos if quarters else math.sin
        large = [library_s(angle) if math.isfinite(angle) else math.nan for angle in x[~is_near].tolist()]
        result[~is_near] = torch.tensor(large, dtype=torch.float32, device=x.device)
    return result


def sine(x: Tensor) -> Tensor:
    """Returns the sine of float32."""
    return _sine(x, 0)


def cosine(x: Tensor) -> Tensor:
    """Returns the cosine of float32."""
    return _sine(x, 1)


_LOGARITHM = (0.090909090909090912, 0.1111111111111111, 0.14285714285714285, 0.2, 0.3333333333333333)
_ROOT_OF_HALF = 0x3FE6A09E00000000
"""Bits of a float64 next to the square root of 1/2."""


def _logarithm(x: Tensor, one: float) -> Tensor:
    """Returns the logarithm of ``one + x`` of float32; ``one`` is 0 or 1."""
    wide = x.to(torch.float64)
    y = wide + one
    u = y.view(torch.int64)
    k = (u - _ROOT_OF_HALF) >> 52
    m = (u - (k << 52)).view(torch.float64)
    f = torch.where((k == 0) & (one != 0), wide, m - 1.0)
    s = f / (f + 2.0)
    t = s * s
    near = (_polynomial(t, _LOGARITHM) * t) * s + s
    value = torch.where(k == 0, near + near, k.to(torch.float64) * 0.6931471805599453 + (near + near))
    value = torch.where(y.isinf(), y, value)
    special = torch.where(y == 0.0, -math.inf, math.nan)
    return torch.where(y > 0.0, value, special).to(torch.float32)


def logarithm(x: Tensor) -> Tensor:
    """Returns the natural logarithm of float32."""
    return _logarithm(x, 0.0)


def logarithm_of_one_plus(x: Tensor) -> Tensor:
    """Returns log(1 + x) of float32."""
    return _logarithm(x, 1.0)


DEFINITIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "cos": cosine,
    "exp": exponential,
    "gelu": gelu,
    "log": logarithm,
    "log1p": logarithm_of_one_plus,
    "sigmoid": sigmoid,
    "silu": silu,
    "sin": sine,
    "tanh": tanh,
}
"""Functions by their names in TT-NN, in torch."""


def _computed(x: Tensor, name: str) -> Tensor:
    wide = x.to(torch.float32)
    compiled = library() if wide.device.type == "cpu" else None
    if compiled is None:
        result = DEFINITIONS[name](wide)
    else:
        wide = wide if wide.is_contiguous() or _is_dense(wide) else wide.contiguous()
        result = torch.empty_like(wide)
        compiled.functions[name](*(each.as_strided((each.numel(),), (1,)) for each in (wide, result)), wide.numel())
    return result.to(x.dtype) if x.dtype is torch.bfloat16 else result


def _is_dense(x: Tensor) -> bool:
    """Whether the elements fill their memory, in whatever order."""
    return torch.empty_like(x).stride() == x.stride()


APPROXIMATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    name: functools.partial(_computed, name=name) for name in DEFINITIONS
}
"""Functions by their names in TT-NN: each takes a float tensor and returns one of the same dtype, integers float32."""
