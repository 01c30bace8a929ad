"""Converter of ``stablehlo.dot_general``."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.ir.ttir.contraction import DotGeneralOp


@converts("stablehlo.dot_general")
def dot_general(context: ImportContext, op: Any) -> SSAValue:
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return context.emit(
        DotGeneralOp,
        context.operands(op),
        context.result_type(op),
        batch_dims_lhs=tuple(numbers.lhs_batching_dimensions),
        contract_dims_lhs=tuple(numbers.lhs_contracting_dimensions),
        batch_dims_rhs=tuple(numbers.rhs_batching_dimensions),
        contract_dims_rhs=tuple(numbers.rhs_contracting_dimensions),
    )
