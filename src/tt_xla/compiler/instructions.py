"""Conversion of single TTNN ops and their properties to plain Program data."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from tt_xla.ir.attributes import plain
from tt_xla.ir.base import TTOp, operand_names
from tt_xla.ir.program import Instruction, Operand
from tt_xla.ir.ttnn.attributes import DeviceType


def plain_instruction(op: TTOp) -> Instruction:
    """Returns one op as an instruction whose operands are values 0, 1, ... and whose results follow them."""
    operands: dict[str, Operand] = {}
    count = 0
    for name in operand_names(type(op)):
        value = getattr(op, name)
        group = [] if value is None else [value] if isinstance(value, SSAValue) else list(value)
        tensors = [item for item in group if not isinstance(item.type, DeviceType)]
        if tensors:
            numbers = tuple(range(count, count + len(tensors)))
            operands[name] = numbers[0] if isinstance(value, SSAValue) else numbers
            count += len(tensors)
    results = tuple(range(count, count + len(op.results)))
    return Instruction(op.name, operands, results, {name: plain_value(value) for name, value in op.values().items()})


def plain_value(value: Any) -> Any:
    """Returns a property value in the form in which a ``.ttnn`` file stores it.

    Tuples become lists. Dense elements become bytes, where a splat has the bytes of one element.
    """
    if isinstance(value, DenseIntOrFPElementsAttr):
        return value.data.data
    return plain(value)
