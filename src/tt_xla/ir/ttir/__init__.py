"""The TTIR dialect: tensor programs without layouts; it says what to compute and not how."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Dialect

from tt_xla.ir import abstract as shared
from tt_xla.ir.base import TTOp
from tt_xla.ir.elementwise import define
from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ir.ttir import (
    attention,
    collective,
    contraction,
    creation,
    host,
    indexing,
    normalization,
    ranks,
    reduction,
    structure,
    window,
)

UNARY_OPS: dict[str, type[TTOp]] = {
    row.ttir: define(f"ttir.{row.ttir}", shared.ElementwiseUnary, row.meaning) for row in UNARY if row.ttir
}
BINARY_OPS: dict[str, type[TTOp]] = {
    row.ttir: define(f"ttir.{row.ttir}", shared.ElementwiseBinary, row.meaning) for row in BINARY if row.ttir
}
ELEMENTWISE_OPS = UNARY_OPS | BINARY_OPS


@cache
def dialect() -> Dialect:
    """Returns the dialect with all of its ops."""
    families = (
        attention,
        collective,
        contraction,
        creation,
        host,
        indexing,
        normalization,
        ranks,
        reduction,
        structure,
        window,
    )
    ops = [op for family in families for op in family.OPS]
    return Dialect("ttir", [*UNARY_OPS.values(), *BINARY_OPS.values(), *ops], [])
