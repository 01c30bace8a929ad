"""An op of TTNN as an instruction of a Program, and its properties as plain values."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from tt_xla.ir.attributes import plain
from tt_xla.ir.base import TTOp, operand_names
from tt_xla.ir.program import Instruction, Operand
from tt_xla.ir.ttnn.attributes import DeviceType


def plain_instruction(op: TTOp) -> Instruction:
    """An op alone as an instruction: its operands are the values 0, 1, ..., its results the ones after."""
    operands: dict[str, Operand] = {}
    count = 0
    for name in operand_names(type(op)):
        value = getattr(op, name)
        group = [] if value is None else [value] if isinstance(value, SSAValue) else list(value)
        tensors = [item for item in group if not isinstance(item.type, DeviceType)]
        if tensors:
            places = tuple(range(count, count + len(tensors)))
            operands[name] = places[0] if isinstance(value, SSAValue) else places
            count += len(tensors)
    results = tuple(range(count, count + len(op.results)))
    return Instruction(op.name, operands, results, {name: plain_value(value) for name, value in op.values().items()})


def plain_value(value: Any) -> Any:
    """A property value as a ``.ttnn`` file gives it back: plain, tuples as lists, dense elements as bytes, of which one
    stands for all when they are alike."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        return value.data.data
    return plain(value)
