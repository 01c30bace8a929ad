"""Pass: a tensor's memory is freed after its last use. Parameters and returned values stay."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import argument_role
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.liveness import last_uses
from tt_xla.ir.program import FUNCTION_TYPE, Role
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.memory import DeallocateOp


def run(module: ModuleOp) -> None:
    """Inserts a deallocation after each value's last use."""
    for function in functions(module):
        for op, values in last_uses(body(function)).items():
            if isinstance(op, ReturnOp):
                continue
            for value in values:
                if _owned(function, value):
                    free = DeallocateOp.make([value], [], op.location, force=False)
                    Rewriter.insert_op(free, InsertPoint.after(op))


def _owned(function: FuncOp, value: SSAValue) -> bool:
    """Returns whether a function may free a value: neither its caller's nor a cached constant."""
    if isinstance(value, BlockArgument):
        forward = FUNCTION_TYPE not in function.attributes
        return forward and argument_role(function, value.index) is Role.INPUT
    return not isinstance(value.owner, LoadCachedOp)
