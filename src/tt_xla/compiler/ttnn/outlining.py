"""Helpers of passes that move ops to functions of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tt_xla.ir.program import FUNCTION_TYPE, FunctionKind
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.memory import GetDeviceOp


def move_ops(ops: Iterable[Operation], block: Block, inputs: Sequence[SSAValue]) -> None:
    """Moves ops to the end of a block.

    Args:
        ops: Ops in order.
        block: Block whose first arguments stand for ``inputs``; it gets a device of its own.
        inputs: Values that the ops read from outside.
    """
    renamed: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=False))
    for op in ops:
        op.detach()
        for index, operand in enumerate(op.operands):
            if isinstance(operand.type, DeviceType):
                renamed.setdefault(operand, device_of(block))
            op.operands[index] = renamed.get(operand, operand)
        block.add_op(op)


def private_function(name: str, block: Block, outputs: Sequence[SSAValue], kind: FunctionKind) -> FuncOp:
    """Returns a private function of a kind with a filled block as its body."""
    signature = ([arg.type for arg in block.args], [value.type for value in outputs])
    function = FuncOp(name, signature, Region(block), visibility="private")
    function.attributes[FUNCTION_TYPE] = StringAttr(kind.value)
    return function


def device_of(block: Block) -> SSAValue:
    """Returns the device inside a function, requested at the top unless an op has requested it before."""
    for op in block.ops:
        if isinstance(op, GetDeviceOp):
            return op.results[0]
    request = GetDeviceOp.make([], [DeviceType()])
    if block.first_op is None:
        block.add_op(request)
    else:
        block.insert_op_before(request, block.first_op)
    return request.results[0]
