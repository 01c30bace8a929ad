"""Lowerings of loops and cases; their functions are lowered like others."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers, passed, passed_type
from tt_xla.ir.control import CaseOp, WhileLoopOp


@lowers(WhileLoopOp)
def while_loop(lowering: Lowering, op: WhileLoopOp) -> Sequence[SSAValue]:
    """Lowers a loop; operands and results are passed as between functions."""
    operands = [[passed(lowering, value) for value in op.inputs]]
    return lowering.emit_all(WhileLoopOp, operands, [passed_type(value) for value in op.results], **op.values())


@lowers(CaseOp)
def case(lowering: Lowering, op: CaseOp) -> Sequence[SSAValue]:
    """Lowers a case; operands and results are passed as between functions."""
    operands = [passed(lowering, op.index), [passed(lowering, value) for value in op.inputs]]
    return lowering.emit_all(CaseOp, operands, [passed_type(value) for value in op.results], **op.values())
