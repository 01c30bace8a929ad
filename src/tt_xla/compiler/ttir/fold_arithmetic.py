"""Arithmetic with constants: computed, joined where one op follows another, dropped where neutral."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.analysis.constants import numpy_dtype, splat_of
from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.analysis.ranges import TRUTH
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
_SCALES = (Multiply, Div, UNARY["neg"])
_LOGICAL = (BINARY["logical_and"], BINARY["logical_or"])
_MOVES = (ReshapeOp, PermuteOp, BroadcastOp)
_ONE_WAY = (Subtract, Div, BINARY["pow"])
_Maximum, _Minimum = BINARY["maximum"], BINARY["minimum"]

_UNARY_VALUES: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}
_BINARY_VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "div": np.divide,
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "ne": np.not_equal,
    "pow": np.power,
    "subtract": np.subtract,
}
_VALUES: dict[type[Operation], Callable[..., Any]] = {
    **{UNARY[name]: value for name, value in _UNARY_VALUES.items()},
    **{BINARY[name]: value for name, value in _BINARY_VALUES.items()},
}
_COMPARISONS = tuple(BINARY[name] for name in ("eq", "ge", "gt", "le", "lt", "ne"))


@pattern(*_VALUES)
def known_result(op: Operation, rewriter: PatternRewriter) -> None:
    """Constants of one value each give one value; integers only add, subtract, multiply, compare and have a sign."""
    numbers: list[float | int] = []
    for operand in op.operands:
        number = splat(operand)
        if number is None:
            return
        numbers.append(number)
    type_, operand_type = tensor_type(op.results[0]), tensor_type(op.operands[0])
    floats = is_float(op.operands[0])
    if not floats and not isinstance(op, (Add, Subtract, Multiply, UNARY["sign"], *_COMPARISONS)):
        return
    kind = np.float32 if floats else np.int64
    arrays = [np.asarray(number).astype(numpy_dtype(operand_type.element_type)).astype(kind) for number in numbers]
    with np.errstate(all="ignore"):
        found = _VALUES[type(op)](*arrays)
    value = float(found) if type_.element_type in (bf16, f32) else int(found)
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        return
    rewriter.replace(op, splat_of(value, type_, op.location))


@pattern(*_NEUTRAL)
def drop_neutral(op: Operation, rewriter: PatternRewriter) -> None:
    """x + 0, x - 0, x * 1, x / 1, x ** 1, max(x, -inf), min(x, inf), x and true, x or false, where x has the result's
    type; or where it is of lower rank, repeated as the neutral constant's shape asks for."""
    pairs = [(op.operands[0], op.operands[1])] if isinstance(op, _ONE_WAY) else both_ways(op)
    for value, other in pairs:
        type_ = tensor_type(op.results[0])
        if splat(other) != _NEUTRAL[type(op)] or (
            isinstance(op, _LOGICAL) and not _is_truth(value) and not _is_only_tested(op.results[0])
        ):
            continue
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
    """Whether no more is asked of a value than where it is zero."""
    return all(
        isinstance(use.operation, _LOGICAL)
        or (isinstance(use.operation, WhereOp) and use.index == 0)
        or (isinstance(use.operation, _MOVES) and _is_only_tested(use.operation.results[0]))
        for use in value.uses
    )


def _is_truth(value: SSAValue) -> bool:
    source = look_through(value, *_MOVES)
    return isinstance(source.owner, TRUTH)


@pattern(Multiply, Div)
def join_factors(op: Operation, rewriter: PatternRewriter) -> None:
    """(x * a) * b, (x / a) * b and their like are x * (a * b) of floats; so is -x * b."""
    if not is_float(op.results[0]):
        return
    outer = _by_constant(op)
    if outer is None or only_user(outer[0]) is not op or not isinstance(outer[0].owner, _SCALES):
        return
    inner = _by_constant(outer[0].owner)
    if inner is None or inner[0].type != op.results[0].type:
        return
    factor = float(np.float32(outer[1] * inner[1]))
    if math.isfinite(factor) and factor != 0:
        _scale(rewriter, op, inner[0], factor)


@pattern(Multiply)
def small_factors_first(op: Operation, rewriter: PatternRewriter) -> None:
    """(x * a) * b is x * (a * b) of floats, where a and b together are smaller than x."""
    if not is_float(op.results[0]):
        return
    whole = shape(op.results[0])
    for product, small in both_ways(op):
        inner = producer(product, Multiply)
        if inner is None or only_user(product) is not op or shape(small) == whole or shape(product) != whole:
            continue
        for big, other in both_ways(inner):
            sizes = shapes.broadcast(shape(other), shape(small))
            if shape(big) == whole and math.prod(sizes) < math.prod(whole):
                joined = insert_before(
                    rewriter, op, Multiply, [other, small], tensor(sizes, tensor_type(op.results[0]).element_type)
                )
                replace_with(rewriter, op, Multiply, [big, joined])
                return


def _tiles(sizes: shapes.Shape) -> int:
    return math.prod([*sizes[:-2], *(-(-size // TILE) for size in sizes[-2:])])


@pattern(ReshapeOp, PermuteOp)
def sink_factor(op: ReshapeOp | PermuteOp, rewriter: PatternRewriter) -> None:
    """move(x * a) is move(x) * a, so that moves meet each other and factors too.

    Parameters stay where they take fewer tiles: a convolution's weights of 1x1 as a matrix.
    """
    inner = op.input.owner
    if not isinstance(inner, (Multiply, Div)) or only_user(op.input) is not op or not is_float(op.result):
        return
    value, other = inner.operands
    if splat(other) is None and isinstance(inner, Multiply):
        value, other = other, value
    if splat(other) is None or value.type != op.input.type:
        return
    if is_constant(value) and _tiles(shape(op.result)) > _tiles(shape(value)):
        return
    moved = insert_before(rewriter, op, type(op), [value], tensor_type(op.result), **op.values())
    one = (1,) if shape(op.result) else ()
    small = splat_of(float(splat(other) or 0), tensor(one, tensor_type(other).element_type), op.location)
    rewriter.insert(small, InsertPoint.before(op))
    replace_with(rewriter, op, type(inner), [moved, small.results[0]])


@pattern(UNARY["neg"])
def negated_factor(op: Operation, rewriter: PatternRewriter) -> None:
    """-(x * a) is x * -a, and -(-x) is x."""
    inner = op.operands[0].owner
    if isinstance(inner, UNARY["neg"]):
        rewriter.replace(op, [], [inner.operands[0]])
    elif isinstance(inner, Multiply) and is_float(op.results[0]) and only_user(op.operands[0]) is op:
        found = _by_constant(inner)
        if found is not None and found[0].type == op.results[0].type:
            _scale(rewriter, op, found[0], -found[1])


def _by_constant(op: Operation) -> tuple[SSAValue, float] | None:
    """x and c of an op that is c * x."""
    if isinstance(op, UNARY["neg"]):
        return op.operands[0], -1.0
    if isinstance(op, Div):
        divisor = splat(op.operands[1])
        return (op.operands[0], 1 / float(divisor)) if divisor else None
    for value, other in both_ways(op) if isinstance(op, Multiply) else ():
        factor = splat(other)
        if factor is not None:
            return value, float(factor)
    return None


def _scale(rewriter: PatternRewriter, op: Operation, value: SSAValue, factor: float) -> None:
    if factor == -1:
        replace_with(rewriter, op, UNARY["neg"], [value])
        return
    type_ = tensor((1,) * len(shape(value)), tensor_type(op.results[0]).element_type)
    constant = splat_of(factor, type_, op.location)
    product = Multiply.make([value, constant.results[0]], [op.results[0].type], op.location)
    rewriter.replace(op, [constant, product])


@pattern(Multiply)
def times_minus_one(op: Operation, rewriter: PatternRewriter) -> None:
    """x * -1 is -x."""
    found = _by_constant(op)
    if found is not None and found[1] == -1 and found[0].type == op.results[0].type:
        replace_with(rewriter, op, UNARY["neg"], [found[0]])


@pattern(Add, Subtract)
def add_negated(op: Operation, rewriter: PatternRewriter) -> None:
    """x + -y is x - y, and x - -y is x + y."""
    swap = Subtract if isinstance(op, Add) else Add
    for value, other in both_ways(op) if isinstance(op, Add) else [(op.operands[0], op.operands[1])]:
        negation = producer(other, UNARY["neg"])
        if negation is not None and only_user(other) is op:
            replace_with(rewriter, op, swap, [value, negation.operands[0]])
            return


@pattern(Add, Subtract)
def join_terms(op: Operation, rewriter: PatternRewriter) -> None:
    """(x + a) + b is x + (a + b) for integers, whose sums are exact."""
    if is_float(op.results[0]):
        return
    outer = _plus(op)
    inner = _plus(outer[0].owner) if outer is not None else None
    if outer is None or inner is None or only_user(outer[0]) is not op or inner[0].type != op.results[0].type:
        return
    total = outer[1] + inner[1]
    if -(2**31) <= total < 2**31:
        constant = _constant(rewriter, op, total)
        replace_with(rewriter, op, Add, [inner[0], constant])


def _plus(op: object) -> tuple[SSAValue, int] | None:
    if isinstance(op, Subtract):
        term = splat(op.operands[1])
        return None if term is None else (op.operands[0], -int(term))
    for value, other in both_ways(op) if isinstance(op, Add) else ():
        term = splat(other)
        if term is not None:
            return value, int(term)
    return None


def _constant(rewriter: PatternRewriter, op: Operation, value: float) -> SSAValue:
    """A constant of one element that broadcasts to the result of ``op``."""
    type_ = tensor_type(op.results[0])
    made = splat_of(value, tensor((1,) * len(type_.get_shape()), type_.element_type), op.location)
    rewriter.insert(made, InsertPoint.before(op))
    return made.results[0]


@pattern(BINARY["pow"])
def known_power(op: Operation, rewriter: PatternRewriter) -> None:
    """x ** 2, x ** 3, x ** 0.5, x ** -0.5 and x ** -1 of floats have ops of their own."""
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


@pattern(_Minimum, _Maximum)
def clamp(op: Operation, rewriter: PatternRewriter) -> None:
    """min(max(x, a), b) and max(min(x, b), a) with constants a <= b of floats."""
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
    for value, other in both_ways(op):
        number = splat(other)
        if number is not None:
            return value, float(number)
    return None


PATTERNS = (
    known_result,
    drop_neutral,
    join_factors,
    small_factors_first,
    sink_factor,
    negated_factor,
    times_minus_one,
    add_negated,
    join_terms,
    known_power,
    clamp,
)
