"""Workaround: a convolution whose result is one or two elements wide has no room for its kernel's read positions.

A core's share of the result consists of runs of neighbouring positions. Each run takes four bytes in a buffer whose
size TT-NN computes as two bytes per position. In narrow results almost every position is a run of its own. ttnn 0.81.1
reports ``TT_FATAL: Reader indices buffer page size 68 exceeds worst-case CB size 64``, from 16 rows on.
"""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, replace_with
from tt_xla.ir import shapes
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import SliceStaticOp
from tt_xla.ir.ttir.window import Conv2dOp

WIDE_ENOUGH = 3
"""Width of a result from which on the buffer is large enough."""
FEWEST_ROWS = 16
"""Number of rows from which on the fault occurs."""


@pattern(Conv2dOp)
def widened(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites conv(x) to the first columns of conv(x) with more padding on the right."""
    if op.dims != (0, 1, 2, 3):
        return
    batch, rows, width, channels = shape(op.result)
    if width >= WIDE_ENOUGH or batch * rows < FEWEST_ROWS or _in_one_stretch(op):
        return
    top, left, bottom, right = shapes.borders(op.padding)
    _, stride = shapes.pair(op.stride, "stride")
    values = op.values() | {"padding": (top, left, bottom, right + (WIDE_ENOUGH - width) * stride)}
    type_ = tensor((batch, rows, WIDE_ENOUGH, channels), tensor_type(op.result).element_type)
    wide = insert_before(rewriter, op, Conv2dOp, [op.input, op.weight, op.bias], type_, **values)
    ends = (batch, rows, width, channels)
    replace_with(rewriter, op, SliceStaticOp, [wide], begins=(0, 0, 0, 0), ends=ends, step=(1, 1, 1, 1))


def _in_one_stretch(op: Conv2dOp) -> bool:
    """Returns whether positions of consecutive rows are contiguous, so that the fault does not occur.

    Either a row begins where the one before ends, or windows lie side by side, which TT-NN computes as a product.
    """
    _, left, _, right = padding = shapes.borders(op.padding)
    strides, kernel = shapes.pair(op.stride, "stride"), shape(op.weight)[2:]
    rows_meet = strides[1] == 1 and shape(op.input)[2] + left + right == shape(op.result)[2]
    return rows_meet or (strides == kernel and not any(padding))


PATTERNS = (widened,)
