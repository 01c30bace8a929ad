"""Folding of arithmetic with constants: computing it, joining consecutive constants, dropping neutral operands."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import is_held, makes_unordinary, numpy_dtype, splat_of, wrapped
from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.analysis.ranges import TRUTH_OPS
from tt_xla.compiler.rewriting import both_ways, insert_before, look_through, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import (
    BINARY,
    UNARY,
    Add,
    Div,
    Multiply,
    Subtract,
    is_float,
    reshaped,
    splat_before,
    times_constant,
)
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.structure import BroadcastOp, ClampScalarOp, PermuteOp, ReshapeOp, WhereOp

_NEUTRAL: dict[type[Operation], float] = {
    Add: 0.0,
    Subtract: 0.0,
    Multiply: 1.0,
    Div: 1.0,
    BINARY["maximum"]: float("-inf"),
    BINARY["minimum"]: float("inf"),
    BINARY["pow"]: 1.0,
    BINARY["logical_and"]: 1.0,
    BINARY["logical_or"]: 0.0,
}
"""The constant operand, by op, that makes an op return its other operand."""
_SCALES = (Multiply, Div, UNARY["neg"])
_LOGICAL = (BINARY["logical_and"], BINARY["logical_or"])
_MOVES = (ReshapeOp, PermuteOp, BroadcastOp)
_ONE_WAY = (Subtract, Div, BINARY["pow"])
_Maximum, _Minimum = BINARY["maximum"], BINARY["minimum"]


def _reciprocal(x: Any) -> Any:
    """Returns 1 / x."""
    return 1 / x


def _reciprocal_root(x: Any) -> Any:
    """Returns 1 / sqrt(x)."""
    return 1 / np.sqrt(x)


def _sign(x: Any) -> Any:
    """Returns NaN for NaN and keeps the sign of zero, as StableHLO requires."""
    return x if x == 0 or np.isnan(x) else np.sign(x)


def _integer_sign(x: int) -> int:
    """Returns -1, 0 or 1."""
    return (x > 0) - (x < 0)


_FLOAT_VALUES: dict[type[Operation], Callable[..., Any]] = {
    UNARY["abs"]: np.abs,
    UNARY["ceil"]: np.ceil,
    UNARY["floor"]: np.floor,
    UNARY["neg"]: np.negative,
    UNARY["reciprocal"]: _reciprocal,
    UNARY["round"]: np.round,
    UNARY["sign"]: _sign,
    UNARY["sqrt"]: np.sqrt,
    Add: np.add,
    Div: np.divide,
    Multiply: np.multiply,
    Subtract: np.subtract,
    BINARY["eq"]: np.equal,
    BINARY["ge"]: np.greater_equal,
    BINARY["gt"]: np.greater,
    BINARY["le"]: np.less_equal,
    BINARY["lt"]: np.less,
    BINARY["ne"]: np.not_equal,
    _Maximum: np.maximum,
    _Minimum: np.minimum,
}
"""Float ops whose result IEEE 754 defines: compile time and run time agree on every bit."""

_FLOAT_FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    UNARY["cos"]: np.cos,
    UNARY["exp"]: np.exp,
    UNARY["log"]: np.log,
    UNARY["rsqrt"]: _reciprocal_root,
    UNARY["sin"]: np.sin,
    UNARY["tanh"]: np.tanh,
    BINARY["pow"]: np.power,
}
"""Float functions whose last digit depends on the library that computes them."""

_INTEGER_VALUES: dict[type[Operation], Callable[..., int]] = {
    Add: operator.add,
    Subtract: operator.sub,
    Multiply: operator.mul,
    UNARY["sign"]: _integer_sign,
    BINARY["eq"]: operator.eq,
    BINARY["ge"]: operator.ge,
    BINARY["gt"]: operator.gt,
    BINARY["le"]: operator.le,
    BINARY["lt"]: operator.lt,
    BINARY["ne"]: operator.ne,
}


@pattern(*_FLOAT_VALUES)
def fold_constant_operands(op: Operation, rewriter: PatternRewriter) -> None:
    """Computes arithmetic on splat constants; integers wrap at the width of the result's type."""
    numbers = _numbers(op)
    if numbers is None:
        return
    if is_float(op.operands[0]):
        _replace_by_float(op, rewriter, _FLOAT_VALUES[type(op)], numbers)
        return
    function, type_ = _INTEGER_VALUES.get(type(op)), tensor_type(op.results[0])
    if function is not None and is_held(type_.element_type):
        value = int(function(*map(int, numbers)))
        number = float(value) if is_float(op.results[0]) else wrapped(value, type_.element_type)
        rewriter.replace(op, splat_of(number, type_, op.location))


@pattern(*_FLOAT_FUNCTIONS, approximate=True)
def fold_function(op: Operation, rewriter: PatternRewriter) -> None:
    """Computes a function of float splat constants."""
    numbers = _numbers(op)
    if numbers is not None and is_float(op.operands[0]):
        _replace_by_float(op, rewriter, _FLOAT_FUNCTIONS[type(op)], numbers)


def _numbers(op: Operation) -> list[float] | None:
    """Returns the number that each operand of an op has everywhere; None if an operand is no such constant."""
    numbers: list[float] = []
    for operand in op.operands:
        number = splat(operand)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def _replace_by_float(
    op: Operation, rewriter: PatternRewriter, function: Callable[..., Any], numbers: Sequence[float]
) -> None:
    """Replaces an op by the function of its operands' numbers, computed in float32."""
    type_ = tensor_type(op.results[0])
    dtypes = [numpy_dtype(tensor_type(operand).element_type) for operand in op.operands]
    arrays = [np.asarray(n).astype(dtype).astype(np.float32) for n, dtype in zip(numbers, dtypes, strict=True)]
    with np.errstate(all="ignore"):
        value = function(*arrays)
    number = float(value) if is_float(op.results[0]) else int(value)
    if not makes_unordinary(number, numbers):
        rewriter.replace(op, splat_of(number, type_, op.location))


@pattern(*_NEUTRAL)
def drop_neutral(op: Operation, rewriter: PatternRewriter) -> None:
    """Removes an op whose constant operand is neutral.

    These are x + -0, x - 0, x * 1, x / 1, x ** 1, max(x, -inf), min(x, inf), x and true, x or false. Where x is smaller
    than the result, it is broadcast instead.
    """
    _drop(op, rewriter, _is_neutral)


@pattern(Add, Subtract, approximate=True)
def drop_zero(op: Operation, rewriter: PatternRewriter) -> None:
    """Removes x + 0 and x - -0 of floats; both are 0 where x is -0."""
    _drop(op, rewriter, lambda op, value, number: number == 0)


def _is_neutral(op: Operation, value: SSAValue, number: float) -> bool:
    """Returns whether ``op`` returns exactly ``value`` when its other operand is ``number``."""
    if number != _NEUTRAL[type(op)]:
        return False
    if isinstance(op, _LOGICAL):
        return _is_truth(value) or _is_only_tested(op.results[0])
    if isinstance(op, Add | Subtract) and is_float(value):
        return (math.copysign(1, number) < 0) == isinstance(op, Add)
    return True


def _drop(op: Operation, rewriter: PatternRewriter, is_neutral: Callable[[Operation, SSAValue, float], bool]) -> None:
    """Replaces an op by one operand, broadcast if it is smaller, when its other operand is neutral."""
    pairs = [(op.operands[0], op.operands[1])] if isinstance(op, _ONE_WAY) else both_ways(op)
    for value, other in pairs:
        number = splat(other)
        if number is None or not is_neutral(op, value, number):
            continue
        type_ = tensor_type(op.results[0])
        if value.type == type_:
            rewriter.replace(op, [], [value])
            return
        if tensor_type(value).element_type == type_.element_type:
            sizes = type_.get_shape()
            ones = (1,) * (len(sizes) - len(shape(value))) + shape(value)
            factors = tuple(size // one for size, one in zip(sizes, ones, strict=True))
            replace_with(rewriter, op, BroadcastOp, [reshaped(rewriter, op, value, ones)], broadcast_dimensions=factors)
            return


def _is_only_tested(value: SSAValue) -> bool:
    """Returns whether all users of a value only ask where it is zero."""
    return all(
        isinstance(use.operation, _LOGICAL)
        or (isinstance(use.operation, WhereOp) and use.index == 0)
        or (isinstance(use.operation, _MOVES) and _is_only_tested(use.operation.results[0]))
        for use in value.uses
    )


def _is_truth(value: SSAValue) -> bool:
    """Returns whether a value consists of 0 and 1 because a comparison or logical op produced it."""
    source = look_through(value, *_MOVES)
    return isinstance(source.owner, TRUTH_OPS)


@pattern(Multiply, Div, approximate=True)
def join_factors(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites (x * a) * b, (x / a) * b and -x * b to x times one constant, for floats."""
    if not is_float(op.results[0]):
        return
    outer = _by_constant(op)
    if outer is None or only_user(outer[0]) is not op or not isinstance(outer[0].owner, _SCALES):
        return
    inner = _by_constant(outer[0].owner)
    if inner is None or inner[0].type != op.results[0].type:
        return
    factor = float(np.float32(outer[1] * inner[1]))
    if math.isfinite(factor) and abs(factor) >= _SMALLEST:
        _scale(rewriter, op, inner[0], factor)


@pattern(Multiply, approximate=True)
def small_factors_first(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites (x * a) * b to x * (a * b), for floats, where a * b has fewer elements than x, and is no constant."""
    if not is_float(op.results[0]):
        return
    full = shape(op.results[0])
    for product, small in both_ways(op):
        inner = producer(product, Multiply)
        if inner is None or only_user(product) is not op or shape(small) == full or shape(product) != full:
            continue
        for big, other in both_ways(inner):
            sizes = shapes.broadcast(shape(other), shape(small))
            if splat(other) is not None and splat(small) is not None:
                continue  # join_factors joins constants where their product has all digits
            if shape(big) == full and math.prod(sizes) < math.prod(full):
                joined = insert_before(
                    rewriter, op, Multiply, [other, small], tensor(sizes, tensor_type(op.results[0]).element_type)
                )
                replace_with(rewriter, op, Multiply, [big, joined])
                return


_SMALLEST = float(np.finfo(np.float32).tiny)
"""Smallest factor with all digits; the chip takes smaller numbers for zero."""


def _tiles(sizes: shapes.Shape) -> int:
    """Returns the number of tiles that a tensor occupies."""
    return math.prod([*sizes[:-2], *(-(-size // TILE) for size in sizes[-2:])])


@pattern(ReshapeOp, PermuteOp)
def sink_factor(op: ReshapeOp | PermuteOp, rewriter: PatternRewriter) -> None:
    """Rewrites move(x * a) to move(x) * a, so that moves and factors each become adjacent.

    A parameter stays where it takes fewer tiles, such as the weights of a 1x1 convolution as a matrix.
    """
    inner = op.input.owner
    if not isinstance(inner, (Multiply, Div)) or only_user(op.input) is not op or not is_float(op.result):
        return
    value, other = inner.operands
    if splat(other) is None and isinstance(inner, Multiply):
        value, other = other, value
    factor = splat(other)
    if factor is None or value.type != op.input.type:
        return
    if is_constant(value) and _tiles(shape(op.result)) > _tiles(shape(value)):
        return
    moved = insert_before(rewriter, op, type(op), [value], tensor_type(op.result), **op.values())
    one = (1,) if shape(op.result) else ()
    small = splat_before(rewriter, op, float(factor), tensor(one, tensor_type(other).element_type))
    replace_with(rewriter, op, type(inner), [moved, small])


@pattern(UNARY["neg"])
def negated_factor(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites -(x * a) to x * -a, and -(-x) to x."""
    inner = op.operands[0].owner
    if isinstance(inner, UNARY["neg"]):
        rewriter.replace(op, [], [inner.operands[0]])
    elif isinstance(inner, Multiply) and is_float(op.results[0]) and only_user(op.operands[0]) is op:
        scaled = _by_constant(inner)
        if scaled is not None and scaled[0].type == op.results[0].type:
            _scale(rewriter, op, scaled[0], -scaled[1])


def _by_constant(op: Operation) -> tuple[SSAValue, float] | None:
    """Returns x and c when an op computes x times the constant c."""
    if isinstance(op, UNARY["neg"]):
        return op.operands[0], -1.0
    return times_constant(op.results[0])


def _scale(rewriter: PatternRewriter, op: Operation, value: SSAValue, factor: float) -> None:
    """Replaces an op by ``value * factor``."""
    if factor == -1:
        replace_with(rewriter, op, UNARY["neg"], [value])
        return
    type_ = tensor((1,) * len(shape(value)), tensor_type(op.results[0]).element_type)
    constant = splat_of(factor, type_, op.location)
    product = Multiply.make([value, constant.results[0]], [op.results[0].type], op.location)
    rewriter.replace(op, [constant, product])


@pattern(Multiply)
def times_minus_one(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x * -1 to -x."""
    scaled = _by_constant(op)
    if scaled is not None and scaled[1] == -1 and scaled[0].type == op.results[0].type:
        replace_with(rewriter, op, UNARY["neg"], [scaled[0]])


@pattern(Add, Subtract)
def add_negated(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x + -y to x - y, and x - -y to x + y."""
    swap = Subtract if isinstance(op, Add) else Add
    for value, other in both_ways(op) if isinstance(op, Add) else [(op.operands[0], op.operands[1])]:
        negation = producer(other, UNARY["neg"])
        if negation is not None and only_user(other) is op:
            replace_with(rewriter, op, swap, [value, negation.operands[0]])
            return


@pattern(Add, Subtract)
def join_terms(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites (x + a) + b to x + (a + b) for integers, whose sums wrap."""
    if is_float(op.results[0]):
        return
    outer = _plus(op)
    inner = _plus(outer[0].owner) if outer is not None else None
    if outer is None or inner is None or only_user(outer[0]) is not op or inner[0].type != op.results[0].type:
        return
    element = tensor_type(op.results[0]).element_type
    if is_held(element):
        constant = _constant(rewriter, op, wrapped(outer[1] + inner[1], element))
        replace_with(rewriter, op, Add, [inner[0], constant])


def _plus(op: object) -> tuple[SSAValue, int] | None:
    """Returns x and c when an op computes x plus the constant c."""
    if isinstance(op, Subtract):
        term = splat(op.operands[1])
        return None if term is None else (op.operands[0], -int(term))
    for value, other in both_ways(op) if isinstance(op, Add) else ():
        term = splat(other)
        if term is not None:
            return value, int(term)
    return None


def _constant(rewriter: PatternRewriter, op: Operation, value: float) -> SSAValue:
    """Inserts a constant of one element that broadcasts to the result of ``op``."""
    type_ = tensor_type(op.results[0])
    return splat_before(rewriter, op, value, tensor((1,) * len(type_.get_shape()), type_.element_type))


@pattern(BINARY["pow"], approximate=True)
def fold_power(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x ** 2, x ** 3, x ** 0.5, x ** -0.5 and x ** -1 of floats to ops that compute these powers."""
    exponent, base = splat(op.operands[1]), op.operands[0]
    if exponent is None or not is_float(op.results[0]) or base.type != op.results[0].type:
        return
    if exponent == 2:
        replace_with(rewriter, op, Multiply, [base, base])
    elif exponent == 3:
        square = insert_before(rewriter, op, Multiply, [base, base], tensor_type(base))
        replace_with(rewriter, op, Multiply, [square, base])
    elif exponent in _POWERS:
        replace_with(rewriter, op, UNARY[_POWERS[exponent]], [base])


_POWERS = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}


@pattern(_Minimum, _Maximum, approximate=True)
def clamp(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites min(max(x, a), b) and max(min(x, b), a) with constants a <= b to a clamp, for floats."""
    if not is_float(op.results[0]):
        return
    outer, inner_kind = _bound(op), _Maximum if isinstance(op, _Minimum) else _Minimum
    if outer is None or only_user(outer[0]) is not op or not isinstance(outer[0].owner, inner_kind):
        return
    inner = _bound(outer[0].owner)
    if inner is None or inner[0].type != op.results[0].type:
        return
    low, high = (inner[1], outer[1]) if isinstance(op, _Minimum) else (outer[1], inner[1])
    if low <= high:
        replace_with(rewriter, op, ClampScalarOp, [inner[0]], min=low, max=high)


def _bound(op: Operation) -> tuple[SSAValue, float] | None:
    """Returns the operand and the constant of a maximum or minimum with a constant."""
    for value, other in both_ways(op):
        number = splat(other)
        if number is not None:
            return value, float(number)
    return None


PATTERNS = (
    fold_constant_operands,
    fold_function,
    drop_neutral,
    drop_zero,
    join_factors,
    small_factors_first,
    sink_factor,
    negated_factor,
    times_minus_one,
    add_negated,
    join_terms,
    fold_power,
    clamp,
)
