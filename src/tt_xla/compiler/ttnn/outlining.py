"""What the passes that move ops to functions of their own share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tt_xla.ir.program import FUNCTION_TYPE, FunctionKind
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.memory import GetDeviceOp


def move_ops(ops: Iterable[Operation], block: Block, inputs: Sequence[SSAValue]) -> None:
    """Moves ops to the end of a block, where its first arguments stand for ``inputs`` and the device is its own."""
    renamed: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=False))
    for op in ops:
        op.detach()
        for index, operand in enumerate(op.operands):
            if isinstance(operand.type, DeviceType):
                renamed.setdefault(operand, device_of(block))
            op.operands[index] = renamed.get(operand, operand)
        block.add_op(op)


def private_function(name: str, block: Block, outputs: Sequence[SSAValue], kind: FunctionKind) -> FuncOp:
    """A private function of a kind around a filled block."""
    signature = ([arg.type for arg in block.args], [value.type for value in outputs])
    made = FuncOp(name, signature, Region(block), visibility="private")
    made.attributes[FUNCTION_TYPE] = StringAttr(kind.value)
    return made


def device_of(block: Block) -> SSAValue:
    """The device inside a function; asks for it at the top if nothing has done so yet."""
    for op in block.ops:
        if isinstance(op, GetDeviceOp):
            return op.results[0]
    made = GetDeviceOp.make([], [DeviceType()])
    if block.first_op is None:
        block.add_op(made)
    else:
        block.insert_op_before(made, block.first_op)
    return made.results[0]
