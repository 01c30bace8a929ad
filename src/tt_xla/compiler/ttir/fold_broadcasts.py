"""Elementwise ops broadcast by themselves, so explicit broadcasts before them go."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tt_xla.compiler.rewriting import producer, run_patterns
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.ttir.structure import BroadcastOp

_BROADCASTING = (shared.ElementwiseBinary, shared.Where, shared.ClampTensor)


class FoldBroadcast(RewritePattern):
    """The operand in front of the broadcast, as long as the operands together still give the result's shape."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _BROADCASTING):
            return
        for index, operand in enumerate(op.operands):
            broadcast = producer(operand, BroadcastOp)
            if broadcast is None:
                continue
            others = [shape(value) for position, value in enumerate(op.operands) if position != index]
            if shapes.broadcast(shape(broadcast.input), *others) == shape(op.result):
                op.operands[index] = broadcast.input
                rewriter.notify_op_modified(op)


def run(module: ModuleOp) -> None:
    run_patterns(module, FoldBroadcast())
