"""Elementwise ops: computed in float32 and rounded once, as torch computes bfloat16."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.functions import FUNCTIONS, Function, in_whole_vectors, power
from tt_xla.runtime.emulator.registry import find, kernel
from tt_xla.runtime.emulator.truth import compare, select

Tensor = torch.Tensor
Functions = Sequence[Sequence[tuple[str, Any]]]
"""Elementwise functions, each as the named fields of its ``#ttnn.unary_with_param``."""


PIECE = 1 << 16
"""Elements of one piece, whose float32 steps stay in the cache. Elementwise functions have the same bits in pieces."""


def _float(tensor: Tensor) -> Tensor:
    return tensor.to(torch.float32)


def _unary(function: Function) -> Callable[..., Tensor]:
    def run(ctx: Context, input: Tensor) -> Tensor:
        widens = not function.keeps_integers and not input.is_floating_point()
        return function.compute(_float(input) if widens else input)

    return run


for _name, _function in FUNCTIONS.items():
    if _function.is_op:
        kernel(f"ttnn.{_name}")(_unary(_function))


@kernel("ttnn.leaky_relu")
def leaky_relu(ctx: Context, input: Tensor, parameter: float) -> Tensor:
    return F.leaky_relu(input, parameter)


def _divide(lhs: Tensor, rhs: Tensor) -> Tensor:
    if lhs.is_floating_point() or rhs.is_floating_point():
        return torch.div(lhs, rhs)
    # As StableHLO defines it: rounded toward zero; by zero, all bits set; the least value by -1, itself.
    nonzero = torch.where(rhs == 0, 1, rhs)
    quotient = torch.div(lhs.to(torch.int64), nonzero.to(torch.int64), rounding_mode="trunc")
    return torch.where(rhs == 0, -1, quotient)


def _remainder(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Returns the remainder with the sign of the dividend."""
    if lhs.is_floating_point() or rhs.is_floating_point():
        # In float64, where it is exact: torch's vectorised fmod of float32 returns NaN where the quotient overflows.
        return torch.fmod(lhs.to(torch.float64), rhs.to(torch.float64))
    return torch.where(rhs == 0, lhs, torch.fmod(lhs, torch.where(rhs == 0, 1, rhs)))


_atan2 = in_whole_vectors(torch.atan2)
_gelu_backward = {
    approximate: in_whole_vectors(functools.partial(torch.ops.aten.gelu_backward, approximate=approximate))
    for approximate in ("none", "tanh")
}


def _power(lhs: Tensor, rhs: Tensor) -> Tensor:
    if lhs.is_floating_point() or rhs.is_floating_point():
        return power(_float(lhs), _float(rhs))
    return torch.pow(lhs, rhs.clamp(min=0))


def _larger(lhs: Tensor, rhs: Tensor) -> Tensor:
    if not lhs.is_floating_point():
        return torch.maximum(lhs, rhs)
    return torch.where((lhs != lhs) | (lhs > rhs), lhs, rhs)


def _smaller(lhs: Tensor, rhs: Tensor) -> Tensor:
    if not lhs.is_floating_point():
        return torch.minimum(lhs, rhs)
    return torch.where((lhs != lhs) | (lhs < rhs), lhs, rhs)


def _maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    return _larger(*_alike(lhs, rhs))


def _minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    return _smaller(*_alike(lhs, rhs))


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
    "atan2": lambda lhs, rhs: _atan2(_float(lhs), _float(rhs)),
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


def _of_integers(ctx: Context) -> bool:
    """Returns whether the operands are integers. TT-NN's quotient of them is float32, with its fraction."""
    return not any(spec.layout.dtype.is_float for spec in ctx.operands.values() if isinstance(spec, TensorSpec))


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Callable[..., Tensor]]:
    def prepare(
        ctx: Context,
        activations: Functions = (),
        input_tensor_a_activations: Functions = (),
        input_tensor_b_activations: Functions = (),
        fast_and_approximate_mode: bool | None = None,
    ) -> Callable[..., Tensor]:
        commute = _commutes(activations)
        relu_alone = [dict(item)["op_type"] for item in activations] == ["relu"]
        of_operands = bool(input_tensor_a_activations or input_tensor_b_activations)
        quotient = function is _divide and ctx.dtype.is_float and _of_integers(ctx)
        in_float = of_operands or quotient or not commute

        def plain(lhs: Tensor, rhs: Tensor) -> Tensor:
            return function(lhs, rhs)

        def in_pieces(lhs: Tensor, rhs: Tensor) -> Tensor:
            large = in_float and lhs.numel() > PIECE and lhs.shape == rhs.shape
            if large and lhs.is_contiguous() and rhs.is_contiguous():
                pairs = zip(lhs.view(-1).split(PIECE), rhs.view(-1).split(PIECE), strict=True)
                return torch.cat([hold(fused(*pair), ctx.dtype) for pair in pairs]).view(lhs.shape)
            return fused(lhs, rhs)

        def fused(lhs: Tensor, rhs: Tensor) -> Tensor:
            if in_float:
                lhs, rhs = _float(lhs), _float(rhs)
            result = function(applied(lhs, input_tensor_a_activations), applied(rhs, input_tensor_b_activations))
            return result.relu_() if relu_alone else applied(result, activations)

        return in_pieces if in_float or activations else plain

    return prepare


def applied(value: Tensor, functions: Functions) -> Tensor:
    """Applies functions in float32, as the chip's kernel holds the value between its steps."""
    for item in functions:
        fields = dict(item)
        name, params = fields["op_type"], fields.get("params", ())
        function = FUNCTIONS.get(name)
        if function is None:
            value = find(f"ttnn.{name}").function(None, _float(value), params)
        else:
            value = function.compute(value if function.commutes_with_rounding else _float(value), *params)
    return value


def _commutes(functions: Functions) -> bool:
    """Returns whether functions may follow the rounding of a result."""
    known = [FUNCTIONS.get(dict(item)["op_type"]) for item in functions]
    return all(function is not None and function.commutes_with_rounding for function in known)


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
    return power(_float(lhs) if lhs.is_floating_point() else lhs, rhs)


@kernel("ttnn.where")
def where(ctx: Context, first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    return select(first, second, third)


@kernel("ttnn.clamp_scalar")
def clamp_scalar(ctx: Context, input: Tensor, min: float, max: float, indexes: str | None = None) -> Tensor:
    return torch.clamp(input, min, max)


@kernel("ttnn.clamp_tensor")
def clamp_tensor(ctx: Context, input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    return _smaller(_larger(input, min), max)


@kernel("ttnn.gelu_bw")
def gelu_bw(ctx: Context, lhs: Tensor, rhs: Tensor, approximate: str = "none") -> Tensor:
    """``lhs`` is the gradient of the result, ``rhs`` the input of the forward op."""
    return _gelu_backward[approximate](_float(lhs), _float(rhs))
