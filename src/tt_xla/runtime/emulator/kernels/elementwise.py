"""Elementwise ops: computed in float32 and rounded once, as torch does for bfloat16."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.registry import Context, kernel
from tt_xla.runtime.emulator.small import FUNCTIONS
from tt_xla.runtime.emulator.truth import compare, select

Tensor = torch.Tensor
Functions = Sequence[Sequence[tuple[str, Any]]]
"""Elementwise functions by the named fields of ``#ttnn.unary_with_param``."""


_AT_ONCE = 1 << 16
"""Elements whose float32 steps stay in the cache."""


def _float(tensor: Tensor) -> Tensor:
    return tensor.to(torch.float32)


def _cbrt(x: Tensor) -> Tensor:
    # float64 hides that 1/3 is not exact.
    x = x.to(torch.float64)
    return torch.copysign(x.abs().pow(1 / 3), x)


def _sign(x: Tensor) -> Tensor:
    """Of a NaN a NaN, as StableHLO says; torch's is 0."""
    return torch.where(x.isnan(), x, x.sign()) if x.is_floating_point() else x.sign()


def gelu(x: Tensor) -> Tensor:
    """In float64 without the difference of near numbers that is left of ``1 + erf(x)`` below zero."""
    return x * 0.5 * torch.erfc(x * -math.sqrt(0.5)) if x.dtype is torch.float64 else F.gelu(x)


def _hardsigmoid(x: Tensor) -> Tensor:
    return F.hardsigmoid(_float(x))


_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "acos": torch.acos,
    "asin": torch.asin,
    "asinh": lambda x: torch.asinh(_float(x)),
    "atan": torch.atan,
    "atanh": lambda x: torch.atanh(_float(x)),
    "bitwise_not": torch.bitwise_not,
    "cbrt": _cbrt,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "round": torch.round,
    "gelu": gelu,
    "hardsigmoid": _hardsigmoid,
    "isfinite": torch.isfinite,
    "log": torch.log,
    "log1p": torch.log1p,
    "logical_not": torch.logical_not,
    "mish": F.mish,
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "relu": torch.relu,
    "relu6": F.relu6,
    "rsqrt": lambda x: torch.rsqrt(_float(x)),  # of bfloat16 torch rounds the root too
    "sigmoid": torch.sigmoid,
    "sign": _sign,
    "silu": F.silu,
    "sin": torch.sin,
    "sqrt": torch.sqrt,
    "tan": torch.tan,
    "tanh": torch.tanh,
}

_EXACT = {"abs", "neg", "relu"}
"""Functions that commute with rounding: of a rounded value they are what they are of the value, rounded."""

_KEEP_INTEGERS = {
    "abs",
    "bitwise_not",
    "ceil",
    "floor",
    "isfinite",
    "logical_not",
    "neg",
    "relu",
    "relu6",
    "round",
    "sign",
}


def _unary(name: str, function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def run(ctx: Context, input: Tensor) -> Tensor:
        return function(input if name in _KEEP_INTEGERS or input.is_floating_point() else _float(input))

    return run


for _name, _function in _UNARY.items():
    kernel(f"ttnn.{_name}", widens=_name in FUNCTIONS)(_unary(_name, _function))


@kernel("ttnn.leaky_relu")
def leaky_relu(ctx: Context, input: Tensor, parameter: float) -> Tensor:
    return F.leaky_relu(input, parameter)


def _divide(lhs: Tensor, rhs: Tensor) -> Tensor:
    if lhs.is_floating_point() or rhs.is_floating_point():
        return torch.div(lhs, rhs)
    # As StableHLO: toward zero; by zero, all bits set; the least value by -1, itself.
    nonzero = torch.where(rhs == 0, 1, rhs)
    quotient = torch.div(lhs.to(torch.int64), nonzero.to(torch.int64), rounding_mode="trunc")
    return torch.where(rhs == 0, -1, quotient)


def _remainder(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Has the sign of the dividend."""
    if lhs.is_floating_point() or rhs.is_floating_point():
        return torch.fmod(lhs, rhs)
    return torch.where(rhs == 0, lhs, torch.fmod(lhs, torch.where(rhs == 0, 1, rhs)))


def _power(lhs: Tensor, rhs: Tensor) -> Tensor:
    if lhs.is_floating_point() or rhs.is_floating_point():
        return torch.pow(_float(lhs), _float(rhs))
    return torch.pow(lhs, rhs.clamp(min=0))


def _maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    return torch.maximum(*_alike(lhs, rhs))


def _minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    return torch.minimum(*_alike(lhs, rhs))


def _alike(lhs: Tensor, rhs: Tensor) -> tuple[Tensor, Tensor]:
    dtype = torch.promote_types(lhs.dtype, rhs.dtype)
    return lhs.to(dtype), rhs.to(dtype)


def _shift_left(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    bits = 8 * ctx.dtype.element_bytes
    shifted = lhs.to(torch.int64) << rhs.to(torch.int64).clamp(0, bits)
    return torch.where((rhs < 0) | (rhs >= bits), 0, shifted)


def _shift_right(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    bits = 8 * ctx.dtype.element_bytes
    unsigned = lhs.to(torch.int64) & ((1 << bits) - 1)
    return torch.where((rhs < 0) | (rhs >= bits), 0, unsigned >> rhs.to(torch.int64).clamp(0, bits))


_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "atan2": lambda lhs, rhs: torch.atan2(_float(lhs), _float(rhs)),
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "divide": _divide,
    "eq": functools.partial(compare, torch.eq),
    "ge": functools.partial(compare, torch.ge),
    "gt": functools.partial(compare, torch.gt),
    "le": functools.partial(compare, torch.le),
    "logical_and": functools.partial(compare, torch.logical_and),
    "logical_or": functools.partial(compare, torch.logical_or),
    "logical_xor": functools.partial(compare, torch.logical_xor),
    "lt": functools.partial(compare, torch.lt),
    "maximum": _maximum,
    "minimum": _minimum,
    "multiply": torch.mul,
    "ne": functools.partial(compare, torch.ne),
    "pow_tensor": _power,
    "remainder": _remainder,
    "subtract": torch.sub,
}


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Callable[..., Tensor]]:
    def prepare(
        ctx: Context,
        activations: Functions = (),
        input_tensor_a_activations: Functions = (),
        input_tensor_b_activations: Functions = (),
    ) -> Callable[..., Tensor]:
        exact = all(dict(item)["op_type"] in _EXACT for item in activations)
        in_float = bool(input_tensor_a_activations or input_tensor_b_activations) or not exact
        relu_alone = [dict(item)["op_type"] for item in activations] == ["relu"]

        def plain(lhs: Tensor, rhs: Tensor) -> Tensor:
            return function(lhs, rhs)

        def run(lhs: Tensor, rhs: Tensor) -> Tensor:
            large = in_float and lhs.numel() > _AT_ONCE and lhs.shape == rhs.shape
            if large and lhs.is_contiguous() and rhs.is_contiguous():
                parts = zip(lhs.view(-1).split(_AT_ONCE), rhs.view(-1).split(_AT_ONCE), strict=True)
                return torch.cat([hold(part(*pair), ctx.dtype) for pair in parts]).view(lhs.shape)
            return part(lhs, rhs)

        def part(lhs: Tensor, rhs: Tensor) -> Tensor:
            if in_float:
                lhs, rhs = _float(lhs), _float(rhs)
            found = function(_applied(lhs, input_tensor_a_activations), _applied(rhs, input_tensor_b_activations))
            return found.relu_() if relu_alone else _applied(found, activations)

        return run if activations or input_tensor_a_activations or input_tensor_b_activations else plain

    return prepare


def _applied(value: Tensor, functions: Functions) -> Tensor:
    """In float32, as the kernel holds it between its steps."""
    for item in functions:
        fields = dict(item)
        name = fields["op_type"]
        function = _IN_CHAINS.get(name) or _UNARY[name]
        value = function(value if name in _EXACT else _float(value), *fields.get("params", ()))
    return value


_IN_CHAINS: dict[str, Callable[..., Tensor]] = {
    "add_unary_sfpu": torch.add,
    "div_unary_sfpu": torch.div,
    "leaky_relu": F.leaky_relu,
    "mul_unary_sfpu": torch.mul,
    "power": torch.pow,
    "recip": torch.reciprocal,
    "rsub": torch.rsub,
    "square": torch.square,
    "sub_unary_sfpu": torch.sub,
}
"""Functions that TT-NN has, by these names, only as steps of other kernels."""


for _name, _operation in _BINARY.items():
    kernel(f"ttnn.{_name}", prepared=True)(_binary(_operation))


@kernel("ttnn.logical_left_shift")
def logical_left_shift(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _shift_left(ctx, lhs, rhs)


@kernel("ttnn.logical_right_shift")
def logical_right_shift(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _shift_right(ctx, lhs, rhs)


@kernel("ttnn.pow_scalar")
def pow_scalar(ctx: Context, lhs: Tensor, rhs: float) -> Tensor:
    return torch.pow(_float(lhs) if lhs.is_floating_point() else lhs, rhs)


@kernel("ttnn.where")
def where(ctx: Context, first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    return select(first, second, third)


@kernel("ttnn.clamp_scalar")
def clamp_scalar(ctx: Context, input: Tensor, min: float, max: float) -> Tensor:
    return torch.clamp(input, min, max)


@kernel("ttnn.clamp_tensor")
def clamp_tensor(ctx: Context, input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(input, min), max)


@kernel("ttnn.gelu_bw")
def gelu_bw(ctx: Context, lhs: Tensor, rhs: Tensor, approximate: str = "none") -> Tensor:
    """``lhs`` is the gradient of the result, ``rhs`` the input of the forward op."""
    return torch.ops.aten.gelu_backward(_float(lhs), _float(rhs), approximate=approximate)
