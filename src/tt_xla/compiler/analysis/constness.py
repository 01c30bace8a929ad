"""Queries whether values depend only on parameters and constants, so that const-eval can compute them once."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tt_xla.compiler.rewriting import body, is_pure
from tt_xla.ir.program import Role
from tt_xla.ir.ttcore import ArgumentTypeAttr
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.memory import GetDeviceOp


def argument_role(function: FuncOp, index: int) -> Role:
    """Returns an argument's role, from its ``ttcore.argument_type``; an argument without the attribute is an input."""
    if function.arg_attrs is None:
        return Role.INPUT
    attribute = function.arg_attrs.data[index].data.get("ttcore.argument_type")
    return attribute.data if isinstance(attribute, ArgumentTypeAttr) else Role.INPUT


def is_constant(value: SSAValue, depth: int = 12) -> bool:
    """Returns whether a value depends on parameters and constants alone, so that const-eval computes it once.

    The search goes back at most ``depth`` ops; a value that depends on more ops is not constant.
    """
    if isinstance(value, BlockArgument):
        function = value.block.parent_op()
        return isinstance(function, FuncOp) and argument_role(function, value.index) is not Role.INPUT
    if not isinstance(value, OpResult) or not depth or value.op.regions or not is_pure(value.op):
        return False
    return all(is_constant(operand, depth - 1) for operand in value.op.operands)


def constant_values(function: FuncOp) -> set[SSAValue]:
    """Returns a function's parameter and constant arguments, and the results of pure ops on nothing but such values."""
    constants: set[SSAValue] = {
        argument
        for index, argument in enumerate(body(function).args)
        if argument_role(function, index) is not Role.INPUT
    }
    for op in body(function).ops:
        if is_pure(op) and not isinstance(op, GetDeviceOp) and tensor_operands(op) <= constants:
            constants.update(op.results)
    return constants


def tensor_operands(op: Operation) -> set[SSAValue]:
    """Returns an op's operands without the device."""
    return {operand for operand in op.operands if not isinstance(operand.type, DeviceType)}
