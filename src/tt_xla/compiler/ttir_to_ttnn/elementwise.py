"""Lowerings of elementwise ops, clamps, choices and casts."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir import ttir, ttnn
from tt_xla.ir.base import TTOp
from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ir.ttir import structure as source
from tt_xla.ir.ttnn import structure as target
from tt_xla.ir.ttnn.attributes import layout_of

_NAMES = {f"ttir.{row.ttir}": row.ttnn for row in (*UNARY, *BINARY) if row.ttnn}
"""TTNN name by the name of the TTIR op."""


@lowers(*(op for op in ttir.ELEMENTWISE_OPS.values() if op.name in _NAMES))
def elementwise(lowering: Lowering, op: TTOp) -> SSAValue:
    """Lowers an elementwise op by name.

    A TT-NN op of one operand returns the operand's element type, except bitcasts; ops of two operands return the type
    that is asked for.
    """
    kind = ttnn.ELEMENTWISE_OPS[_NAMES[op.name]]
    shape, dtype = lowering.result(op)
    operands = [lowering.tiled(value) for value in op.operands]
    keeps_dtype = len(operands) == 1 and kind.name != "ttnn.bitcast_convert"
    returned_dtype = layout_of(operands[0]).dtype if keeps_dtype else dtype
    return lowering.convert(lowering.emit(kind, operands, shape, returned_dtype), tiled=True, dtype=dtype)


@lowers(source.WhereOp)
def where(lowering: Lowering, op: source.WhereOp) -> SSAValue:
    """Lowers a choice; the predicate gets the element type of the values."""
    shape, dtype = lowering.result(op)
    operands = [lowering.tiled(op.first, dtype), lowering.tiled(op.second), lowering.tiled(op.third)]
    return lowering.emit(target.WhereOp, operands, shape, dtype)


@lowers(source.ClampScalarOp)
def clamp_scalar(lowering: Lowering, op: source.ClampScalarOp) -> SSAValue:
    """Lowers a clamp with constant bounds."""
    operand = lowering.tiled(op.input)
    values: dict[str, Any] = {"min": op.min, "max": op.max, "indexes": op.indexes}
    return lowering.emit(target.ClampScalarOp, [operand], *lowering.result(op), **values)


@lowers(source.ClampTensorOp)
def clamp_tensor(lowering: Lowering, op: source.ClampTensorOp) -> SSAValue:
    """Lowers a clamp with tensors as bounds."""
    operands = [lowering.tiled(value) for value in op.operands]
    return lowering.emit(target.ClampTensorOp, operands, *lowering.result(op))


@lowers(source.LeakyReluOp)
def leaky_relu(lowering: Lowering, op: source.LeakyReluOp) -> SSAValue:
    """Lowers leaky ReLU."""
    operands = [lowering.tiled(op.input)]
    return lowering.emit(target.LeakyReluOp, operands, *lowering.result(op), parameter=op.parameter)


@lowers(source.TypecastOp)
def typecast(lowering: Lowering, op: source.TypecastOp) -> SSAValue:
    """Lowers a cast to a conversion, which is shared with other uses of the value."""
    return lowering.tiled(op.input, lowering.result(op)[1])
