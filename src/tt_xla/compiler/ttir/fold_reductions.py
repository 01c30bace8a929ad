"""Folding of reductions over single elements, and over elements that a broadcast repeated."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import bf16, f32
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import Multiply, splat_before
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor_type
from tt_xla.ir.ttir.reduction import MaxOp, MeanOp, MinOp, ProdOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp

Reduced = SumOp | MeanOp | MaxOp | MinOp | ProdOp


@pattern(MaxOp, MinOp, ProdOp)
def extreme_of_single_elements(op: MaxOp | MinOp | ProdOp, rewriter: PatternRewriter) -> None:
    """Rewrites a maximum, minimum or product over dimensions of size 1 to a reshape."""
    _drop_reduction(op, rewriter)


@pattern(SumOp, MeanOp, approximate=True)
def sum_of_single_elements(op: SumOp | MeanOp, rewriter: PatternRewriter) -> None:
    """Rewrites a sum or mean over dimensions of size 1 to a reshape; the sum of -0 alone is 0."""
    _drop_reduction(op, rewriter)


def _drop_reduction(op: Reduced, rewriter: PatternRewriter) -> None:
    """Replaces a reduction over dimensions of size 1 by a reshape."""
    sizes = shape(op.input)
    dims = shapes.normalise_dims(op.dim_arg, len(sizes))
    if all(sizes[dim] == 1 for dim in dims) and _same_element(op):
        replace_with(rewriter, op, ReshapeOp, [op.input], shape=shape(op.result))


@pattern(MaxOp, MinOp)
def extreme_of_repeated(op: MaxOp | MinOp, rewriter: PatternRewriter) -> None:
    """Takes a maximum or minimum before the broadcast that repeated its operand along the reduced dimensions."""
    _reduce_before_repeating(op, rewriter)


@pattern(SumOp, MeanOp, approximate=True)
def sum_of_repeated(op: SumOp | MeanOp, rewriter: PatternRewriter) -> None:
    """Takes a sum or mean before the broadcast that repeated its operand, and multiplies a sum by the count."""
    _reduce_before_repeating(op, rewriter)


def _reduce_before_repeating(op: SumOp | MeanOp | MaxOp | MinOp, rewriter: PatternRewriter) -> None:
    """Replaces a reduction of a broadcast by the reduction of the broadcast's operand."""
    broadcast = producer(op.input, BroadcastOp)
    if broadcast is None or only_user(op.input) is not op or not _same_element(op):
        return
    times, sizes = broadcast.broadcast_dimensions, shape(op.input)
    dims = shapes.normalise_dims(op.dim_arg, len(sizes))
    if any(count > 1 and (dim not in dims or shape(broadcast.input)[dim] != 1) for dim, count in enumerate(times)):
        return
    count = math.prod(times)
    keep_dim = op.keep_dim
    if not isinstance(op, SumOp) or count == 1:
        replace_with(rewriter, op, type(op), [broadcast.input], dim_arg=dims, keep_dim=keep_dim)
        return
    type_ = tensor_type(op.result)
    total = insert_before(rewriter, op, SumOp, [broadcast.input], type_, dim_arg=dims, keep_dim=keep_dim)
    replace_with(rewriter, op, Multiply, [total, splat_before(rewriter, op, float(count), type_)])


def _same_element(op: Reduced) -> bool:
    """Returns whether a reduction takes and returns the same float type."""
    element = tensor_type(op.result).element_type
    return element in (bf16, f32) and tensor_type(op.input).element_type == element


PATTERNS = (extreme_of_single_elements, sum_of_single_elements, extreme_of_repeated, sum_of_repeated)
