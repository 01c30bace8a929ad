"""Level 2: results stay in L1, interleaved over all cores, as long as there is room for them until their last use.

One walk in program order: a result goes to L1 when what lives there already, the result, and the circular buffers of an
op together fit. What must be in DRAM stays: results of the function, and what const-eval functions keep.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.constness import constant_values
from tt_xla.compiler.ttnn.hoist_const_eval import FUNCTION_TYPE
from tt_xla.compiler.ttnn.liveness import last_uses
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.ir.base import shape, users
from tt_xla.ir.layout import BufferType
from tt_xla.ir.ttnn.attributes import DeviceType, laid_out, layout_of
from tt_xla.ir.ttnn.window import PrepareConv2dBiasOp, PrepareConv2dWeightsOp
from tt_xla.target import Target

USAGE_CAP = 0.95
"""Part of the usable L1 that tensors and circular buffers may take; upstream's tensor-l1-usage-cap."""

CIRCULAR_BUFFER_BYTES = 512 * 1024
"""Room on each core for the circular buffers of whichever op runs."""


def run(module: ModuleOp, target: Target) -> None:
    budget = int(target.l1_usable_bytes * USAGE_CAP) - CIRCULAR_BUFFER_BYTES
    for function in functions(module):
        if FUNCTION_TYPE not in function.attributes:
            _place(function, target, budget)


def _place(function: FuncOp, target: Target, budget: int) -> None:
    constants = constant_values(function)
    dying = last_uses(body(function))
    used: dict[tuple[Operation, int], int] = {}
    """Bytes in L1 by op and number of the result; the result itself is replaced when it gets its new type."""
    for op in body(function).ops:
        for index, value in enumerate(op.results):
            if _may_move(op, value, constants):
                layout = replace(layout_of(value), buffer=BufferType.L1, grid=target.grid)
                size = bytes_per_bank(layout, target)
                if sum(used.values()) + size <= budget:
                    Rewriter.replace_value_with_new_type(value, laid_out(shape(value), layout))
                    used[op, index] = size
        for value in dying.get(op, ()):
            if isinstance(value, OpResult):
                used.pop((value.op, value.index), None)


def _may_move(op: Operation, value: SSAValue, constants: set[SSAValue]) -> bool:
    if isinstance(value.type, DeviceType) or value in constants or not layout_of(value).on_device:
        return False
    if isinstance(op, PrepareConv2dWeightsOp | PrepareConv2dBiasOp):
        return False  # TT-NN prepares into DRAM
    return not any(isinstance(user, ReturnOp) for user in users(value))
