"""Workaround: a tiled vector cannot be padded beyond its last tile; TT-NN allocates the result without new tiles.

ttnn 0.81.1 reports ``TT_FATAL: MeshBuffer must be large enough to hold the tensor`` for every element type. Matrices
can be padded.
"""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, replace_with
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.structure import PadOp, ReshapeOp


@pattern(PadOp)
def pad_as_a_matrix(op: PadOp, rewriter: PatternRewriter) -> None:
    """Rewrites the pad of a vector to the pad of a matrix with one row; the reshapes around it move nothing."""
    before, after = shape(op.input), shape(op.results[0])
    if len(before) != 1 or not layout_of(op.input).tiled or -(-before[0] // TILE) == -(-after[0] // TILE):
        return
    row, wide = (1, *before), (1, *after)
    type_ = laid_out(row, layout_of(op.input).with_(row))
    matrix = insert_before(rewriter, op, ReshapeOp, [op.input], type_, shape=row)
    values = op.values() | {"padding": (0, 0, *op.padding)}
    type_ = laid_out(wide, layout_of(op.results[0]).with_(wide))
    padded = insert_before(rewriter, op, PadOp, [matrix], type_, **values)
    replace_with(rewriter, op, ReshapeOp, [padded], shape=after)


PATTERNS = (pad_as_a_matrix,)
