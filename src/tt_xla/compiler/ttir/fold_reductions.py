"""Reductions that have nothing to add up, and gradients' sums over what was only repeated."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import bf16, f32
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.analysis.constants import splat_of
from tt_xla.compiler.rewriting import insert_before, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import Multiply
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor_type
from tt_xla.ir.ttir.reduction import MaxOp, MeanOp, MinOp, ProdOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp

Reduced = SumOp | MeanOp | MaxOp | MinOp | ProdOp


@pattern(MaxOp, MinOp, ProdOp)
def extreme_of_single_elements(op: MaxOp | MinOp | ProdOp, rewriter: PatternRewriter) -> None:
    """A maximum, minimum or product over dimensions of size 1 is a reshape."""
    _drop_reduction(op, rewriter)


@pattern(SumOp, MeanOp, approximate=True)
def sum_of_single_elements(op: SumOp | MeanOp, rewriter: PatternRewriter) -> None:
    """A sum or mean over dimensions of size 1 is a reshape, but for -0, whose sum is 0."""
    _drop_reduction(op, rewriter)


def _drop_reduction(op: Reduced, rewriter: PatternRewriter) -> None:
    sizes = shape(op.input)
    dims = shapes.normalise_dims(op.dim_arg, len(sizes))
    if all(sizes[dim] == 1 for dim in dims) and _same_element(op):
        replace_with(rewriter, op, ReshapeOp, [op.input], shape=shape(op.result))


@pattern(MaxOp, MinOp)
def extreme_of_repeated(op: MaxOp | MinOp, rewriter: PatternRewriter) -> None:
    """The maximum or minimum over dimensions along which a tensor was repeated is that over the other dimensions."""
    _reduce_before_repeating(op, rewriter)


@pattern(SumOp, MeanOp, approximate=True)
def sum_of_repeated(op: SumOp | MeanOp, rewriter: PatternRewriter) -> None:
    """The sum over dimensions along which a tensor was repeated is that over the others times the count."""
    _reduce_before_repeating(op, rewriter)


def _reduce_before_repeating(op: SumOp | MeanOp | MaxOp | MinOp, rewriter: PatternRewriter) -> None:
    spread = producer(op.input, BroadcastOp)
    if spread is None or only_user(op.input) is not op or not _same_element(op):
        return
    times, sizes = spread.broadcast_dimensions, shape(op.input)
    dims = shapes.normalise_dims(op.dim_arg, len(sizes))
    if any(count > 1 and (dim not in dims or shape(spread.input)[dim] != 1) for dim, count in enumerate(times)):
        return
    count = math.prod(times)
    kept = op.keep_dim
    if not isinstance(op, SumOp) or count == 1:
        replace_with(rewriter, op, type(op), [spread.input], dim_arg=dims, keep_dim=kept)
        return
    type_ = tensor_type(op.result)
    total = insert_before(rewriter, op, SumOp, [spread.input], type_, dim_arg=dims, keep_dim=kept)
    factor = splat_of(float(count), type_, op.location)
    rewriter.insert(factor, InsertPoint.before(op))
    replace_with(rewriter, op, Multiply, [total, factor.results[0]])


def _same_element(op: Reduced) -> bool:
    """Whether a reduction of floats keeps their type."""
    element = tensor_type(op.result).element_type
    return element in (bf16, f32) and tensor_type(op.input).element_type == element


PATTERNS = (extreme_of_single_elements, sum_of_single_elements, extreme_of_repeated, sum_of_repeated)
