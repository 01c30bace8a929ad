"""Which values of a function depend on parameters and constants alone."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tt_xla.compiler.rewriting import body, is_pure
from tt_xla.compiler.ttir_to_ttnn.lowering import argument_role
from tt_xla.ir.program import Role
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.memory import GetDeviceOp


def constant_values(function: FuncOp) -> set[SSAValue]:
    """Parameter and constant arguments, and results of pure ops on nothing but such values."""
    found: set[SSAValue] = {
        argument
        for index, argument in enumerate(body(function).args)
        if argument_role(function, index) is not Role.INPUT
    }
    for op in body(function).ops:
        if is_pure(op) and not isinstance(op, GetDeviceOp) and tensor_operands(op) <= found:
            found.update(op.results)
    return found


def tensor_operands(op: Operation) -> set[SSAValue]:
    return {operand for operand in op.operands if not isinstance(operand.type, DeviceType)}
