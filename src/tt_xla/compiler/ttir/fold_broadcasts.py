"""Elementwise ops broadcast by themselves, so explicit broadcasts before them go."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import pattern, producer, run_patterns
from tt_xla.compiler.ttir.match import splat_of
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp

_BROADCASTING: Any = (shared.ElementwiseBinary, shared.Where, shared.ClampTensor)


@pattern(*_BROADCASTING)
def fold_broadcast(op: Any, rewriter: PatternRewriter) -> None:
    """The operand in front of the broadcast, as long as the operands together still give the result's shape."""
    for index, operand in enumerate(op.operands):
        broadcast = producer(operand, BroadcastOp)
        if broadcast is not None and _still_broadcasts(op, index, shape(broadcast.input)):
            op.operands[index] = broadcast.input
            rewriter.notify_op_modified(op)


@pattern(*_BROADCASTING)
def fold_unsqueeze(op: Any, rewriter: PatternRewriter) -> None:
    """The operand in front of a reshape that only puts dimensions of size 1 in front of its own."""
    for index, operand in enumerate(op.operands):
        unsqueeze = producer(operand, ReshapeOp)
        if unsqueeze is None:
            continue
        before, after = shape(unsqueeze.input), shape(operand)
        added = len(after) - len(before)
        if before and added > 0 and after == (1,) * added + before and _still_broadcasts(op, index, before):
            op.operands[index] = unsqueeze.input
            rewriter.notify_op_modified(op)


@pattern(*_BROADCASTING)
def shrink_constant(op: Any, rewriter: PatternRewriter) -> None:
    """A constant of one value everywhere needs one element."""
    for index, operand in enumerate(op.operands):
        if len(shape(operand)) == 1 == shape(operand)[0]:
            continue
        value = splat(operand)
        if value is not None and _still_broadcasts(op, index, (1,)):
            made = splat_of(value, tensor((1,), tensor_type(operand).element_type), op.location)
            rewriter.insert(made, InsertPoint.before(op))
            op.operands[index] = made.results[0]
            rewriter.notify_op_modified(op)


def _still_broadcasts(op: Any, index: int, sizes: shapes.Shape) -> bool:
    others = [shape(value) for position, value in enumerate(op.operands) if position != index]
    return shapes.broadcast(sizes, *others) == shape(op.result)


def run(module: ModuleOp) -> None:
    run_patterns(module, fold_broadcast, fold_unsqueeze, shrink_constant)
