"""Names of ops, by which override files choose them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions, is_forward
from tt_xla.ir.base import TTOp
from tt_xla.ir.op_names import UNNAMED, OpNames


def op_names(module: ModuleOp) -> dict[Operation, str]:
    """Returns the names of the ops of a TTNN module, except those of const-eval functions."""
    names = OpNames()
    return {
        op: names.name(op.name, describe(op.location))
        for function in functions(module)
        if is_forward(function)
        for op in body(function).ops
        if isinstance(op, TTOp) and op.name.startswith("ttnn.") and op.name not in UNNAMED
    }
