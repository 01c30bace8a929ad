"""Addresses for every tensor at compile time, and from them the peak use of DRAM and L1.

The allocator is TT-NN's: a buffer has one address, the same in every bank, and takes the first gap that fits.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttir_to_ttnn.lowering import argument_role
from tt_xla.compiler.ttnn.hoist_const_eval import FUNCTION_TYPE
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.errors import ResourceExhaustedError
from tt_xla.ir.base import shape
from tt_xla.ir.layout import BufferType
from tt_xla.ir.program import MemoryPlan, Role
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import DeviceType, layout_of
from tt_xla.ir.ttnn.memory import DeallocateOp, GetDeviceOp
from tt_xla.ir.ttnn.trace import TRACE_ID, CaptureOrExecuteTraceOp
from tt_xla.target import Target

_UNRECORDED = (DeallocateOp, ReturnOp, GetDeviceOp)
_TRACE_BYTES_PER_OP = 4096
_TRACE_BYTES_PER_CORE = 256
"""What one recorded op takes of the trace region: its dispatch commands, and runtime arguments for each core."""


@dataclass
class AddressSpace:
    """First-fit allocation of [0, size) in one bank; every other bank of the buffer type looks the same."""

    name: str
    size: int
    blocks: list[tuple[int, int, SSAValue]] = field(default_factory=lambda: [])
    """Taken [start, end) in order, and by which value."""
    peak: int = 0

    def allocate(self, value: SSAValue, size: int) -> int:
        """The address for ``size`` bytes.

        Raises:
            ResourceExhaustedError: no gap fits; the message has the largest tensors.
        """
        start = 0
        for begin, end, _ in [*self.blocks, (self.size, self.size, value)]:
            if begin - start >= size:
                break
            start = end
        else:
            raise self._exhausted(value, size)
        bisect.insort(self.blocks, (start, start + size, value), key=lambda block: block[0])
        self.peak = max(self.peak, start + size)
        return start

    def free(self, value: SSAValue) -> None:
        self.blocks = [block for block in self.blocks if block[2] is not value]

    def _exhausted(self, value: SSAValue, size: int) -> ResourceExhaustedError:
        used = sum(end - begin for begin, end, _ in self.blocks)
        largest = sorted(self.blocks, key=lambda block: block[0] - block[1])[:5]
        held = ", ".join(f"{_name(owner)} {end - begin:,} B" for begin, end, owner in largest) or "nothing"
        location = "" if isinstance(value.owner, FuncOp) else describe(getattr(value.owner, "location", None))
        return ResourceExhaustedError(
            f"{self.name} does not hold the program: {_name(value)} needs {size:,} B in each bank, "
            f"{self.size - used:,} of {self.size:,} B are free. The largest tensors there are: {held}.",
            location=location,
            hint="Use a smaller batch, bfloat16 or bfloat8_b weights, or a system with more memory (TTXLA_SYSTEM).",
        )


def _name(value: SSAValue) -> str:
    label = f"%{value.name_hint}" if value.name_hint else getattr(value.owner, "name", "argument")
    return f"{label} {'x'.join(map(str, shape(value)))} {layout_of(value).dtype}"


class _Planner:
    def __init__(self, module: ModuleOp, target: Target) -> None:
        self.target = target
        self.by_name = {function.sym_name.data: function for function in functions(module)}
        self.dram = AddressSpace("DRAM", target.dram_usable_bytes // target.dram_banks)
        self.l1 = AddressSpace("L1", target.l1_usable_bytes)
        self.trace_ops = 0

    def allocate(self, value: SSAValue) -> None:
        if isinstance(value.type, DeviceType) or value.type == TRACE_ID:
            return
        layout = layout_of(value)
        space = {BufferType.DRAM: self.dram, BufferType.L1: self.l1}.get(layout.buffer)
        if space is not None:
            space.allocate(value, bytes_per_bank(layout, self.target))

    def free(self, value: SSAValue) -> None:
        self.dram.free(value)
        self.l1.free(value)

    def walk(self, function: FuncOp) -> None:
        """Allocates along one run of a function. What a const-eval or trace function still holds at its end is freed:
        its caller has the results."""
        made: list[SSAValue] = []
        for op in body(function).ops:
            if isinstance(op, DeallocateOp):
                self.free(op.input)
                continue
            if isinstance(op, CaptureOrExecuteTraceOp):
                self.walk_trace(op)
                continue
            for value in op.results:
                self.allocate(value)
                made.append(value)
            if isinstance(op, LoadCachedOp):
                self.walk(self.by_name[op.value("callee")])
        if FUNCTION_TYPE in function.attributes:
            for value in made:
                self.free(value)

    def walk_trace(self, op: CaptureOrExecuteTraceOp) -> None:
        """Slots stay for good, and results are slots; while the trace runs, its own tensors come and go."""
        for inner in body(self.by_name[op.value("allocate_slots_callee")]).ops:
            for slot in inner.results:
                self.allocate(slot)
        capture = body(self.by_name[op.value("capture_callee")])
        traced = next(
            self.by_name[inner.callee.root_reference.data] for inner in capture.ops if isinstance(inner, CallOp)
        )
        self.walk(traced)
        self.trace_ops += sum(not isinstance(inner, _UNRECORDED) for inner in body(traced).ops)


def run(module: ModuleOp, target: Target) -> MemoryPlan:
    """Peak use of memory over one run that computes everything.

    Raises:
        ResourceExhaustedError: the program does not fit.
    """
    planner = _Planner(module, target)
    for function in functions(module):
        if FUNCTION_TYPE not in function.attributes:
            ordered = sorted(
                body(function).args, key=lambda argument: argument_role(function, argument.index) is Role.INPUT
            )
            for argument in ordered:
                planner.allocate(argument)
            planner.walk(function)
    cores = target.grid[0] * target.grid[1]
    return MemoryPlan(
        dram_peak_bytes=planner.dram.peak * target.dram_banks,
        l1_peak_bytes_per_core=planner.l1.peak,
        trace_bytes=planner.trace_ops * (_TRACE_BYTES_PER_OP + _TRACE_BYTES_PER_CORE * cores),
    )
