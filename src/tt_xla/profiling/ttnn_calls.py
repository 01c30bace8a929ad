"""Records scripts that call ``ttnn`` on the emulated card like runs of a compiled program.

A script is one program. Each of its source lines that calls an op with operands of certain types is an op of the
program. Calls that a trace replays have the lines that the trace was captured at. A run ends where the script reads a
tensor's elements, so that an inference loop has a run for each round.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tt_xla.ir.program import Function, FunctionKind, MemoryPlan, Program
from tt_xla.profiling.recording import LoadedProgram, Op, Recording, Run
from tt_xla.testing.scripts import script_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from tt_xla.runtime.observation import ObservedCall, PlannedCall


class CallRecorder:
    """Fills a recording with the calls of ``ttnn``.

    Args:
        stop_if_enough: called after each run; ends the script once enough steps are recorded.
    """

    def __init__(self, recording: Recording, stop_if_enough: Callable[[], None]) -> None:
        self._recording, self._stop_if_enough = recording, stop_if_enough
        self._program: LoadedProgram | None = None
        self._ops: dict[tuple[int, str, bool], Op] = {}
        self._plans: dict[int, PlannedCall] = {}
        """Plans of the ops, kept alive so that no other object gets the same ``id``."""
        self._captured: dict[int, str] = {}
        """Source line of the last call of each plan in a trace, by ``id``."""
        self._functions: list[Function] = []
        self._l1_peak = self._dram_peak = 0
        self._start: int | None = None
        """Time at which the run in progress began; None between runs."""
        self._first, self._state = 0, "warm"

    def called(self, call: ObservedCall) -> None:
        plan, start, replayed = call.plan, call.start, call.replayed
        if plan.device is None:
            return
        end = time.perf_counter_ns()
        if self._start is None:
            self._start, self._first, self._state = start, len(self._recording.events), "warm"
        if replayed:
            self._state = "captured"
        elif id(plan) not in self._plans:
            self._state = "cold"
        location = self._captured.get(id(plan), "") if replayed else script_line()
        if not replayed and plan.device.recording is not None:
            self._captured[id(plan)] = location
        op = self._op(plan, location, replayed)
        self._recording.events.append((op.number, start, end))

    def read_back(self, shards: Sequence[torch.Tensor]) -> None:
        if self._start is not None:
            self.end_run()
            self._stop_if_enough()

    def end_run(self) -> None:
        """Ends the run in progress, if there is one."""
        if self._start is None or self._program is None:
            return
        events = self._recording.events
        run = Run(self._program.number, self._state, self._start, time.perf_counter_ns(), self._first, len(events))
        self._recording.runs.append(run)
        self._start = None
        predicted = sum(self._recording.ops[number].instruction.cost.total_us for number, _, _ in events[run.first :])
        known = self._program.program
        self._program.program = msgspec.structs.replace(
            known,
            functions=tuple(self._functions),
            memory=MemoryPlan(dram_peak_bytes=self._dram_peak, l1_peak_bytes_per_core=self._l1_peak),
            predicted_device_us=max(known.predicted_device_us, predicted),
        )

    def _op(self, plan: PlannedCall, location: str, replayed: bool) -> Op:
        key = id(plan), location, replayed
        op = self._ops.get(key)
        if op is not None:
            return op
        self._plans[id(plan)] = plan
        memory, target = plan.device.memory, plan.device.target
        instruction = msgspec.structs.replace(plan.instruction, location=location)
        values = tuple(plan.values)
        inputs = tuple(instruction.operand_values())
        number = len(self._recording.ops)
        function = Function(f"call {number}", FunctionKind.FORWARD, inputs, instruction.results, values, (instruction,))
        self._functions.append(function)
        op = Op(
            number,
            self._loaded(target),
            function.name,
            replayed,
            False,
            instruction,
            tuple(values[index] for index in inputs),
            tuple(values[index] for index in instruction.results),
            msgspec.msgpack.encode((instruction.op, instruction.attributes, [repr(value) for value in values])),
            dram_bytes=memory.dram.used * target.dram_banks,
            l1_bytes=memory.l1.used,
        )
        self._dram_peak, self._l1_peak = max(self._dram_peak, op.dram_bytes), max(self._l1_peak, op.l1_bytes)
        self._recording.ops.append(op)
        self._ops[key] = op
        return op

    def _loaded(self, target: Any) -> LoadedProgram:
        if self._program is None:
            name = Path(sys.argv[0]).stem or "ttnn"
            program = Program(name, target.name, {}, (), (), (), MemoryPlan(), 0.0)
            self._program = LoadedProgram(len(self._recording.programs), program, target)
            self._recording.programs.append(self._program)
        return self._program
