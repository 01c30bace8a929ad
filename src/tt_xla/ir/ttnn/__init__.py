"""The TTNN dialect: one op for each call of the TT-NN library, every tensor with its layout."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Attribute, Dialect

from tt_xla.ir import abstract as shared
from tt_xla.ir.base import TTOp
from tt_xla.ir.elementwise import BINARY, UNARY, define
from tt_xla.ir.ttnn import attributes as attrs
from tt_xla.ir.ttnn import contraction, host, memory, reduction, structure, window
from tt_xla.ir.ttnn.base import TTNNOp


class _Unary(TTNNOp, shared.ElementwiseUnary):
    pass


class _Binary(TTNNOp, shared.ElementwiseBinary):
    pass


UNARY_OPS: dict[str, type[TTOp]] = {row.ttnn: define(f"ttnn.{row.ttnn}", _Unary, row.meaning) for row in UNARY}
BINARY_OPS: dict[str, type[TTOp]] = {row.ttnn: define(f"ttnn.{row.ttnn}", _Binary, row.meaning) for row in BINARY}
ELEMENTWISE_OPS = UNARY_OPS | BINARY_OPS


@cache
def dialect() -> Dialect:
    families = (contraction, host, memory, reduction, structure, window)
    ops = [op for family in families for op in family.OPS]
    attributes: list[type[Attribute]] = [
        attrs.DeviceType,
        attrs.BufferTypeAttr,
        attrs.LayoutAttr,
        attrs.ComputeConfigAttr,
        attrs.Conv2dConfigAttr,
        attrs.ShapeAttr,
        attrs.TTNNLayoutAttr,
    ]
    return Dialect("ttnn", [*UNARY_OPS.values(), *BINARY_OPS.values(), *ops], attributes)
