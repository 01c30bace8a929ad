"""Functions before and after an elementwise op of two operands become part of it: one kernel, one pass over memory."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import pattern, producer
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp, only_user
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.configs import UNARIES, UnaryAttr
from tt_xla.ir.ttnn.memory import FullOp

Step = tuple[tuple[str, Any], ...]
"""A function of one value by the named fields of ``#ttnn.unary_with_param``."""

_ADD, _DIVIDE, _MULTIPLY, _SUBTRACT = (ttnn.BINARY_OPS[name] for name in ("add", "divide", "multiply", "subtract"))
_BINARY = (_ADD, _DIVIDE, _MULTIPLY, _SUBTRACT)
_NAMES = (
    *("abs", "cbrt", "ceil", "cos", "exp", "expm1", "floor", "gelu", "hardsigmoid", "log", "log1p", "neg", "relu"),
    *("relu6", "rsqrt", "sigmoid", "sign", "silu", "sin", "sqrt", "tanh"),
)
_FUNCTIONS: dict[type[TTOp], str] = {ttnn.UNARY_OPS[name]: name for name in _NAMES} | {
    ttnn.UNARY_OPS["reciprocal"]: "recip"
}
"""Those that TT-NN's binary kernels apply: tried in mock mode, with the kernels built. Upstream does some of them."""

_WITH_CONSTANT: dict[type[Operation], tuple[str, str | None]] = {
    _ADD: ("add_unary_sfpu", "add_unary_sfpu"),
    _DIVIDE: ("div_unary_sfpu", None),
    _MULTIPLY: ("mul_unary_sfpu", "mul_unary_sfpu"),
    _SUBTRACT: ("sub_unary_sfpu", "rsub"),
}
"""What the op of a value and a constant is, and of a constant and a value."""

_BEFORE = ("input_tensor_a_activations", "input_tensor_b_activations")
_LONGEST = 8
"""Functions in a row: TT-NN gave up at no number that was tried (10), but a core holds a kernel of bounded size."""


@pattern(*_BINARY, approximate=True)
def function_before(op: TTOp, rewriter: PatternRewriter) -> None:
    """op(f(x), y) and op(x, f(y)), where nothing else uses f, which may be several functions in a row."""
    for index, name in enumerate(_BEFORE):
        value = op.operands[index]
        if only_user(value) is not op:
            continue
        found = _function(value)
        if found is None or not _is_float(op):
            continue
        if is_constant(value) and not all(is_constant(operand) for operand in op.operands):
            continue  # const-eval computes it once
        source, steps = found
        if _extend(op, name, (*steps, *_steps(op, name))):
            op.operands[index] = source
            rewriter.notify_op_modified(op)
            return


@pattern(*_FUNCTIONS, *_BINARY, approximate=True)
def function_after(op: Operation, rewriter: PatternRewriter) -> None:
    """f(op(x, y)), where nothing else uses the result of op."""
    found = _function(op.results[0])
    if found is None:
        return
    value, steps = found
    made = value.op if isinstance(value, OpResult) else None
    if not isinstance(made, _BINARY) or any(use.operation is not op for use in value.uses) or not _is_float(made):
        return
    if is_constant(value) and not is_constant(op.results[0]):
        return
    if _extend(made, "activations", (*_steps(made, "activations"), *steps)):
        rewriter.replace(op, [], [value])


def _extend(op: TTOp, name: str, steps: tuple[Step, ...]) -> bool:
    if len(steps) > _LONGEST:
        return False
    op.properties[name] = UNARIES.encode(steps)
    return True


def _steps(op: TTOp, name: str) -> tuple[Step, ...]:
    return tuple(op.value(name) or ())


def _function(value: SSAValue) -> tuple[SSAValue, tuple[Step, ...]] | None:
    """What the op that made ``value`` does to its one operand that is no constant of one element, in order."""
    op = value.op if isinstance(value, OpResult) else None
    if op is None:
        return None
    if isinstance(op, _BINARY):
        found = _of_constant(op)
    elif isinstance(op, TTOp) and type(op) in _FUNCTIONS:
        found = op.operands[0], (UnaryAttr.of(_FUNCTIONS[type(op)]).data,)
    else:
        return None
    return found if found is not None and found[0].type == value.type and layout_of(value).dtype.is_float else None


def _of_constant(op: TTOp) -> tuple[SSAValue, tuple[Step, ...]] | None:
    """An op of a value and a constant of one element, or of a value and itself, as functions of the value."""
    lhs, rhs = op.operands
    after = _steps(op, "activations")
    if lhs is rhs:
        plain = isinstance(op, _MULTIPLY) and not any(op.value(name) for name in _BEFORE)
        return (lhs, (UnaryAttr.of("square").data, *after)) if plain else None
    names = _WITH_CONSTANT[type(op)]
    for value, other, name, (own, others) in (
        (lhs, rhs, names[0], _BEFORE),
        (rhs, lhs, names[1], reversed(_BEFORE)),
    ):
        constant = _number(other)
        if constant is not None and name is not None and not op.value(others):
            return value, (*_steps(op, own), UnaryAttr.of(name, constant).data, *after)
    return None


def _number(value: SSAValue) -> float | None:
    """The element of a floating-point constant of one element."""
    full = producer(value, FullOp)
    if full is None or math.prod(full.shape_) != 1:
        return None
    number = float(full.fill_value)
    return number if math.isfinite(number) else None


def _is_float(op: TTOp) -> bool:
    """Whether operands and result have one floating-point type."""
    kinds = {layout_of(value).dtype for value in (*op.operands, *op.results)}
    return len(kinds) == 1 and kinds.pop().is_float


PATTERNS = (function_before, function_after)
