"""Lowerings of scatters, sorts and top-k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.base import DATA_TYPES, TTOp, shape, tensor_type
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.ttir import indexing as source
from tt_xla.ir.ttnn import indexing as target
from tt_xla.ir.ttnn.attributes import laid_out

_U16_POSITIONS = 1 << 16
"""Size of a dimension from which on positions do not fit in u16."""


@lowers(source.ScatterOp)
def scatter(lowering: Lowering, op: source.ScatterOp) -> SSAValue:
    """Lowers a scatter; all operands are row-major, as TT-NN requires for float32."""
    operands = [lowering.row_major(value) for value in (op.input, op.index, op.source)]
    values = {"dim": op.dim, "scatter_reduce_type": op.scatter_reduce_type}
    return lowering.emit(target.ScatterOp, operands, *lowering.result(op), tiled=False, **values)


@lowers(source.SortOp)
def sort(lowering: Lowering, op: source.SortOp) -> Sequence[SSAValue]:
    """Lowers a sort."""
    values = {name: op.value(name) for name in ("dim", "descending", "stable")}
    return _values_and_positions(lowering, op, target.SortOp, op.input, values)


@lowers(source.TopKOp)
def topk(lowering: Lowering, op: source.TopKOp) -> Sequence[SSAValue]:
    """Lowers top-k."""
    values = {name: op.value(name) for name in ("k", "dim", "largest", "sorted")}
    return _values_and_positions(lowering, op, target.TopKOp, op.input_tensor, values)


def _values_and_positions(
    lowering: Lowering, op: source.SortOp | source.TopKOp, kind: type[TTOp], operand: SSAValue, values: dict[str, Any]
) -> Sequence[SSAValue]:
    """Lowers an op that returns values and their positions.

    TT-NN returns positions in u32 for float32, and in u16 for bfloat16 along dimensions that u16 can count.
    """
    value_dtype, position_dtype = (DATA_TYPES[tensor_type(value).element_type] for value in op.results)
    narrow = value_dtype is DataType.BF16 and shape(operand)[op.dim] < _U16_POSITIONS
    types = (value_dtype, DataType.U16 if narrow else DataType.U32)
    sizes = shape(op.results[0])
    results = [laid_out(sizes, TensorLayout.of(sizes, type_)) for type_ in types]
    sorted_pair = lowering.emit_all(kind, [lowering.tiled(operand)], results, **values)
    return [sorted_pair[0], lowering.convert(sorted_pair[1], tiled=True, dtype=position_dtype)]
