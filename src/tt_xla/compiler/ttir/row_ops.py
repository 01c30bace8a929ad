"""Ops that work row by row: their result keeps its numbers if leading dimensions are folded into rows.

A row op computes each row of its result, the elements along the last dimension, from one row of each operand. The
dimensions before the last one only count rows, so ``[32, 1, 4096]`` and ``[1, 32, 4096]`` hold the same rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.ir import Attribute, Operation, SSAValue

from tt_xla.ir import abstract as shared
from tt_xla.ir.base import TTOp, property_kinds, shape
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.normalization import DistributedLayerNormOp, DistributedRmsNormOp
from tt_xla.ir.ttir.reduction import LayerNormOp, RmsNormOp


class RowUse(Enum):
    """How a row op uses an operand."""

    ROWS = auto()
    """Row by row; it is folded together with the result."""
    SHARED = auto()
    """The same for all rows, such as a weight; it stays as it is."""
    SPREAD = auto()
    """Broadcast along some leading dimensions; it must be repeated before it can be folded."""
    INDICES = auto()
    """One number for each row, such as a token."""


def folded(sizes: Shape) -> Shape:
    """Returns a shape with all leading dimensions folded into rows, of the same rank."""
    return (*[1] * (len(sizes) - 2), math.prod(sizes[:-1]), sizes[-1])


@dataclass(frozen=True)
class RowOp:
    """A row op with one result."""

    op: TTOp
    uses: tuple[RowUse, ...]
    """How the op uses each operand."""

    @staticmethod
    def of(op: TTOp) -> RowOp | None:
        """Returns a row op; None where an op is not one."""
        uses = _uses(op)
        return None if uses is None else RowOp(op, uses)

    def result_shape(self, *, is_folded: bool) -> Shape:
        """Returns the shape of the result."""
        sizes = shape(self.op.results[0])
        return folded(sizes) if is_folded else sizes

    def operand_shape(self, index: int, *, is_folded: bool) -> Shape:
        """Returns the shape in which the op reads an operand."""
        sizes, use = shape(self.op.operands[index]), self.uses[index]
        if not is_folded or use is RowUse.SHARED:
            return sizes
        if use is RowUse.INDICES:
            return (*[1] * (len(sizes) - 1), math.prod(sizes))
        return folded(self.spread_shape(index) if use is RowUse.SPREAD else sizes)

    def spread_shape(self, index: int) -> Shape:
        """Returns the shape of an operand that is repeated for all rows of the result."""
        return (*shape(self.op.results[0])[:-1], shape(self.op.operands[index])[-1])

    def folded_properties(self) -> dict[str, Attribute]:
        """Returns the properties that the op has once its leading dimensions are folded."""
        op = self.op
        if not isinstance(op, shared.SliceStatic):
            return op.properties
        leading = folded(shape(op.input))[:-1]
        bounds = {
            "begins": (*[0] * len(leading), op.begins[-1]),
            "ends": (*leading, op.ends[-1]),
            "step": (*[1] * len(leading), op.step[-1]),
        }
        kinds = property_kinds(type(op))
        return op.properties | {name: kinds[name].encode(value) for name, value in bounds.items()}


def _uses(op: Operation) -> tuple[RowUse, ...] | None:
    """Returns how a row op uses each operand; None for other ops."""
    if isinstance(op, shared.Softmax):
        return (RowUse.ROWS,) if _is_last(op.dimension, op.input) else None
    if isinstance(op, shared.Cumulative):
        return (RowUse.ROWS,) if _is_last(op.dim, op.input) else None
    if isinstance(op, _ELEMENTWISE):
        return tuple(_use(value, shape(op.results[0])) for value in op.operands)
    if isinstance(op, LayerNormOp | RmsNormOp):
        weights = (RowUse.SHARED,) * (len(op.operands) - 1)
        return (RowUse.ROWS, *weights) if len(op.normalized_shape) == 1 else None
    if isinstance(op, DistributedLayerNormOp | DistributedRmsNormOp):
        return tuple(RowUse.ROWS if value in (op.input, op.residual) else RowUse.SHARED for value in op.operands)
    if isinstance(op, MatmulOp | LinearOp):
        return _product_uses(op)
    if isinstance(op, shared.Reduction):
        dims = op.dim_arg or ()
        return (RowUse.ROWS,) if op.keep_dim and len(dims) == 1 and _is_last(dims[0], op.input) else None
    if isinstance(op, shared.Concat):
        return (RowUse.ROWS,) * len(op.operands) if _is_last(op.dim, op.result) else None
    if isinstance(op, shared.SliceStatic):
        return (RowUse.ROWS,) if shape(op.result)[:-1] == shape(op.input)[:-1] else None
    return (RowUse.INDICES, RowUse.SHARED) if isinstance(op, shared.Embedding) else None


_ELEMENTWISE = (
    shared.ElementwiseUnary,
    shared.ElementwiseBinary,
    shared.Where,
    shared.ClampTensor,
    shared.GeluBackward,
)


def _is_last(dim: int, value: SSAValue) -> bool:
    """Returns whether a dimension, which may be negative, is a tensor's last one."""
    return dim in (-1, len(shape(value)) - 1)


def _use(value: SSAValue, result: Shape) -> RowUse:
    """Returns how an elementwise op whose result has the shape ``result`` uses an operand."""
    leading = shape(value)[:-1]
    if leading == result[:-1]:
        return RowUse.ROWS
    return RowUse.SHARED if math.prod(leading) == 1 else RowUse.SPREAD


def _product_uses(op: MatmulOp | LinearOp) -> tuple[RowUse, ...] | None:
    """Returns how a product of rows and one matrix uses its operands; None for other products."""
    is_matrix = len(shape(op.b)) > 1 and math.prod(shape(op.b)[:-2]) == 1
    if op.transpose_a or not is_matrix or shape(op.a)[:-1] != shape(op.result)[:-1]:
        return None
    return (RowUse.ROWS, RowUse.SHARED, *(_use(value, shape(op.result)) for value in op.operands[2:]))
