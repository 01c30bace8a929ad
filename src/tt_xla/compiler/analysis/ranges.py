"""Range analysis: bounds of a value's numbers, derived from the TTIR ops that produce it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, bf16, f32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from tt_xla.compiler.analysis.constants import numpy_dtype
from tt_xla.compiler.rewriting import both_ways, producer
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.properties import si32, ui8, ui16, ui32
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

TRUTH_OPS = tuple(BINARY[name] for name in ("eq", "ge", "gt", "le", "lt", "ne", "logical_and", "logical_or"))
"""Ops whose results are 0 or 1."""


class Range(NamedTuple):
    """A closed interval: numbers from ``low`` to ``high``, both included."""

    low: float
    high: float


_ANY = Range(-math.inf, math.inf)
_TYPES: dict[Attribute, Range] = {si32: Range(-(2**31), 2**31 - 1), ui32: Range(0, 2**32 - 1)}
_INTEGERS: dict[Attribute, Range] = {**_TYPES, ui8: Range(0, 2**8 - 1), ui16: Range(0, 2**16 - 1)}
"""Range of each integer type that the chip holds; results beyond it wrap around."""
EXACT: dict[Attribute, int] = {f32: 2**24, bf16: 2**8}
"""Largest magnitude up to which a float type represents every integer."""

_DEPTH = 8
"""Number of ops that the analysis looks back."""
_MOST_ELEMENTS = 4096
"""Number of elements up to which a constant that is not a splat is examined."""

_SAME = (ReshapeOp, BroadcastOp, PermuteOp, SliceStaticOp, ReverseOp, MaxOp, MinOp, GatherOp)
"""Ops whose results are elements of their first operand."""


def bounds(value: SSAValue) -> Range:
    """Returns an interval that contains every element of a value.

    The interval is never wider than an integer type's own range. For values that are neither integers nor truth values
    it is unbounded unless the op that produces them says more. Floats may be NaN in addition to the interval.
    """
    return _bounds(value, _DEPTH, {})


RangeOfOperand = Callable[[SSAValue], Range]
"""A function that returns the range of an operand, one step closer to the depth limit."""
Rule = Callable[[OpResult, RangeOfOperand], Range]
"""Function that returns the range of an op's result; it gets the result and an ``RangeOfOperand`` for the operands."""


def _bounds(value: SSAValue, depth: int, known: dict[tuple[SSAValue, int], Range]) -> Range:
    """Returns the range of a value, looking back at most ``depth`` ops.

    Args:
        value: The value whose range is wanted.
        depth: Number of ops that may still be looked through.
        known: Ranges computed so far, by value and depth. Guarded indices reach one value along many paths.
    """
    limits = known.get((value, depth))
    if limits is None:
        type_range = _INTEGERS.get(tensor_type(value).element_type, _ANY)
        limits = type_range
        if isinstance(value, OpResult) and depth > 0:
            rule = _RULES.get(type(value.op))
            if rule is not None:
                limits = rule(value, lambda operand: _bounds(operand, depth - 1, known))
        if limits.low < type_range.low or limits.high > type_range.high:  # The op wraps around.
            limits = type_range
        known[value, depth] = limits
    return limits


def _of_element(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of the first operand: the result's elements are elements of it."""
    return ask(value.op.operands[0])


def _of_weight(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of an embedding's table."""
    op = value.op
    assert isinstance(op, EmbeddingOp)
    return ask(op.weight)


def _joined(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the smallest range that contains the ranges of all operands."""
    return _either(*map(ask, value.op.operands))


def _either(*ranges: Range) -> Range:
    """Returns the smallest range that contains all given ranges."""
    return Range(min(one.low for one in ranges), max(one.high for one in ranges))


def _constant(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a constant's elements."""
    number = splat(value)
    if number is not None:
        return Range(number, number)
    data = value.op.properties["value"]
    type_range = _TYPES.get(tensor_type(value).element_type, _ANY)
    count = math.prod(shape(value))
    if type_range is _ANY or not isinstance(data, DenseIntOrFPElementsAttr) or not 0 < count <= _MOST_ELEMENTS:
        return type_range
    numbers = data.get_values()
    return Range(min(numbers), max(numbers))


def _arange(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range from the first to the last element of an arange."""
    op = value.op
    assert isinstance(op, ArangeOp)
    last = op.start + op.step * (shape(value)[op.arange_dimension] - 1)
    return Range(min(op.start, last), max(op.start, last))


def _position(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of positions that argmax, sort or top-k return; sorted values have their operand's range."""
    op = value.op
    if isinstance(op, SortOp | TopKOp) and value.index == 0:
        return ask(op.operands[0])
    sizes = shape(op.operands[0])
    if isinstance(op, ArgmaxOp):
        dims = shapes.normalise_dims(op.dim_arg, len(sizes))
        return Range(0, math.prod(sizes[dim] for dim in dims) - 1)
    assert isinstance(op, SortOp | TopKOp)
    return Range(0, sizes[op.dim] - 1)


def _clamp(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the operand's range limited by the bounds of the clamp."""
    op = value.op
    assert isinstance(op, ClampScalarOp)
    inner, low, high = ask(op.input), float(op.min), float(op.max)
    return Range(min(max(inner.low, low), high), min(max(inner.high, low), high))


def _cast(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range after a typecast.

    A float that becomes an integer is truncated, and NaN becomes 0. A number that the target float type may not
    represent exactly is rounded, which widens the range.
    """
    source, target = tensor_type(value.op.operands[0]).element_type, tensor_type(value).element_type
    inner = ask(value.op.operands[0])
    if target in _INTEGERS:
        if not math.isfinite(sum(inner)):
            return _ANY
        low, high = math.trunc(inner.low), math.trunc(inner.high)
        may_be_nan = source not in _INTEGERS and not is_integral(value.op.operands[0])
        return Range(min(low, 0), max(high, 0)) if may_be_nan else Range(low, high)
    return _rounded(inner, target)


def _rounded(exact: Range, element: Attribute) -> Range:
    """Returns the range of numbers of a type that lie in ``exact`` before they are rounded to the type.

    Rounding keeps numbers on their side of a bound that the type has. A bound that it does not have moves outwards by
    more than the type's numbers are apart there, whichever way the chip rounds.
    """
    if element not in EXACT:
        return exact
    dtype = numpy_dtype(element)

    def outwards(bound: float, direction: int) -> float:
        with np.errstate(over="ignore"):
            nearest = float(np.asarray(bound).astype(dtype))
        if nearest == bound or math.isnan(bound):
            return bound
        return nearest + direction * abs(bound) * 2 / EXACT[element]

    return Range(outwards(exact.low, -1), outwards(exact.high, 1))


def _sum(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a sum, before it wraps around."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return _rounded(Range(lhs.low + rhs.low, lhs.high + rhs.high), tensor_type(value).element_type)


def _difference(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a difference, before it wraps around."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return _rounded(Range(lhs.low - rhs.high, lhs.high - rhs.low), tensor_type(value).element_type)


def _product(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a product, before it wraps around."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    if not math.isfinite(sum(lhs) + sum(rhs)):
        return _ANY
    corners = [one * other for one in lhs for other in rhs]
    return _rounded(Range(min(corners), max(corners)), tensor_type(value).element_type)


def _maximum(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of the elementwise maximum."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return Range(max(lhs.low, rhs.low), max(lhs.high, rhs.high))


def _minimum(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of the elementwise minimum."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    return Range(min(lhs.low, rhs.low), min(lhs.high, rhs.high))


def _remainder(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a remainder by a positive divisor. A remainder has the sign of its dividend."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    if tensor_type(value).element_type not in _TYPES or not rhs.low <= rhs.high or rhs.low <= 0:
        return _TYPES.get(tensor_type(value).element_type, _ANY)
    most = rhs.high - 1
    return Range(max(lhs.low, -most) if lhs.low < 0 else 0, min(lhs.high, most) if lhs.high > 0 else 0)


def _quotient(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of an integer quotient of a non-negative dividend and a positive divisor."""
    lhs, rhs = (ask(operand) for operand in value.op.operands)
    if not is_integer(value) or lhs.low < 0 or rhs.low <= 0:
        return _TYPES.get(tensor_type(value).element_type, _ANY)
    return Range(lhs.low // rhs.high, lhs.high // rhs.low)


def _sign(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of signs: a part of -1, 0 and 1."""
    inner = ask(value.op.operands[0])
    return Range(*((number > 0) - (number < 0) for number in inner))


def _left_shift(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns 0 for shifts by 32 and more, which the chip defines as 0; otherwise the type's whole range."""
    far = ask(value.op.operands[1]).low > 31
    return Range(0, 0) if far else _TYPES.get(tensor_type(value).element_type, _ANY)


def _bits(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a bitwise and. Masking a non-negative number never makes it larger."""
    operand_ranges = [ask(operand) for operand in value.op.operands]
    limits = [one.high for one in operand_ranges if one.low >= 0]
    return Range(0, min(limits)) if limits else _TYPES.get(tensor_type(value).element_type, _ANY)


def _right_shift(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the range of a logical right shift. Shifts by 32 and more, and by negative amounts, give 0."""
    inner, by = ask(value.op.operands[0]), ask(value.op.operands[1])
    if by.low > 31:
        return Range(0, 0)
    if by.low < 0:
        return _TYPES.get(tensor_type(value).element_type, _ANY)
    most = inner.high if inner.low >= 0 else 2**32 - 1
    return Range(0, int(most) >> int(by.low))


def _choice(value: OpResult, ask: RangeOfOperand) -> Range:
    """Returns the union of both branches' ranges.

    A predicate ``x < c`` or ``x >= c`` narrows the branch that is x itself or x plus a constant.
    """
    op = value.op
    assert isinstance(op, WhereOp)
    return _either(_under(op.second, op.first, True, ask), _under(op.third, op.first, False, ask))


def _under(value: SSAValue, predicate: SSAValue, holds: bool, ask: RangeOfOperand) -> Range:
    """Returns the range of a value in the elements where a predicate has the truth value ``holds``."""
    unconstrained = ask(value)
    test = predicate.owner
    if not isinstance(test, (BINARY["lt"], BINARY["ge"])):
        return unconstrained
    subject, limit = test.operands
    against = splat(limit)
    if against is None or not is_integer(subject):  # A float below 4 may be 3.5.
        return unconstrained
    inner = ask(subject)
    below = isinstance(test, BINARY["lt"]) == holds
    limited = Range(inner.low, min(inner.high, against - 1)) if below else Range(max(inner.low, against), inner.high)
    if limited.low > limited.high:
        return unconstrained
    if value is subject:
        return limited
    plus = producer(value, Add)
    for term, other in both_ways(plus) if plus is not None else ():
        step = splat(other)
        if term is subject and step is not None:
            return Range(limited.low + step, limited.high + step)
    return unconstrained


_RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(TRUTH_OPS, lambda _value, _ask: Range(0, 1)),
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
    """Returns whether a value's element type is a 32-bit integer."""
    return tensor_type(value).element_type in _TYPES


def fits(numbers: Range, element: Attribute) -> bool:
    """Returns whether an integer type represents every number of a range."""
    type_range = _TYPES[element]
    return type_range.low <= numbers.low and numbers.high <= type_range.high


_KEEP_INTEGRAL = (Add, Subtract, Multiply, BINARY["maximum"], BINARY["minimum"], UNARY["neg"], UNARY["abs"])


def is_integral(value: SSAValue, depth: int = _DEPTH) -> bool:
    """Returns whether a float is known to be finite and without a fraction, from the ops that produce it."""
    if not isinstance(value, OpResult) or depth == 0:
        return False
    op = value.op
    constant = splat(value)
    if constant is not None:
        return float(constant).is_integer()
    if isinstance(op, TypecastOp):
        return tensor_type(op.input).element_type in _TYPES
    if isinstance(op, TRUTH_OPS):
        return True
    if isinstance(op, (*_SAME, ConcatOp, *_KEEP_INTEGRAL)):
        operands: Any = op.operands[:1] if isinstance(op, _SAME) else op.operands
        return all(is_integral(operand, depth - 1) for operand in operands)
    return False
