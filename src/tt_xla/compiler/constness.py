"""What a value of TTIR or TTNN depends on."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from tt_xla.compiler.rewriting import is_pure
from tt_xla.ir.program import Role
from tt_xla.ir.ttcore import ArgumentTypeAttr


def is_constant(value: SSAValue, depth: int = 12) -> bool:
    """Whether a value depends on parameters and constants alone, so that const-eval computes it once.

    Looks no further back than ``depth`` ops, and then says no.
    """
    if isinstance(value, BlockArgument):
        return _role(value) is not Role.INPUT
    if not isinstance(value, OpResult) or not depth or value.op.regions or not is_pure(value.op):
        return False
    return all(is_constant(operand, depth - 1) for operand in value.op.operands)


def _role(argument: BlockArgument) -> Role:
    function = argument.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return Role.INPUT
    found = function.arg_attrs.data[argument.index].data.get("ttcore.argument_type")
    return found.data if isinstance(found, ArgumentTypeAttr) else Role.INPUT
