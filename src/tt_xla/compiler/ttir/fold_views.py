"""Shortening of chains of reshapes and permutes to at most a reshape, a permute and a reshape."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import pattern
from tt_xla.compiler.ttir.dimensions import Dims, Factor, after, product, refined, unsplit
from tt_xla.compiler.ttir.match import reshaped, transposed
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape
from tt_xla.ir.ttir.structure import PermuteOp, ReshapeOp

_LONGEST = 8
"""Number of ops up to which a chain is followed."""
_SHORT_STICK = 16
"""Elements of a row below which moving it takes as long as moving 16: an aligned row of bfloat16 in DRAM."""


class _Plan(NamedTuple):
    """A way from one shape to another: a reshape to ``split``, a permute by ``order`` and a final reshape."""

    split: shapes.Shape
    order: tuple[int, ...]

    @property
    def stick(self) -> int:
        """Elements of a row that the permute writes."""
        return shapes.permute(self.split, self.order)[-1] if self.order else 1

    def length(self, source: shapes.Shape, result: shapes.Shape) -> int:
        """Returns the number of ops that the plan needs."""
        is_turned = self.order != tuple(range(len(self.order)))
        if not is_turned:
            return int(source != result)
        return int(source != self.split) + 1 + int(shapes.permute(self.split, self.order) != result)


@pattern(ReshapeOp, PermuteOp)
def shorten_moves(op: ReshapeOp | PermuteOp, rewriter: PatternRewriter) -> None:
    """Replaces a chain of reshapes and permutes by fewer ops; ops with other users do not count as removed.

    A chain stays where the single permute would write shorter rows than any op of the chain, and very short ones.
    """
    chain = _chain(op)
    if len(chain) < 3:
        return
    removed = 1
    while removed < len(chain) and only_user(chain[removed].results[0]) is not None:
        removed += 1
    for length in range(removed, 2, -1):
        source: SSAValue = chain[length - 1].operands[0]
        plan = _plan(source, list(reversed(chain[:length])))
        if plan is None or plan.length(shape(source), shape(op.result)) >= length:
            continue
        rows = [shape(move.results[0])[-1] for move in chain[:length] if shape(move.results[0])]
        if plan.stick >= min(_SHORT_STICK, *rows):
            rewriter.replace(op, [], [_moved(rewriter, op, source, plan)])
            return


def _chain(op: Operation) -> list[Operation]:
    """Returns an op and the reshapes and permutes before it, last first."""
    chain = [op]
    while len(chain) < _LONGEST:
        value = chain[-1].operands[0]
        if not isinstance(value, OpResult) or not isinstance(value.op, ReshapeOp | PermuteOp):
            break
        chain.append(value.op)
    return chain


def _plan(source: SSAValue, chain: Sequence[Operation]) -> _Plan | None:
    """Returns the plan that has the effect of a chain, or None where dimensions do not divide each other."""
    start = unsplit(shape(source))
    end: Dims | None = start
    for op in chain:
        end = after(op, end) if end is not None else None
    if end is None:
        return None
    start, end = refined(start), refined(end)
    end_factors = [factor for dim in end for factor in dim]
    following = dict(itertools.pairwise(end_factors))
    pieces = [_runs(dim, following) for dim in start]
    split = [piece for dim in pieces for piece in (dim or [[]])]
    places = {piece[0]: place for place, piece in enumerate(split) if piece}
    ones = [place for place, piece in enumerate(split) if not piece]
    order = [places[factor] for factor in end_factors if factor in places]
    if len(ones) == sum(not dim for dim in end):  # Dimensions of size 1 go where the result has them.
        turned = iter(order)
        order = []
        for dim in end:
            order += [next(turned) for factor in dim if factor in places] if dim else [ones.pop(0)]
    return _Plan(tuple(product(piece) for piece in split), (*ones, *order))


def _runs(dim: list[Factor], following: dict[Factor, Factor]) -> list[list[Factor]]:
    """Groups the factors of a dimension that are also adjacent in the result."""
    runs: list[list[Factor]] = []
    for factor in dim:
        if runs and following.get(runs[-1][-1]) is factor:
            runs[-1].append(factor)
        else:
            runs.append([factor])
    return runs


def _moved(rewriter: PatternRewriter, op: ReshapeOp | PermuteOp, value: SSAValue, plan: _Plan) -> SSAValue:
    """Inserts the ops of a plan and returns the last result."""
    if plan.order != tuple(range(len(plan.order))):
        value = transposed(rewriter, op, reshaped(rewriter, op, value, plan.split), plan.order)
    return reshaped(rewriter, op, value, shape(op.result))
