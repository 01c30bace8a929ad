"""The TTNN dialect: one op for each call of the TT-NN library; every tensor has a layout."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Attribute, Dialect

from tt_xla.ir import abstract as shared
from tt_xla.ir.base import TTOp
from tt_xla.ir.elementwise import define
from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ir.properties import opt_prop_def
from tt_xla.ir.ttnn import (
    attention,
    collective,
    contraction,
    host,
    indexing,
    memory,
    normalization,
    reduction,
    structure,
    trace,
    window,
)
from tt_xla.ir.ttnn import attributes as attrs
from tt_xla.ir.ttnn.base import TTNNOp
from tt_xla.ir.ttnn.configs import ATTRIBUTES, UNARIES


class _Unary(TTNNOp, shared.ElementwiseUnary):
    """An elementwise op of one operand."""


class _Binary(TTNNOp, shared.ElementwiseBinary):
    """An elementwise op of two operands; the same kernel applies the listed functions to operands and result."""

    activations = opt_prop_def(UNARIES)
    input_tensor_a_activations = opt_prop_def(UNARIES)
    input_tensor_b_activations = opt_prop_def(UNARIES)


UNARY_OPS: dict[str, type[TTOp]] = {
    row.ttnn: define(f"ttnn.{row.ttnn}", _Unary, row.meaning) for row in UNARY if row.ttnn
}
BINARY_OPS: dict[str, type[TTOp]] = {
    row.ttnn: define(f"ttnn.{row.ttnn}", _Binary, row.meaning) for row in BINARY if row.ttnn
}
ELEMENTWISE_OPS = UNARY_OPS | BINARY_OPS


@cache
def dialect() -> Dialect:
    """Returns the dialect with all of its ops and attributes."""
    families = (
        attention,
        collective,
        contraction,
        host,
        indexing,
        memory,
        normalization,
        reduction,
        structure,
        trace,
        window,
    )
    ops = [op for family in families for op in family.OPS]
    attributes: list[type[Attribute]] = [attrs.DeviceType, attrs.TraceIdAttr, *ATTRIBUTES, attrs.TTNNLayoutAttr]
    return Dialect("ttnn", [*UNARY_OPS.values(), *BINARY_OPS.values(), *ops], attributes)
