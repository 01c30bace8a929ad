"""Lowerings of ops that move elements."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, belongs_in_rows, lowers
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttir import structure as source
from tt_xla.ir.ttnn import structure as target


@lowers(source.ReshapeOp)
def reshape(lowering: Lowering, op: source.ReshapeOp) -> SSAValue:
    """Lowers a reshape."""
    return _move(lowering, op, target.ReshapeOp, shape=op.shape_)


@lowers(source.PermuteOp)
def permute(lowering: Lowering, op: source.PermuteOp) -> SSAValue:
    """Lowers a permute."""
    return _move(lowering, op, target.PermuteOp, permutation=op.permutation)


@lowers(source.BroadcastOp)
def broadcast(lowering: Lowering, op: source.BroadcastOp) -> SSAValue:
    """Lowers a broadcast to a repeat."""
    factors = op.broadcast_dimensions
    return lowering.emit(target.RepeatOp, [lowering.tiled(op.input)], *lowering.result(op), repeat_dims=factors)


@lowers(source.ConcatOp)
def concat(lowering: Lowering, op: source.ConcatOp) -> SSAValue:
    """Lowers a concatenation."""
    tiled = _moves_tiles(lowering, op)
    operands = [[lowering.laid_out(value, tiled=tiled) for value in op.operands]]
    return lowering.emit(target.ConcatOp, operands, *lowering.result(op), tiled=tiled, dim=op.dim)


@lowers(source.SliceStaticOp)
def slice_static(lowering: Lowering, op: source.SliceStaticOp) -> SSAValue:
    """Lowers a slice with constant bounds."""
    return _move(lowering, op, target.SliceStaticOp, **{name: op.value(name) for name in ("begins", "ends", "step")})


def _move(lowering: Lowering, op: TTOp, kind: type[TTOp], **values: Any) -> SSAValue:
    """Lowers an op that moves the elements of one tensor."""
    tiled = _moves_tiles(lowering, op)
    operand = lowering.laid_out(op.operands[0], tiled=tiled)
    return lowering.emit(kind, [operand], *lowering.result(op), tiled=tiled, **values)


def _moves_tiles(lowering: Lowering, op: TTOp) -> bool:
    """Returns whether an op moves tiles rather than rows.

    Rows are moved where tiles would be mostly padding: of operands that are there in rows, or of a result that is only
    moved further.
    """
    return not (any(map(lowering.is_in_rows, op.operands)) or belongs_in_rows(op.results[0]))


@lowers(source.PadOp)
def pad(lowering: Lowering, op: source.PadOp) -> SSAValue:
    """Lowers a pad; TT-NN pads in front on row-major tensors alone."""
    padding = op.padding
    tiled = not any(padding[::2])
    operand = lowering.tiled(op.input) if tiled else lowering.row_major(op.input)
    values = {"padding": padding, "value": op.value_, "use_multicore": True}
    return lowering.emit(target.PadOp, [operand], *lowering.result(op), tiled=tiled, **values)


@lowers(source.GatherOp)
def gather(lowering: Lowering, op: source.GatherOp) -> SSAValue:
    """Lowers a gather; TT-NN gathers from rank 2 on, so vectors become rows."""
    sizes, dtype = lowering.result(op)
    operands, dim = [lowering.tiled(op.input), lowering.tiled(op.index, DataType.U32)], op.dim
    if len(sizes) > 1:
        return lowering.emit(target.GatherOp, operands, sizes, dtype, dim=dim)
    rows = [lowering.reshaped(operand, (1, *shape(operand))) for operand in operands]
    return lowering.reshaped(lowering.emit(target.GatherOp, rows, (1, *sizes), dtype, dim=1), sizes)


@lowers(source.EmbeddingOp)
def embedding(lowering: Lowering, op: source.EmbeddingOp) -> SSAValue:
    """Lowers a table look-up.

    Indices are u32 of rank 1 or 2, and the table is bfloat16, both row-major. The result is converted back to the
    table's type.
    """
    sizes, dtype = lowering.result(op)
    indices = lowering.row_major(op.input, DataType.U32)
    if len(shape(indices)) not in (1, 2):
        flat = (math.prod(shape(indices)),)
        indices = lowering.emit(target.ReshapeOp, [indices], flat, DataType.U32, tiled=False, shape=flat)
    table = lowering.row_major(op.weight, DataType.BF16)
    looked_up = lowering.emit(target.EmbeddingOp, [indices, table], (*shape(indices), sizes[-1]), DataType.BF16)
    if shape(looked_up) != sizes:
        looked_up = lowering.emit(target.ReshapeOp, [looked_up], sizes, DataType.BF16, shape=sizes)
    return lowering.convert(looked_up, tiled=True, dtype=dtype)
