"""Last uses of values."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tt_xla.ir.ttnn.attributes import DeviceType


def last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """Returns, for each op, the tensors whose last use it is. An unused result dies at the op that produces it."""
    last: dict[SSAValue, Operation] = {}
    for op in block.ops:
        for value in (*op.results, *op.operands):
            if not isinstance(value.type, DeviceType):
                last[value] = op
    dying: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        dying.setdefault(op, []).append(value)
    return dying
