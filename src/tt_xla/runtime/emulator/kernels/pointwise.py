"""Elementwise functions of TT-NN that compiled programs do not use: computed in float32 and rounded once.

Integers stay integers where a function has an exact result for them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.functions import FUNCTIONS, in_whole_vectors
from tt_xla.runtime.emulator.kernels.elementwise import Functions, applied
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def _logit(x: Tensor, eps: float | None = None) -> Tensor:
    return torch.logit(x, eps)


def _round(x: Tensor, decimals: int) -> Tensor:
    return torch.round(x, decimals=decimals)


def _heaviside(x: Tensor, value: float) -> Tensor:
    return torch.heaviside(x, torch.full_like(x, value))


def _rdiv(x: Tensor, value: float, rounding_mode: str | None = None) -> Tensor:
    return torch.div(value, x, rounding_mode=rounding_mode)


def _rpow(x: Tensor, base: float) -> Tensor:
    return torch.pow(base, x)


def _selu(x: Tensor, scale: float, alpha: float) -> Tensor:
    return scale * torch.where(x > 0, x, alpha * torch.expm1(x))


def _softcap(x: Tensor, beta: float) -> Tensor:
    return beta * torch.tanh(x / beta)


def _relu_max(x: Tensor, limit: float) -> Tensor:
    return x.clamp(0, limit)


def _relu_min(x: Tensor, limit: float) -> Tensor:
    return x.clamp(min=limit)


def _hardmish(x: Tensor) -> Tensor:
    return x * (x * 0.5 + 1.0).clamp(0.0, 1.0)


def _polygamma(x: Tensor, order: int) -> Tensor:
    return torch.special.polygamma(int(order), x)


def _xielu(x: Tensor, positive: float, negative: float) -> Tensor:
    """Returns the xIELU of "Deriving Activation Functions Using Integration" (arXiv:2411.13010), with beta 0.5."""
    below = negative * (torch.expm1(x.clamp(max=-1e-6)) - x) + 0.5 * x
    return torch.where(x > 0, positive * x * x + 0.5 * x, below)


def _against_zero(comparison: Callable[..., Tensor], x: Tensor) -> Tensor:
    return comparison(x, 0)


def _with(function: Callable[..., Tensor], params: Sequence[float], x: Tensor) -> Tensor:
    return function(x, *params)


_UNARY: dict[str, Callable[..., Tensor]] = {
    "acosh": torch.acosh,
    "celu": F.celu,
    "cosh": torch.cosh,
    "deg2rad": torch.deg2rad,
    "digamma": torch.digamma,
    "elu": F.elu,
    "erfinv": torch.erfinv,
    "exp2": torch.exp2,
    "frac": torch.frac,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "hardmish": _hardmish,
    "hardshrink": F.hardshrink,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "heaviside": _heaviside,
    "i0": torch.i0,
    "i1": torch.special.i1,
    "isinf": torch.isinf,
    "isnan": torch.isnan,
    "isneginf": torch.isneginf,
    "isposinf": torch.isposinf,
    "lgamma": torch.lgamma,
    "log10": torch.log10,
    "log10_approx": torch.log10,
    "log2": torch.log2,
    "log2_approx": torch.log2,
    "log_sigmoid": F.logsigmoid,
    "logit": _logit,
    "polygamma": _polygamma,
    "rad2deg": torch.rad2deg,
    "rdiv": _rdiv,
    "round_decimals": _round,
    "rpow": _rpow,
    "selu": _selu,
    "signbit": torch.signbit,
    "sinh": torch.sinh,
    "softcap": _softcap,
    "softplus": F.softplus,
    "softshrink": F.softshrink,
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "threshold": F.threshold,
    "trunc": torch.trunc,
    "xielu": _xielu,
}
"""Functions of one number and of parameters."""

_OF_INTEGERS: dict[str, Callable[..., Tensor]] = {
    "eqz": functools.partial(_against_zero, torch.eq),
    "fill": torch.full_like,
    "gez": functools.partial(_against_zero, torch.ge),
    "gtz": functools.partial(_against_zero, torch.gt),
    "lez": functools.partial(_against_zero, torch.le),
    "ltz": functools.partial(_against_zero, torch.lt),
    "nez": functools.partial(_against_zero, torch.ne),
    "relu_max": _relu_max,
    "relu_min": _relu_min,
    "square": torch.square,
}
"""Functions that are exact for integers."""

_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "div_no_nan": lambda a, b: torch.where(b == 0, 0, a / b),
    "floor_div": lambda a, b: torch.floor(a / b),
    "hypot": torch.hypot,
    "ldexp": lambda a, b: a * torch.exp2(b),
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "nextafter": torch.nextafter,
    "prelu": lambda a, b: torch.where(a < 0, a * b, a),
    "xlogy": torch.xlogy,
}
"""Functions of two floats."""

_BINARY_OF_INTEGERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "bitwise_right_shift": torch.bitwise_right_shift,
    "gcd": torch.gcd,
    "lcm": torch.lcm,
    "modulo": torch.remainder,
    "squared_difference": lambda a, b: torch.square(a - b),
}
"""Functions of two numbers that are exact for integers."""


def _unary(function: Callable[..., Tensor], *, integers: bool) -> Callable[..., Tensor]:
    compute = function if integers else in_whole_vectors(function)

    def run(ctx: Context, input: Tensor, params: Sequence[float] = ()) -> Tensor:
        source = input if integers and not input.is_floating_point() else input.to(torch.float32)
        if params:
            return in_whole_vectors(functools.partial(_with, function, tuple(params)))(source)
        return compute(source)

    return run


def _binary(function: Callable[[Tensor, Tensor], Tensor], *, integers: bool) -> Callable[..., Tensor]:
    def run(
        ctx: Context,
        lhs: Tensor,
        rhs: Tensor,
        activations: Functions = (),
        input_tensor_a_activations: Functions = (),
        input_tensor_b_activations: Functions = (),
    ) -> Tensor:
        lhs, rhs = applied(lhs, input_tensor_a_activations), applied(rhs, input_tensor_b_activations)
        if integers and not lhs.is_floating_point() and not rhs.is_floating_point():
            return applied(function(lhs, rhs), activations)
        return applied(in_whole_vectors(function)(lhs.to(torch.float32), rhs.to(torch.float32)), activations)

    return run


_FAST = {
    f"{_name}_approx": FUNCTIONS[_name].compute
    for _name in ("erf", "exp", "log", "mish", "rsqrt", "sigmoid", "sqrt", "tanh")
}
"""Functions of one float in their fast form, which is computed as the accurate one."""

for _table, _integers in ((_UNARY, False), (_FAST, False), (_OF_INTEGERS, True)):
    for _name, _function in _table.items():
        kernel(f"ttnn.{_name}")(_unary(_function, integers=_integers))

for _table, _integers in ((_BINARY, False), (_BINARY_OF_INTEGERS, True)):
    for _name, _function in _table.items():
        kernel(f"ttnn.{_name}")(_binary(_function, integers=_integers))


@kernel("ttnn.isclose")
def isclose(ctx: Context, lhs: Tensor, rhs: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    return torch.isclose(lhs.to(torch.float32), rhs.to(torch.float32), rtol, atol, equal_nan)


@kernel("ttnn.addcmul")
def addcmul(ctx: Context, input: Tensor, first: Tensor, second: Tensor, value: float = 1.0) -> Tensor:
    """Returns ``input + value * first * second``."""
    return input.to(torch.float32) + value * first.to(torch.float32) * second.to(torch.float32)


@kernel("ttnn.addcdiv")
def addcdiv(ctx: Context, input: Tensor, first: Tensor, second: Tensor, value: float = 1.0) -> Tensor:
    """Returns ``input + value * first / second``."""
    return input.to(torch.float32) + value * first.to(torch.float32) / second.to(torch.float32)


@kernel("ttnn.lerp")
def lerp(ctx: Context, input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """Returns ``input + weight * (end - input)``."""
    start = input.to(torch.float32)
    return start + weight.to(torch.float32) * (end.to(torch.float32) - start)


@kernel("ttnn.mac")
def mac(ctx: Context, input: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Returns ``input * first + second``."""
    return input.to(torch.float32) * first.to(torch.float32) + second.to(torch.float32)


_REPEATED = {"add": torch.add, "multiply": torch.mul, "subtract": torch.sub}


@kernel("ttnn.bcast")
def bcast(ctx: Context, lhs: Tensor, rhs: Tensor, function: str) -> Tensor:
    """Returns a sum, product or difference with a tensor that is repeated along rows, columns or both."""
    return _REPEATED[function](lhs.to(torch.float32), rhs.to(torch.float32))


@kernel("ttnn.tril")
def tril(ctx: Context, input: Tensor, diagonal: int = 0) -> Tensor:
    return torch.tril(input[None], diagonal)[0]  # of a vector, which is one row


@kernel("ttnn.triu")
def triu(ctx: Context, input: Tensor, diagonal: int = 0) -> Tensor:
    return torch.triu(input[None], diagonal)[0]


@kernel("ttnn.var", "ttnn.std")
def var(
    ctx: Context, input: Tensor, dim_arg: Sequence[int], keep_dim: bool, correction: bool, scalar: float = 1.0
) -> Tensor:
    """Returns the variance, or the standard deviation, of the products of elements and a scalar along dimensions."""
    compute, factor = (torch.std, abs(scalar)) if ctx.op == "ttnn.std" else (torch.var, scalar * scalar)
    count = math.prod(input.shape[dim] for dim in dim_arg)
    apart = int(correction and count > 1)
    return compute(input.to(torch.float32), list(dim_arg), correction=apart, keepdim=keep_dim) * factor


@kernel("ttnn.alt_complex_rotate90")
def alt_complex_rotate90(ctx: Context, input: Tensor) -> Tensor:
    """Turns pairs of elements, which are real and imaginary parts, by 90 degrees: (a, b) becomes (-b, a)."""
    pairs = input.unflatten(-1, (-1, 2))
    return torch.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2)


@kernel("ttnn.snake_beta")
def snake_beta(ctx: Context, input: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """Returns ``x + sin(alpha * x) ** 2 / beta``."""
    x, frequency, size = (each.to(torch.float32) for each in (input, alpha, beta))
    return x + torch.sin(frequency * x) ** 2 / size


@kernel("ttnn.situ_glu")
def situ_glu(ctx: Context, lhs: Tensor, rhs: Tensor, beta1: float, beta2: float) -> Tensor:
    """Returns ``beta1 * tanh(gate / beta1) * sigmoid(gate) * beta2 * tanh(up / beta2)``."""
    gate, up = lhs.to(torch.float32), rhs.to(torch.float32)
    return beta1 * torch.tanh(gate / beta1) * torch.sigmoid(gate) * (beta2 * torch.tanh(up / beta2))


@kernel("ttnn.clamped_silu_glu")
def clamped_silu_glu(ctx: Context, lhs: Tensor, rhs: Tensor, limit: float) -> Tensor:
    """Returns ``silu(min(gate, limit)) * clamp(up, -limit, limit)``."""
    gate, up = lhs.to(torch.float32), rhs.to(torch.float32)
    return F.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)
