"""Fusion of reshapes into reductions that keep their dimensions, and of sums into means."""

from __future__ import annotations

import math

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import both_ways, insert_before, look_through, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import Div, Multiply, rounded, skip_casts_and_broadcasts
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor_type
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.reduction import MeanOp, SumOp
from tt_xla.ir.ttir.structure import ReshapeOp


@pattern(ReshapeOp)
def keep_dim(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """Fuses a reduction and a reshape that restores its dimensions of size 1."""
    reduction = producer(op.input, shared.Reduction)  # pyright: ignore[reportArgumentType]
    if reduction is None or reduction.keep_dim or only_user(op.input) is not op:
        return
    dims = reduction.dim_arg
    if dims is None or shape(op.result) != shapes.reduce(shape(reduction.input), dims, True):
        return
    replace_with(rewriter, op, type(reduction), [reduction.input], dim_arg=dims, keep_dim=True)


@pattern(Multiply, Div, approximate=True)
def mean(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses sum(x) * (1 / n) and sum(x) / n to a mean, where n elements are summed."""
    pairs = [(op.operands[0], op.operands[1])] if isinstance(op, Div) else list(both_ways(op))
    for value, other in pairs:
        total = producer(look_through(value, ReshapeOp), SumOp)
        factor = splat(skip_casts_and_broadcasts(other)) if total is not None else None
        if total is None or not factor or value.type != op.results[0].type:
            continue
        count = math.prod(shape(total.input)) // max(1, math.prod(shape(total.result)))
        expected = rounded(count if isinstance(op, Div) else 1 / count, other)
        if math.isclose(factor, expected, rel_tol=2**-20):
            dims, keep = total.dim_arg, total.keep_dim
            type_ = tensor_type(total.result)
            average = insert_before(rewriter, op, MeanOp, [total.input], type_, dim_arg=dims, keep_dim=keep)
            replace_with(rewriter, op, ReshapeOp, [average], shape=shape(op.results[0]))
            return


PATTERNS = (keep_dim, mean)
