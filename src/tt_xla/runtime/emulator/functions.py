"""The table of functions of one number: what each computes, and how the faster ways spell it.

The kernels of elementwise ops, the activations that products and convolutions end with, oneDNN's post-ops and the C++
of fused kernels all read this table.

Torch computes some float32 functions with vector instructions where 16 or 32 elements lie side by side, and with
another library's scalar function for the elements left over, so an element's bits would depend on its position and on
the tensor's size. :func:`in_whole_vectors` gives such functions whole vectors only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.approximations import APPROXIMATIONS
from tt_xla.runtime.emulator.tables import in_halves, table

Tensor = torch.Tensor

_VECTOR = 64
"""Elements that torch's vectorised loops take at once, at most: two vectors of AVX-512 with 32 bfloat16 each."""

_GRAIN = 32768
"""Elements of one thread's share, at least (``at::internal::GRAIN_SIZE``)."""


@dataclass(frozen=True)
class PostOp:
    """How torch's oneDNN ops name a function that is applied to the float32 sum before it is rounded."""

    name: str
    scalars: tuple[float, ...] = ()
    algorithm: str = ""
    approximates: bool = False
    """Whether oneDNN computes the function with a polynomial of its own, which is not as near as torch's."""


@dataclass(frozen=True)
class Function:
    """A function of one number."""

    compute: Callable[..., Tensor]
    """The definition: takes a tensor of any torch dtype that ``widens`` allows, and the function's parameters."""
    is_op: bool = True
    """Whether TT-NN has it as an op, not only as a step of other kernels."""
    keeps_integers: bool = False
    """Whether integers go in as they are; otherwise they become float32 first."""
    commutes_with_rounding: bool = False
    """Whether f(round(x)) == round(f(x)) for every x, so that the function is applied to the rounded value."""
    cpp: str = ""
    """C++ expression of the float ``{x}`` and the parameter ``{p}`` with the bits of ``compute``; empty where there is
    none."""
    post_op: PostOp | None = None
    """The function as oneDNN's post-op; None where oneDNN has no such function."""
    ends_products: bool = False
    """Whether a product or convolution may name it as its activation."""


def in_whole_vectors(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns ``function``, an elementwise one of torch, with bits that depend on each element's value alone.

    The elements are laid out side by side, and those at the end that fill no vector are computed in a padded one.
    """

    def run(*operands: Tensor) -> Tensor:
        shape = operands[0].shape if len(operands) == 1 else torch.broadcast_shapes(*(each.shape for each in operands))
        count = math.prod(shape)
        if not count:
            return function(*operands)
        order = _memory_order(operands, shape)
        if order is not None:
            aligned = [each if each.numel() == 1 else each.expand(shape).permute(order) for each in operands]
            inverse = sorted(range(len(shape)), key=order.__getitem__)
            return run(*(each.contiguous() for each in aligned)).permute(inverse)
        # One element for all stays one: torch fills a vector with it.
        flat = [each if each.numel() in (1, count) else each.expand(shape) for each in operands]
        flat = [each.reshape(-1).contiguous() for each in flat]
        end = _whole(count)
        if end == count:
            return function(*flat).view(shape)
        padding = (0, -(count - end) % _VECTOR)
        rest = [each if each.numel() < count else F.pad(each[end:], padding, value=1.0) for each in flat]
        tail = function(*rest)[: count - end]
        if not end:
            return tail.view(shape)
        return torch.cat([function(*(each[:end] if each.numel() == count else each for each in flat)), tail]).view(
            shape
        )

    return run


def _memory_order(operands: Sequence[Tensor], shape: Sequence[int]) -> list[int] | None:
    """Returns the order of dimensions in which the first operand of the full shape lies; None for the usual order."""
    full = next((each for each in operands if each.shape == shape), None)
    if full is None or full.is_contiguous():
        return None
    order = sorted(range(full.ndim), key=lambda dim: -full.stride(dim))
    return order if order != list(range(full.ndim)) else None


def _whole(count: int) -> int:
    """Returns the number of leading elements, of ``count``, that each of torch's threads takes in whole vectors."""
    while True:
        threads = min(torch.get_num_threads(), -(-count // _GRAIN))
        rest = count % (_VECTOR * threads) if threads else 0
        if not rest:
            return count
        count -= rest


def _float(x: Tensor) -> Tensor:
    return x.to(torch.float32)


def _asinh(x: Tensor) -> Tensor:
    return torch.asinh(_float(x))


def _atanh(x: Tensor) -> Tensor:
    return _float_atanh(_float(x))


def _hardsigmoid(x: Tensor) -> Tensor:
    return F.hardsigmoid(_float(x))


def _rsqrt(x: Tensor) -> Tensor:
    return torch.rsqrt(_float(x))  # torch rounds the root of a bfloat16 before it divides


def _erf(x: Tensor) -> Tensor:
    """Returns erf, of bfloat16 in float32: torch's vectorised erf of bfloat16 is 0 below 2e-7."""
    return torch.erf(x.float()).to(x.dtype) if x.dtype is torch.bfloat16 else torch.erf(x)


def _cbrt(x: Tensor) -> Tensor:
    # In float64, where rounding 1/3 does not show in the float32 result.
    x = x.to(torch.float64)
    return torch.copysign(x.abs().pow(1 / 3), x)


def _sign(x: Tensor) -> Tensor:
    """Returns NaN for NaN, as StableHLO requires; ``torch.sign`` returns 0."""
    return torch.where(x.isnan(), x, x.sign()) if x.is_floating_point() else x.sign()


def _sqrt(x: Tensor) -> Tensor:
    """Rounds correctly, as IEEE 754 requires; torch's square root of float32 comes from MKL, which may be 1 ULP off."""
    if x.dtype is not torch.float32 or x.device.type != "cpu":
        return torch.sqrt(x)
    source = x.contiguous()
    root = torch.empty_like(source)
    with np.errstate(invalid="ignore"):
        np.sqrt(source.detach().numpy(), out=root.numpy())
    return root


_GELU_ENDS = np.array((0.5, 1.0, 1.5, 2.0, 3.0), np.float32)
"""Values of |x| at which the lines of ``gelu_approx`` meet."""
_GELU_SLOPES = in_halves(0.1928, 0.4939, 0.6188, 0.6099, 0.5402, 0.5)
_GELU_OFFSETS = in_halves(-0.00010443, -0.1604, -0.2796, -0.2635, -0.1194, 0.0)


def _gelu_approx(x: Tensor) -> Tensor:
    """Returns x / 2 plus one of six lines in |x|, whose coefficients the vector unit holds in 16 bits.

    A result of bfloat16 is cut off, not rounded (TT-NN 0.81 on Tenstorrent's simulator, and its
    ``ckernel_sfpu_gelu.h``).
    """
    value = _float(x)
    magnitude = value.abs()
    ends, slopes, offsets = (table(each, x) for each in (_GELU_ENDS, _GELU_SLOPES, _GELU_OFFSETS))
    line = torch.bucketize(magnitude.contiguous(), ends, right=True)
    result = value * 0.5 + (slopes[line] * magnitude + offsets[line])
    return (result.view(torch.int32) & -65536).view(torch.float32) if x.dtype is torch.bfloat16 else result


_mish = in_whole_vectors(F.mish)
_float_atanh = in_whole_vectors(torch.atanh)
_power = in_whole_vectors(torch.pow)


def _power_of(x: Tensor, exponent: float) -> Tensor:
    return torch.pow(x, exponent)


def power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """Returns ``x ** exponent`` in float32, or in the integers' own type for two integers."""
    if isinstance(exponent, Tensor):
        return _power(x, exponent)
    if not x.is_floating_point() or exponent in (0.0, 1.0, 2.0, 3.0):
        return torch.pow(x, exponent)  # products, which have no tail of their own
    return in_whole_vectors(functools.partial(_power_of, exponent=exponent))(x)


_PATTERNS = {torch.bfloat16: torch.int16, torch.float32: torch.int32}
"""Integers of as many bits as a float."""


def _bitwise_not(x: Tensor) -> Tensor:
    """Inverts all bits of each element; those of a float are bits of another float."""
    pattern = _PATTERNS.get(x.dtype)
    return torch.bitwise_not(x) if pattern is None else torch.bitwise_not(x.view(pattern)).view(x.dtype)


FUNCTIONS: dict[str, Function] = {
    "abs": Function(torch.abs, keeps_integers=True, commutes_with_rounding=True, cpp="std::fabs({x})"),
    "acos": Function(torch.acos),
    "asin": Function(torch.asin),
    "asinh": Function(_asinh),
    "atan": Function(torch.atan),
    "atanh": Function(_atanh),
    "bitwise_not": Function(_bitwise_not, keeps_integers=True),
    "cbrt": Function(_cbrt),
    "ceil": Function(torch.ceil, keeps_integers=True, cpp="std::ceil({x})"),
    "cos": Function(APPROXIMATIONS["cos"], cpp="sine({x}, 1)"),
    "erf": Function(_erf),
    "erfc": Function(torch.erfc),
    "exp": Function(APPROXIMATIONS["exp"], cpp="exponential({x})"),
    "expm1": Function(torch.expm1),
    "floor": Function(torch.floor, keeps_integers=True, cpp="std::floor({x})"),
    "gelu": Function(
        APPROXIMATIONS["gelu"],
        cpp="gelu({x})",
        post_op=PostOp("gelu", algorithm="none", approximates=True),
        ends_products=True,
    ),
    "gelu_approx": Function(_gelu_approx, ends_products=True),
    "hardsigmoid": Function(
        _hardsigmoid,
        cpp="hard_sigmoid({x})",
        post_op=PostOp("hardsigmoid", approximates=True),
        ends_products=True,
    ),
    "isfinite": Function(torch.isfinite, keeps_integers=True),
    "log": Function(APPROXIMATIONS["log"], cpp="logarithm({x}, 0.0)"),
    "log1p": Function(APPROXIMATIONS["log1p"], cpp="logarithm({x}, 1.0)"),
    "logical_not": Function(torch.logical_not, keeps_integers=True, cpp="({x} == 0 ? 1 : 0)"),
    "mish": Function(_mish, ends_products=True),
    "neg": Function(torch.neg, keeps_integers=True, commutes_with_rounding=True, cpp="(-({x}))"),
    "reciprocal": Function(torch.reciprocal, cpp="(1.0f / ({x}))"),
    "relu": Function(
        torch.relu,
        keeps_integers=True,
        commutes_with_rounding=True,
        cpp="relu({x})",
        post_op=PostOp("relu"),
        ends_products=True,
    ),
    "relu6": Function(F.relu6, keeps_integers=True, post_op=PostOp("hardtanh", (0.0, 6.0)), ends_products=True),
    "round": Function(torch.round, keeps_integers=True, cpp="std::nearbyint({x})"),
    "rsqrt": Function(_rsqrt, cpp="(1.0f / std::sqrt({x}))"),
    "sigmoid": Function(
        APPROXIMATIONS["sigmoid"],
        cpp="sigmoid({x})",
        post_op=PostOp("sigmoid", approximates=True),
        ends_products=True,
    ),
    "sign": Function(_sign, keeps_integers=True, cpp="sign({x})"),
    "silu": Function(
        APPROXIMATIONS["silu"],
        cpp="silu({x})",
        post_op=PostOp("swish", approximates=True),
        ends_products=True,
    ),
    "sin": Function(APPROXIMATIONS["sin"], cpp="sine({x}, 0)"),
    "sqrt": Function(_sqrt, cpp="std::sqrt({x})"),
    "tan": Function(torch.tan),
    "tanh": Function(
        APPROXIMATIONS["tanh"],
        cpp="hyperbolic_tangent({x})",
        post_op=PostOp("tanh", approximates=True),
        ends_products=True,
    ),
    # With a parameter, as steps of other kernels; leaky_relu is an op too, with a kernel of its own.
    "add_unary_sfpu": Function(torch.add, is_op=False, cpp="(({x}) + {p})"),
    "div_unary_sfpu": Function(torch.div, is_op=False, cpp="(({x}) / {p})"),
    "leaky_relu": Function(F.leaky_relu, is_op=False, post_op=PostOp("leaky_relu", (0.01,)), ends_products=True),
    "mul_unary_sfpu": Function(torch.mul, is_op=False, cpp="(({x}) * {p})"),
    "power": Function(power, is_op=False),
    "recip": Function(torch.reciprocal, is_op=False, cpp="(1.0f / ({x}))"),
    "rsub": Function(torch.rsub, is_op=False, cpp="({p} - ({x}))"),
    "square": Function(torch.square, is_op=False),
    "sub_unary_sfpu": Function(torch.sub, is_op=False, cpp="(({x}) - {p})"),
}
"""Functions by their names in TT-NN."""

NO_POST_OP = PostOp("none")


def post_op(activation: str | None) -> PostOp | None:
    """Returns oneDNN's post-op for the activation of a product; None where oneDNN has no such function."""
    if not activation:
        return NO_POST_OP
    return FUNCTIONS[activation].post_op if activation in FUNCTIONS else None


def activate(tensor: Tensor, activation: str | None) -> Tensor:
    """Applies the activation that a product or convolution ends with.

    Args:
        tensor: the product, which nobody else holds; it may be overwritten.
        activation: the function's name in TT-NN, or None for none.

    Raises:
        ValueError: no product ends with a function of this name.
    """
    if not activation:
        return tensor
    function = FUNCTIONS.get(activation)
    if function is None or not function.ends_products:
        known = ", ".join(name for name, each in FUNCTIONS.items() if each.ends_products)
        raise ValueError(f"activation {activation!r} is unknown; known are {known}")
    return tensor.relu_() if activation == "relu" else function.compute(tensor)


def fused_activation(activation: str | None, program_config: Mapping[str, Any] | None) -> str | None:
    """Returns the activation that a product ends with: named by the op or, where it has one, by its program config."""
    fused = (program_config or {}).get("fused_activation")
    return activation or (fused["op_type"] if fused else None)
