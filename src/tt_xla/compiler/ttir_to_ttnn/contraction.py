"""Lowering of matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.ttir import contraction as source
from tt_xla.ir.ttnn import contraction as target


@lowers(source.MatmulOp, source.LinearOp)
def matmul(lowering: Lowering, op: source.MatmulOp | source.LinearOp) -> SSAValue:
    """Lowers a matrix product, with or without bias; operands are tiles."""
    kind = target.MatmulOp if isinstance(op, source.MatmulOp) else target.LinearOp
    flags = {name: op.value(name) for name in ("transpose_a", "transpose_b")}
    operands = [lowering.tiled(value) for value in op.operands]
    return lowering.emit(kind, operands, *lowering.result(op), **flags)
