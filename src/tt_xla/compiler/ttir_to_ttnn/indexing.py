"""Ops that put elements by position, and those that find positions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.ttir import indexing as source
from tt_xla.ir.ttnn import indexing as target


@lowers(source.ScatterOp)
def scatter(lowering: Lowering, op: source.ScatterOp) -> SSAValue:
    """All row-major, as TT-NN wants float32."""
    operands = [lowering.row_major(value) for value in (op.input, op.index, op.source)]
    values = {"dim": op.value("dim"), "scatter_reduce_type": op.value("scatter_reduce_type")}
    return lowering.emit(target.ScatterOp, operands, *lowering.result(op), tiled=False, **values)
