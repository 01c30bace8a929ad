"""Where values are used last."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tt_xla.ir.ttnn.attributes import DeviceType


def last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """For each op, the tensors whose last use it is; a result that nothing uses dies where it is made."""
    last: dict[SSAValue, Operation] = {}
    for op in block.ops:
        for value in (*op.results, *op.operands):
            if not isinstance(value.type, DeviceType):
                last[value] = op
    found: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        found.setdefault(op, []).append(value)
    return found
