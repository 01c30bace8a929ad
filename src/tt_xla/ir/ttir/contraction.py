"""Matrix products."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.properties import I64S, prop_def


@irdl_op_definition
class DotGeneralOp(shared.TensorOp):
    """Computes StableHLO's dot_general: batch dimensions, then free ones of lhs, then free ones of rhs."""

    name = "ttir.dot_general"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    batch_dims_lhs = prop_def(I64S)
    contract_dims_lhs = prop_def(I64S)
    batch_dims_rhs = prop_def(I64S)
    contract_dims_rhs = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        left, right = shape(self.lhs), shape(self.rhs)
        batch, batch_rhs = self.batch_dims_lhs, self.batch_dims_rhs
        inner, inner_rhs = self.contract_dims_lhs, self.contract_dims_rhs
        for dims, input_shape in ((batch + inner, left), (batch_rhs + inner_rhs, right)):
            shapes.normalise_dims(dims, len(input_shape))
        if [left[d] for d in batch + inner] != [right[d] for d in batch_rhs + inner_rhs]:
            raise ValueError(f"lhs of shape {left} and rhs of shape {right} differ in batch or contracted dimensions")
        free = tuple(size for dim, size in enumerate(left) if dim not in batch + inner)
        free_rhs = tuple(size for dim, size in enumerate(right) if dim not in batch_rhs + inner_rhs)
        return (*(left[dim] for dim in batch), *free, *free_rhs)


@irdl_op_definition
class MatmulOp(shared.Matmul):
    """Computes a batched matrix product."""

    name = "ttir.matmul"


@irdl_op_definition
class LinearOp(shared.Linear):
    """Computes a batched matrix product plus bias."""

    name = "ttir.linear"


OPS = (DotGeneralOp, MatmulOp, LinearOp)
