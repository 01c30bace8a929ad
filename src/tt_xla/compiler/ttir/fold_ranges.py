"""Folding of integer comparisons and limits whose outcome the operands' ranges decide.

JAX guards every index: it counts negative ones from the end and replaces those out of bounds. Positions that the
program computes by iota, argmax, top-k or a remainder need no guard.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import splat_of
from tt_xla.compiler.analysis.ranges import (
    BINARY,
    EXACT,
    TRUTH_OPS,
    UNARY,
    Range,
    bounds,
    fits,
    is_integer,
    is_integral,
)
from tt_xla.compiler.rewriting import both_ways, look_through, pattern, producer, replace_with
from tt_xla.ir.base import only_user, shape, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.structure import ClampScalarOp, TypecastOp

_ALWAYS: dict[str, Callable[[Range, Range], bool]] = {
    "lt": lambda one, other: one.high < other.low,
    "le": lambda one, other: one.high <= other.low,
    "gt": lambda one, other: one.low > other.high,
    "ge": lambda one, other: one.low >= other.high,
    "eq": lambda one, other: one.low == one.high == other.low == other.high,
    "ne": lambda one, other: one.high < other.low or one.low > other.high,
}
_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_COMPARISONS = tuple(BINARY[name] for name in _OPPOSITE)
_NAMES: dict[type[Operation], str] = {BINARY[name]: name for name in _OPPOSITE}


@pattern(*_COMPARISONS)
def fold_comparison(op: Operation, rewriter: PatternRewriter) -> None:
    """Replaces a comparison of integers by its result where their ranges decide it or both are the same value."""
    lhs, rhs = op.operands
    if not (is_integer(lhs) and is_integer(rhs)) or (splat(lhs) is not None and splat(rhs) is not None):
        return
    name = _NAMES[type(op)]
    if lhs is rhs:
        outcome = float(name in ("eq", "le", "ge"))
    else:
        one, other = bounds(lhs), bounds(rhs)
        if _ALWAYS[name](one, other):
            outcome = 1.0
        elif _ALWAYS[_OPPOSITE[name]](one, other):
            outcome = 0.0
        else:
            return
    type_ = tensor_type(op.results[0])
    rewriter.replace(op, splat_of(int(outcome) if is_integer(op.results[0]) else outcome, type_, op.location))


@pattern(*(BINARY[name] for name in ("bitwise_and", "div", "logical_left_shift", "logical_right_shift", "remainder")))
def fold_to_constant(op: Operation, rewriter: PatternRewriter) -> None:
    """Replaces an op by a constant where its range has one integer only, as for x >> 32, x & 0 and x % 1."""
    if not is_integer(op.results[0]):
        return
    limits = bounds(op.results[0])
    if limits.low == limits.high and fits(limits, si32):
        rewriter.replace(op, splat_of(int(limits.low), tensor_type(op.results[0]), op.location))


@pattern(BINARY["logical_and"], BINARY["logical_or"])
def absorb_constant_truth(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites (x and false) to false, and (x or true) to true."""
    number = 0 if isinstance(op, BINARY["logical_and"]) else 1
    if any(splat(operand) == number for operand in op.operands):
        rewriter.replace(op, splat_of(number, tensor_type(op.results[0]), op.location))


@pattern(ClampScalarOp)
def needless_clamp(op: ClampScalarOp, rewriter: PatternRewriter) -> None:
    """Removes a clamp of integers that lie within its bounds."""
    if not is_integer(op.input) or op.input.type != op.result.type:
        return
    limits = bounds(op.input)
    if float(op.min) <= limits.low and limits.high <= float(op.max):
        rewriter.replace(op, [], [op.input])


@pattern(BINARY["maximum"], BINARY["minimum"])
def needless_limit(op: Operation, rewriter: PatternRewriter) -> None:
    """Removes a maximum or minimum of integers where the ranges tell which operand it returns."""
    least = isinstance(op, BINARY["minimum"])
    for one, other in both_ways(op):
        if not is_integer(one) or one.type != op.results[0].type:
            continue
        mine, theirs = bounds(one), bounds(other)
        if (mine.high <= theirs.low) if least else (mine.low >= theirs.high):
            rewriter.replace(op, [], [one])
            return


@pattern(BINARY["remainder"])
def needless_remainder(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x % n of integers to x where 0 <= x < n."""
    lhs, rhs = op.operands
    if is_integer(lhs) and lhs.type == op.results[0].type:
        one, other = bounds(lhs), bounds(rhs)
        if one.low >= 0 and one.high < other.low:
            rewriter.replace(op, [], [lhs])


@pattern(TypecastOp)
def integer_by_way_of_float(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Rewrites int(float(x)) to x where the float type represents every number of x's range."""
    inner = producer(op.input, TypecastOp)
    middle = tensor_type(op.input).element_type
    if inner is None or inner.input.type != op.result.type or not is_integer(op.result) or middle not in EXACT:
        return
    limits = bounds(inner.input)
    if max(-limits.low, limits.high) <= EXACT[middle]:
        rewriter.replace(op, [], [inner.input])


@pattern(TypecastOp, approximate=True)
def float_by_way_of_integer(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Rewrites float(int(x)) to x where x is integral and fits; the original gives 0 for -0."""
    inner = producer(op.input, TypecastOp)
    if inner is None or inner.input.type != op.result.type or tensor_type(op.result).element_type not in EXACT:
        return
    if tensor_type(op.input).element_type == si32 and is_integral(inner.input) and fits(bounds(inner.input), si32):
        rewriter.replace(op, [], [inner.input])


@pattern(BINARY["logical_and"])
def drop_implied_inequality(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites (x != c) and (x < c) to x < c, which floor division in JAX contains; also with > for <."""
    for one, other in both_ways(op):
        differs, less = producer(one, BINARY["ne"]), other.owner
        if differs is None or not isinstance(less, (BINARY["lt"], BINARY["gt"])) or other.type != op.results[0].type:
            continue
        same_limit = differs.operands[1] is less.operands[1] or (
            splat(differs.operands[1]) is not None and splat(differs.operands[1]) == splat(less.operands[1])
        )
        if same_limit and differs.operands[0] is less.operands[0]:
            rewriter.replace(op, [], [other])
            return


def _uncast(value: SSAValue) -> SSAValue:
    """Returns the integer behind casts that keep it."""
    while (cast := producer(value, TypecastOp)) is not None and is_integer(cast.input):
        limits, element = bounds(cast.input), tensor_type(value).element_type
        if not (fits(limits, element) if is_integer(value) else max(-limits.low, limits.high) <= EXACT.get(element, 0)):
            break
        value = cast.input
    return value


@pattern(BINARY["logical_and"])
def fold_floor_division_test(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites (sign(x) != 1) and (x % n != 0) to x % n < 0 for positive n.

    JAX's floor division contains this test: where it holds, the truncated quotient is one too large.
    """
    for one, other in both_ways(op):
        signs, rest = producer(one, BINARY["ne"]), producer(other, BINARY["ne"])
        remainder = producer(rest.operands[0], BINARY["remainder"]) if rest is not None else None
        if signs is None or rest is None or remainder is None or splat(rest.operands[1]) != 0:
            continue
        sign = look_through(signs.operands[0], TypecastOp)  # a cast keeps what differs from 1
        sign_op = producer(sign, UNARY["sign"]) if splat(signs.operands[1]) == 1 else None
        if sign_op is None or not is_integer(remainder.operands[0]) or bounds(remainder.operands[1]).low <= 0:
            continue
        if _uncast(sign_op.operands[0]) is remainder.operands[0] and other.type == op.results[0].type:
            replace_with(rewriter, op, BINARY["lt"], list(rest.operands))
            return


@pattern(BINARY["ne"], BINARY["eq"])
def truth_of_truth(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites tests of a truth value t.

    (t != 0) and (t == 1) become t; (t == 0) becomes the opposite of the integer comparison that produced t.
    """
    for value, other in both_ways(op):
        truth_op, number = value.owner, splat(other)
        if not isinstance(truth_op, TRUTH_OPS) or number not in (0, 1) or shape(value) != shape(op.results[0]):
            continue
        if (number == 0) == isinstance(op, BINARY["ne"]):
            if value.type == op.results[0].type:
                rewriter.replace(op, [], [value])
            else:
                replace_with(rewriter, op, TypecastOp, [value])
            return
        if isinstance(truth_op, _COMPARISONS) and is_integer(truth_op.operands[0]) and only_user(value) is op:
            replace_with(rewriter, op, BINARY[_OPPOSITE[_NAMES[type(truth_op)]]], list(truth_op.operands))
            return


PATTERNS = (
    fold_comparison,
    fold_to_constant,
    absorb_constant_truth,
    needless_clamp,
    needless_limit,
    needless_remainder,
    integer_by_way_of_float,
    float_by_way_of_integer,
    drop_implied_inequality,
    fold_floor_division_test,
    truth_of_truth,
)
