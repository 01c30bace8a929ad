"""Between which numbers the integers of a value lie, as far as the TTIR ops that made it tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, bf16, f32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from tt_xla.compiler.rewriting import both_ways, producer
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.properties import si32, ui32
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp, splat
from tt_xla.ir.ttir.indexing import SortOp, TopKOp
from tt_xla.ir.ttir.reduction import ArgmaxOp, MaxOp, MinOp
from tt_xla.ir.ttir.structure import (
    BroadcastOp,
    ClampScalarOp,
    ConcatOp,
    EmbeddingOp,
    GatherOp,
    PermuteOp,
    ReshapeOp,
    ReverseOp,
    SliceStaticOp,
    TypecastOp,
    WhereOp,
)

UNARY, BINARY = ttir.UNARY_OPS, ttir.BINARY_OPS
Add, Subtract, Multiply = (BINARY[name] for name in ("add", "subtract", "multiply"))

TRUTH = tuple(BINARY[name] for name in ("eq", "ge", "gt", "le", "lt", "ne", "logical_and", "logical_or"))
"""Ops whose results are 1 and 0."""


class Range(NamedTuple):
    """Numbers from ``low`` to ``high``, both included."""

    low: float
    high: float


_ANY = Range(-math.inf, math.inf)
_TYPES: dict[Attribute, Range] = {si32: Range(-(2**31), 2**31 - 1), ui32: Range(0, 2**32 - 1)}
EXACT: dict[Attribute, int] = {f32: 2**24, bf16: 2**8}
"""Up to which magnitude a float type holds every integer."""

_DEPTH = 8
_MOST_ELEMENTS = 4096
"""Of a constant that is looked at."""

_SAME = (ReshapeOp, BroadcastOp, PermuteOp, SliceStaticOp, ReverseOp, MaxOp, MinOp, GatherOp)
"""Ops whose results are elements of their first operand."""


def bounds(value: SSAValue) -> Range:
    """The range of a value's elements: no narrower than they are, no wider than their type, and of what is neither an
    integer nor a truth unlimited unless an op says more. NaN may be among floats all the same."""
    return _bounds(value, _DEPTH, {})


Ask = Callable[[SSAValue], Range]
"""The range of a value that is one op further away from the one that was asked for."""
Rule = Callable[[OpResult, Ask], Range]


def _bounds(value: SSAValue, depth: int, known: dict[tuple[SSAValue, int], Range]) -> Range:
    """``known`` are ranges by value and depth: many paths lead to one value, as to an index that is guarded."""
    found = known.get((value, depth))
    if found is None:
        whole = _TYPES.get(tensor_type(value).element_type, _ANY)
        found = whole
        if isinstance(value, OpResult) and depth > 0:
            rule = _RULES.get(type(value.op))
            if rule is not None:
                found = rule(value, lambda operand: _bounds(operand, depth - 1, known))
        if found.low < whole.low or found.high > whole.high:  # it wraps around
            found = whole
        known[value, depth] = found
    return found


def _of_element(value: OpResult, ask: Ask) -> Range:
    return ask(value.op.operands[0])


def _of_weight(value: OpResult, ask: Ask) -> Range:
    op = value.op
    assert isinstance(op, EmbeddingOp)
    return ask(op.weight)


def _joined(value: OpResult, ask: Ask) -> Range:
    return _either(*map(ask, value.op.operands))


def _either(*ranges: Range) -> Range:
    return Range(min(found.low for found in ranges), max(found.high for found in ranges))


def _constant(value: OpResult, ask: Ask) -> Range:
    found = splat(value)
    if found is not None:
        return Range(found, found)
    data = value.op.properties["value"]
    whole = _TYPES.get(tensor_type(value).element_type, _ANY)
    count = math.prod(shape(value))
    if whole is _ANY or not isinstance(data, DenseIntOrFPElementsAttr) or not 0 < count <= _MOST_ELEMENTS:
        return whole
    numbers = data.get_values()
    return Range(min(numbers), max(numbers))


def _arange(value: OpResult, ask: Ask) -> Range:
    op = value.op
    assert isinstance(op, ArangeOp)
    last = op.start + op.step * (shape(value)[op.arange_dimension] - 1)
    return Range(min(op.start, last), max(op.start, last))


def _position(value: OpResult, ask: Ask) -> Range:
    """Along one dimension, or several at once; values of a sort are those of its operand."""
    op = value.op
    if isinstance(op, SortOp | TopKOp) and value.index == 0:
        return ask(op.operands[0])
    sizes = shape(op.operands[0])
    if isinstance(op, ArgmaxOp):
        dims = shapes.normalise_dims(op.dim_arg, len(sizes))
        return Range(0, math.prod(sizes[dim] for dim in dims) - 1)
    assert isinstance(op, SortOp | TopKOp)
    return Range(0, sizes[op.dim] - 1)


def _clamp(value: OpResult, ask: Ask) -> Range:
    op = value.op
    assert isinstance(op, ClampScalarOp)
    inner, low, high = ask(op.input), float(op.min), float(op.max)
    return Range(min(max(inner.low, low), high), min(max(inner.high, low), high))


def _cast(value: OpResult, ask: Ask) -> Range:
    """Between integers and floats as long as each number is held; floats lose their fraction."""
    source, target = tensor_type(value.op.operands[0]).element_type, tensor_type(value).element_type
    inner = ask(value.op.operands[0])
    if target in _TYPES:
        if not math.isfinite(sum(inner)):
            return _ANY
        low, high = math.trunc(inner.low), math.trunc(inner.high)
        may_be_nan = source not in _TYPES and not is_integral(value.op.operands[0])
        return Range(min(low, 0), max(high, 0)) if may_be_nan else Range(low, high)
    magnitude = max(-inner.low, inner.high)
    if source in EXACT or magnitude <= EXACT.get(target, 0):
        return inner
    return Range(-1.01 * magnitude, 1.01 * magnitude)  # of a number that is rounded


def _sum(value: OpResult, ask: Ask) -> Range:
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return Range(lhs.low + rhs.low, lhs.high + rhs.high)


def _difference(value: OpResult, ask: Ask) -> Range:
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return Range(lhs.low - rhs.high, lhs.high - rhs.low)


def _product(value: OpResult, ask: Ask) -> Range:
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    if not math.isfinite(sum(lhs) + sum(rhs)):
        return _ANY
    corners = [one * other for one in lhs for other in rhs]
    return Range(min(corners), max(corners))


def _maximum(value: OpResult, ask: Ask) -> Range:
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return Range(max(lhs.low, rhs.low), max(lhs.high, rhs.high))


def _minimum(value: OpResult, ask: Ask) -> Range:
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return Range(min(lhs.low, rhs.low), min(lhs.high, rhs.high))


def _remainder(value: OpResult, ask: Ask) -> Range:
    """It has the sign of the dividend; that by 0 is left open."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    if tensor_type(value).element_type not in _TYPES or not rhs.low <= rhs.high or rhs.low <= 0:
        return _TYPES.get(tensor_type(value).element_type, _ANY)
    most = rhs.high - 1
    return Range(max(lhs.low, -most) if lhs.low < 0 else 0, min(lhs.high, most) if lhs.high > 0 else 0)


def _quotient(value: OpResult, ask: Ask) -> Range:
    """Of integers that are not negative, by what is positive."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    if not is_integer(value) or lhs.low < 0 or rhs.low <= 0:
        return _TYPES.get(tensor_type(value).element_type, _ANY)
    return Range(lhs.low // rhs.high, lhs.high // rhs.low)


def _sign(value: OpResult, ask: Ask) -> Range:
    found = ask(value.op.operands[0])
    return Range(*((number > 0) - (number < 0) for number in found))


def _left_shift(value: OpResult, ask: Ask) -> Range:
    """As :func:`_right_shift`."""
    far = ask(value.op.operands[1]).low > 31
    return Range(0, 0) if far else _TYPES.get(tensor_type(value).element_type, _ANY)


def _bits(value: OpResult, ask: Ask) -> Range:
    """Bits that are kept of a number that is not negative make no larger one."""
    found = [ask(operand) for operand in value.op.operands]
    limits = [one.high for one in found if one.low >= 0]
    return Range(0, min(limits)) if limits else _TYPES.get(tensor_type(value).element_type, _ANY)


def _right_shift(value: OpResult, ask: Ask) -> Range:
    """The chip shifts by 32 and more to 0, and by less than 0 too."""
    inner, by = ask(value.op.operands[0]), ask(value.op.operands[1])
    if by.low > 31:
        return Range(0, 0)
    if by.low < 0:
        return _TYPES.get(tensor_type(value).element_type, _ANY)
    most = inner.high if inner.low >= 0 else 2**32 - 1
    return Range(0, int(most) >> int(by.low))


def _choice(value: OpResult, ask: Ask) -> Range:
    """Either side; the predicates ``x < c`` and ``x >= c`` of one of them, or of x + k, say more."""
    op = value.op
    assert isinstance(op, WhereOp)
    return _either(_under(op.second, op.first, True, ask), _under(op.third, op.first, False, ask))


def _under(value: SSAValue, predicate: SSAValue, holds: bool, ask: Ask) -> Range:
    """The range of a value where a predicate is so."""
    whole = ask(value)
    test = predicate.owner
    if not isinstance(test, (BINARY["lt"], BINARY["ge"])):
        return whole
    subject, limit = test.operands
    against = splat(limit)
    if against is None:
        return whole
    inner = ask(subject)
    below = isinstance(test, BINARY["lt"]) == holds
    limited = Range(inner.low, min(inner.high, against - 1)) if below else Range(max(inner.low, against), inner.high)
    if limited.low > limited.high:
        return whole
    if value is subject:
        return limited
    plus = producer(value, Add)
    for term, other in both_ways(plus) if plus is not None else ():
        step = splat(other)
        if term is subject and step is not None:
            moved = Range(limited.low + step, limited.high + step)
            return moved if is_integer(value) and fits(moved, tensor_type(value).element_type) else whole
    return whole


_RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(TRUTH, lambda _value, _ask: Range(0, 1)),
    **dict.fromkeys(_SAME, _of_element),
    EmbeddingOp: _of_weight,
    ConcatOp: _joined,
    ConstantOp: _constant,
    ArangeOp: _arange,
    ArgmaxOp: _position,
    SortOp: _position,
    TopKOp: _position,
    ClampScalarOp: _clamp,
    TypecastOp: _cast,
    Add: _sum,
    Subtract: _difference,
    Multiply: _product,
    BINARY["maximum"]: _maximum,
    BINARY["minimum"]: _minimum,
    BINARY["remainder"]: _remainder,
    BINARY["div"]: _quotient,
    UNARY["sign"]: _sign,
    BINARY["bitwise_and"]: _bits,
    BINARY["logical_left_shift"]: _left_shift,
    BINARY["logical_right_shift"]: _right_shift,
    WhereOp: _choice,
}


def is_integer(value: SSAValue) -> bool:
    """Whether a value has a type of 32-bit integers."""
    return tensor_type(value).element_type in _TYPES


def fits(found: Range, element: Attribute) -> bool:
    """Whether an integer type holds all of a range."""
    whole = _TYPES[element]
    return whole.low <= found.low and found.high <= whole.high


_KEEP_INTEGRAL = (Add, Subtract, Multiply, BINARY["maximum"], BINARY["minimum"], UNARY["neg"], UNARY["abs"])


def is_integral(value: SSAValue, depth: int = _DEPTH) -> bool:
    """Whether a float is finite and has no fraction, as far as the ops that made it tell."""
    if not isinstance(value, OpResult) or depth == 0:
        return False
    op = value.op
    constant = splat(value)
    if constant is not None:
        return float(constant).is_integer()
    if isinstance(op, TypecastOp):
        return tensor_type(op.input).element_type in _TYPES
    if isinstance(op, TRUTH):
        return True
    if isinstance(op, (*_SAME, ConcatOp, *_KEEP_INTEGRAL)):
        operands: Any = op.operands[:1] if isinstance(op, _SAME) else op.operands
        return all(is_integral(operand, depth - 1) for operand in operands)
    return False
