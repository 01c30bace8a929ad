"""Lowering of matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import UNSIGNED, Lowering, lowers
from tt_xla.ir.element_types import DataType
from tt_xla.ir.ttir import contraction as source
from tt_xla.ir.ttnn import contraction as target


@lowers(source.MatmulOp, source.LinearOp)
def matmul(lowering: Lowering, op: source.MatmulOp | source.LinearOp) -> SSAValue:
    """Lowers a matrix product, with or without bias; operands are tiles."""
    kind = target.MatmulOp if isinstance(op, source.MatmulOp) else target.LinearOp
    flags = {name: op.value(name) for name in ("transpose_a", "transpose_b")}
    sizes, dtype = lowering.result(op)
    computed = DataType.F32 if dtype in UNSIGNED and not lowering.exact else dtype
    operands = [lowering.tiled(value, None if computed == dtype else computed) for value in op.operands]
    return lowering.wrapped(lowering.emit(kind, operands, sizes, computed, **flags), dtype)
