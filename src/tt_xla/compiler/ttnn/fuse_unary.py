"""Fusion of unary functions into the binary ops before and after them: one kernel and one pass over memory."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import pattern, producer, set_operand
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp, only_user
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.configs import UNARIES, UnaryAttr
from tt_xla.ir.ttnn.memory import FullOp

Step = tuple[tuple[str, Any], ...]
"""A function of one value, as the named fields of ``#ttnn.unary_with_param``."""

_ADD, _DIVIDE, _MULTIPLY, _SUBTRACT = (ttnn.BINARY_OPS[name] for name in ("add", "divide", "multiply", "subtract"))
_BINARY = (_ADD, _DIVIDE, _MULTIPLY, _SUBTRACT)
_NAMES = (
    *("abs", "cbrt", "ceil", "cos", "exp", "expm1", "floor", "gelu", "hardsigmoid", "log", "log1p", "neg", "relu"),
    *("relu6", "rsqrt", "sigmoid", "sign", "silu", "sin", "sqrt", "tanh"),
)
"""Functions whose names TT-NN and this dialect share."""
_FUNCTIONS: dict[type[TTOp], str] = {ttnn.UNARY_OPS[name]: name for name in _NAMES} | {
    ttnn.UNARY_OPS["reciprocal"]: "recip"
}
"""Functions that TT-NN's binary kernels apply, tried in mock mode with the kernels built. tt-mlir fuses some of
them."""

_WITH_CONSTANT: dict[type[Operation], tuple[str, str | None]] = {
    _ADD: ("add_unary_sfpu", "add_unary_sfpu"),
    _DIVIDE: ("div_unary_sfpu", None),
    _MULTIPLY: ("mul_unary_sfpu", "mul_unary_sfpu"),
    _SUBTRACT: ("sub_unary_sfpu", "rsub"),
}
"""Function that an op of a value and a constant is, and that of a constant and a value."""

_BEFORE = ("input_tensor_a_activations", "input_tensor_b_activations")
"""Properties that hold the functions applied to each operand."""
_LONGEST = 8
"""Number of functions in a row. TT-NN accepted all lengths tried, up to 10, but a core's kernel memory is bounded."""


@pattern(*_BINARY, approximate=True)
def function_before(op: TTOp, rewriter: PatternRewriter) -> None:
    """Fuses op(f(x), y) and op(x, f(y)), where f is one or more functions without other users."""
    for index, name in enumerate(_BEFORE):
        value = op.operands[index]
        if only_user(value) is not op:
            continue
        applied = _function(value)
        if applied is None or not _is_float(op):
            continue
        if is_constant(value) and not all(is_constant(operand) for operand in op.operands):
            continue  # Const-eval computes the function once.
        source, steps = applied
        if _extend(op, name, (*steps, *_steps(op, name))):
            set_operand(rewriter, op, index, source)
            return


@pattern(*_FUNCTIONS, *_BINARY, approximate=True)
def function_after(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses f(op(x, y)), where the result of op has no other user."""
    if not any(type(operand) is OpResult and isinstance(operand.op, _BINARY) for operand in op.operands):
        return
    applied = _function(op.results[0])
    if applied is None:
        return
    value, steps = applied
    binary = value.op if isinstance(value, OpResult) else None
    if not isinstance(binary, _BINARY) or any(use.operation is not op for use in value.uses) or not _is_float(binary):
        return
    if is_constant(value) and not is_constant(op.results[0]):
        return
    if _extend(binary, "activations", (*_steps(binary, "activations"), *steps)):
        rewriter.replace(op, [], [value])


def _extend(op: TTOp, name: str, steps: tuple[Step, ...]) -> bool:
    """Sets an op's functions; returns whether they are few enough."""
    if len(steps) > _LONGEST:
        return False
    op.properties[name] = UNARIES.encode(steps)
    return True


def _steps(op: TTOp, name: str) -> tuple[Step, ...]:
    """Returns the functions in one of an op's properties."""
    return tuple(op.value(name) or ())


def _function(value: SSAValue) -> tuple[SSAValue, tuple[Step, ...]] | None:
    """Returns the functions, in order, that the op before ``value`` applies to its operand, and the operand; else
    None."""
    op = value.op if isinstance(value, OpResult) else None
    if op is None:
        return None
    if isinstance(op, _BINARY):
        applied = _of_constant(op)
    elif isinstance(op, TTOp) and type(op) in _FUNCTIONS:
        applied = op.operands[0], (UnaryAttr.of(_FUNCTIONS[type(op)]).data,)
    else:
        return None
    return (
        applied if applied is not None and applied[0].type == value.type and layout_of(value).dtype.is_float else None
    )


def _of_constant(op: TTOp) -> tuple[SSAValue, tuple[Step, ...]] | None:
    """Returns an op of a value and a constant of one element, or of a value and itself, as functions of the value."""
    lhs, rhs = op.operands
    if lhs is rhs:
        plain = isinstance(op, _MULTIPLY) and not any(op.value(name) for name in _BEFORE)
        return (lhs, (UnaryAttr.of("square").data, *_steps(op, "activations"))) if plain else None
    names = _WITH_CONSTANT[type(op)]
    for value, other, name, (own, others) in (
        (lhs, rhs, names[0], _BEFORE),
        (rhs, lhs, names[1], reversed(_BEFORE)),
    ):
        constant = _number(other)
        if constant is not None and name is not None and not op.value(others):
            return value, (*_steps(op, own), UnaryAttr.of(name, constant).data, *_steps(op, "activations"))
    return None


def _number(value: SSAValue) -> float | None:
    """Returns the element of a finite floating-point constant of one element, else None."""
    full = producer(value, FullOp)
    if full is None or math.prod(full.shape_) != 1:
        return None
    number = float(full.fill_value)
    return number if math.isfinite(number) else None


def _is_float(op: TTOp) -> bool:
    """Returns whether operands and result have one floating-point type."""
    kinds = {layout_of(value).dtype for value in (*op.operands, *op.results)}
    return len(kinds) == 1 and kinds.pop().is_float


PATTERNS = (function_before, function_after)
