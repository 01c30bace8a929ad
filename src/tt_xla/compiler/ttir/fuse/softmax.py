"""Fusion of softmax along one dimension."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import both_ways, pattern, producer, replace_with
from tt_xla.compiler.ttir.dimensions import VIEWS, refined, through, unsplit
from tt_xla.compiler.ttir.match import (
    BINARY,
    UNARY,
    Div,
    Multiply,
    Subtract,
    cast,
    equal_up_to_casts,
    is_float,
    skip_casts,
    skip_casts_and_broadcasts,
    skip_casts_and_reshapes,
    skip_ops,
)
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.reduction import MaxOp, SoftmaxOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, TypecastOp, WhereOp


@pattern(Div, approximate=True)
def softmax(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses exp(x) / sum(exp(x)), also with the maximum of x subtracted first, which is numerically stable."""
    _softmax(op, rewriter, op.operands[0], op.operands[1])


@pattern(Multiply, approximate=True)
def softmax_by_reciprocal(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses exp(x) * (1 / sum(exp(x)))."""
    for value, other in both_ways(op):
        reciprocal = producer(skip_ops(other, BroadcastOp, TypecastOp), UNARY["reciprocal"])
        if reciprocal is not None:
            _softmax(op, rewriter, value, reciprocal.operands[0])
            return


def _softmax(op: Operation, rewriter: PatternRewriter, value: SSAValue, divisor: SSAValue) -> None:
    """Fuses ``value / divisor`` if it is a softmax."""
    exp, total = producer(skip_casts(value), UNARY["exp"]), producer(skip_casts_and_broadcasts(divisor), SumOp)
    if (
        exp is None
        or total is None
        or not is_float(op.results[0])
        or not equal_up_to_casts(total.input, exp.results[0])
    ):
        return
    dims = total.dim_arg
    if dims is None or len(dims) != 1 or not _kept(divisor, total, dims[0]):
        return
    x, stable = exp.operands[0], False
    shifted = producer(skip_casts(x), Subtract)
    greatest = _maximum(shifted.operands[1], dims) if shifted is not None else None
    if shifted is not None and (
        (greatest is not None and equal_up_to_casts(greatest, shifted.operands[0]))
        or _is_turned_maximum(shifted.operands[1], shifted.operands[0], dims[0])
    ):
        x, stable = shifted.operands[0], True
    if shape(x) == shape(op.results[0]):
        source = cast(rewriter, op, skip_casts(x), op.results[0])
        replace_with(rewriter, op, SoftmaxOp, [source], dimension=dims[0], numericStable=stable)


def _maximum(value: SSAValue, dims: tuple[int, ...]) -> SSAValue | None:
    """Returns the tensor whose maximum along ``dims`` a value is, or None.

    Log-sum-exp replaces a maximum that is not finite by 0, and JAX takes another maximum with -inf.
    """
    source = skip_casts_and_broadcasts(value)
    guard = producer(source, WhereOp)
    if (
        guard is not None
        and splat(skip_casts_and_broadcasts(guard.third)) == 0
        and _is_finite(guard.first, guard.second)
    ):
        value = guard.second
        source = skip_casts_and_broadcasts(value)
    if isinstance(source, OpResult) and isinstance(source.op, BINARY["maximum"]):
        for one, other in both_ways(source.op):
            if splat(other) == float("-inf"):
                value = one
                source = skip_casts_and_broadcasts(one)
    greatest = producer(source, MaxOp)
    if greatest is None or greatest.dim_arg != dims or not _kept(value, greatest, dims[0]):
        return None
    return greatest.input


def _is_turned_maximum(value: SSAValue, x: SSAValue, dim: int) -> bool:
    """Returns whether ``value`` is the maximum of a permuted ``x``, permuted back."""
    value = skip_ops(value, BroadcastOp, TypecastOp)
    greatest = producer(skip_ops(value, *VIEWS), MaxOp)
    dims = unsplit(shape(greatest.input)) if greatest is not None else []
    dims_in_x = through(greatest.input, x, dims) if greatest is not None else None
    if greatest is None or dims_in_x is None:
        return False
    reduced = shapes.normalise_dims(greatest.dim_arg, len(dims))
    remaining = [[] if place in reduced else factors for place, factors in enumerate(dims)]
    if not greatest.keep_dim:
        remaining = [factors for place, factors in enumerate(remaining) if place not in reduced]
    end = through(greatest.result, value, remaining)
    expected = [[] if place == dim else factors for place, factors in enumerate(refined(dims_in_x))]
    return end is not None and refined(end) == expected


def _is_finite(predicate: SSAValue, value: SSAValue) -> bool:
    """Returns whether a predicate tests that a value is finite."""
    test = producer(skip_casts_and_broadcasts(predicate), UNARY["isfinite"])
    return test is not None and skip_casts_and_reshapes(test.operands[0]) is skip_casts_and_reshapes(value)


def _kept(value: SSAValue, total: SumOp | MaxOp, dim: int) -> bool:
    """Returns whether ``value`` is a reduction that keeps its dimension, or is still to be broadcast along it."""
    before = skip_ops(value, BroadcastOp, TypecastOp)
    return shape(before) == shapes.reduce(shape(total.input), (dim,), True)


PATTERNS = (softmax, softmax_by_reciprocal)
