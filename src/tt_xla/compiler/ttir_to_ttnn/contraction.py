"""Lowering of matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttir import collective
from tt_xla.ir.ttir import contraction as source
from tt_xla.ir.ttnn import contraction as target
from tt_xla.ir.ttnn.collective import SparseMatmulOp


@lowers(source.MatmulOp, source.LinearOp)
def matmul(lowering: Lowering, op: source.MatmulOp | source.LinearOp) -> SSAValue:
    """Lowers a matrix product, with or without bias; operands are tiles."""
    kind = target.MatmulOp if isinstance(op, source.MatmulOp) else target.LinearOp
    flags = {name: op.value(name) for name in ("transpose_a", "transpose_b")}
    operands = [lowering.tiled(value) for value in op.operands]
    return lowering.emit(kind, operands, *lowering.result(op), **flags)


@lowers(collective.SparseMatmulOp)
def sparse_matmul(lowering: Lowering, op: collective.SparseMatmulOp) -> SSAValue:
    """Lowers a product with the weights of experts in use, which row-major bfloat16 numbers mark."""
    factors = [lowering.tiled(op.input_tensor_a), lowering.tiled(op.input_tensor_b)]
    operands = [*factors, lowering.row_major(op.sparsity, DataType.BF16)]
    return lowering.emit(SparseMatmulOp, operands, *lowering.result(op), **op.values())
