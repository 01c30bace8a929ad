"""Records what happens while a script runs: kernels, runs of programs, compilations, optimizer steps, signposts.

The rest of this package works on a :class:`Recording`. A kernel call appends one tuple of numbers; names are looked up
after the recording.
"""

from __future__ import annotations

import bisect
import sys
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tt_xla.environment import selected_runtime
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Function, FunctionKind, Instruction, Program, TensorSpec
from tt_xla.observers import Observers
from tt_xla.runtime.observation import copied
from tt_xla.spmd.collectives import EXCHANGES

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from tt_xla.compiler.recording import Compilation
    from tt_xla.runtime.binding import Step
    from tt_xla.runtime.executable import Executable
    from tt_xla.stage_times import Spent
    from tt_xla.target import Target


class StopScript(BaseException):
    """Ends a script once enough steps are recorded. It is no ``Exception``, so a script's handlers do not catch it."""


@dataclass(slots=True)
class Op:
    """One instruction of a loaded program. Each call of it is an :data:`Event`."""

    number: int
    program: LoadedProgram
    function: str
    traced: bool
    """Whether the instruction is captured and replayed as part of a trace."""
    const_eval: bool
    instruction: Instruction
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    identity: bytes
    """Key that is equal for ops that run the same kernel on tensors of the same kinds."""
    chip: int = 0
    """Position of the first chip that the call stands for; others that hold the same shards share it."""
    dram_bytes: int = 0
    """Bytes in use in all DRAM banks after the first call; 0 in loops, whose memory is counted as a whole."""
    l1_bytes: int = 0
    """Bytes in use in the L1 of one core after the first call; 0 in loops."""


@dataclass(slots=True)
class LoadedProgram:
    """A program and the target that it is loaded for."""

    number: int
    program: Program
    target: Target
    mesh: Mesh | None = None
    """The chips that run the program, each on its own shards; None for one chip."""


Event = tuple[int, int, int]
"""One call of a kernel: the number of its op, and start and end in nanoseconds of the host's clock.

It is a plain tuple, because it is created while a run is timed.
"""


class Run(NamedTuple):
    """One run of a program. Its kernel calls are ``events[first:last]`` of the recording."""

    program: int
    state: str
    """State of the executable before the run: ``cold``, ``warm`` or ``captured``."""
    start: int
    end: int
    first: int
    last: int


class Signpost(NamedTuple):
    """A moment that the script marked."""

    name: str
    message: str
    at: int
    """Nanoseconds of the host's clock."""


class Zone(NamedTuple):
    """A call of one of the script's Python functions."""

    name: str
    start: int
    end: int
    depth: int


@dataclass
class Recording:
    """Everything recorded of a script. Times are nanoseconds of :func:`time.perf_counter_ns`."""

    script: str = ""
    """Path or module of the script; empty if the recording is not of a script."""
    date: str = ""
    """Day and time of the clock on the wall at which the script began; empty if unknown."""
    started: int = field(default_factory=time.perf_counter_ns)
    ended: int = 0
    programs: list[LoadedProgram] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    signposts: list[Signpost] = field(default_factory=list)
    optimizer_steps: list[int] = field(default_factory=list)
    """End of each optimizer step."""
    optimizers: weakref.WeakSet[Optimizer] = field(default_factory=weakref.WeakSet)
    """Optimizers of torch that the script made and holds."""
    backwards: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of each backward pass of torch."""
    compilations: list[Compilation] = field(default_factory=list)
    preparations: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of all that precedes a steady run: tracing, lowering, compiling, loading and first runs."""
    waits: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of each time in which the script waited for a card, in order."""
    runtime: str = ""
    """The runtime of the programs, as ``TTXLA_RUNTIME`` names it; empty if unknown."""
    interruptions: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of the recorder's own looks at the recording, in order. They belong to no step of the script."""
    zones: list[Zone] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics that the script reported, by name."""
    results: dict[int, list[Any]] = field(default_factory=dict)
    """Result tensors of each program's first run by program number, if the recorder keeps them."""
    arguments: dict[int, list[Any]] = field(default_factory=dict)
    """Argument tensors of each program's first run by program number, if the recorder keeps them."""
    error: str = ""
    """Type and text of the exception that ended the script early, so that the recording is partial; empty if none."""
    stopped: bool = False
    """Whether the script was ended because enough steps were recorded."""

    def signpost(self, name: str, message: str = "") -> None:
        """Adds a signpost at the present time."""
        self.signposts.append(Signpost(name, message, time.perf_counter_ns()))

    def interrupted_ns(self, start: int, end: int) -> int:
        """Returns the nanoseconds of a span in which the recorder interrupted the script."""
        return _taken(self.interruptions, start, end)

    def waited_ns(self, start: int, end: int) -> int:
        """Returns the nanoseconds of a span in which the script waited for a card."""
        return _taken(self.waits, start, end)

    def longest_program(self, among: Collection[int] = ()) -> int:
        """Returns the number of the program whose runs take most device time, of those named; of all if none is."""
        count = Counter(run.program for run in self.runs if not among or run.program in among)
        return max(count, key=lambda number: count[number] * self.programs[number].program.predicted_device_us)

    def source_of(self, number: int) -> str:
        """Returns the StableHLO of a program, if the recorder keeps it and the program was compiled meanwhile."""
        program = self.programs[number].program
        return next((each.source for each in self.compilations if each.source and each.program == program), "")

    def is_first(self, run: Run) -> bool:
        """Returns whether a run binds kernels or captures a trace, which later runs of the program do not."""
        program = self.programs[run.program].program
        traced = any(function.kind is FunctionKind.TRACE for function in program.functions)
        return run.state == "cold" or (traced and run.state == "warm")


def _taken(spans: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """Returns the part of a time that spans take which begin in it. The spans are in order."""
    number, total = bisect.bisect_left(spans, (start, 0)), 0
    while number < len(spans) and spans[number][0] < end:
        total += min(spans[number][1], end) - spans[number][0]
        number += 1
    return total


class Recorder:
    """Observes :mod:`tt_xla.runtime.observation` and torch's optimizers, and fills a :class:`Recording`.

    The arguments are those of :func:`.recorded`.
    """

    def __init__(
        self,
        enough: Callable[[Recording], bool] | None = None,
        *,
        keep_results: bool = False,
        keep_arguments: bool = False,
    ) -> None:
        self._keep_results, self._keep_arguments = keep_results, keep_arguments
        self.recording = Recording(runtime=selected_runtime())
        self._enough = enough
        self._programs: dict[int, LoadedProgram] = {}
        self._executables: list[Executable] = []
        """Executables of the programs, kept alive so that no other object gets the same ``id``."""
        self._ops: dict[int, Op] = {}
        self._first = [0]
        """Number of the first event of each run in progress."""

    def timed(self, executable: Executable, function: Function, step: Step, call: Callable[..., Any]) -> Any:
        op = self._op(executable, function, step)
        record, clock, number = self.recording.events.append, time.perf_counter_ns, op.number

        def timed_call(*tensors: Any) -> Any:
            start = clock()
            results = call(*tensors)
            record((number, start, clock()))
            return results

        return timed_call

    def called(self, executable: Executable, function: Function, step: Step, start: int, end: int) -> None:
        self.recording.events.append((self._op(executable, function, step).number, start, end))

    def _op(self, executable: Executable, function: Function, step: Step) -> Op:
        if (op := self._ops.get(id(step))) is not None:
            return op
        context = step.context
        assert context is not None
        # An exchange has the tensors of all chips of a group, of which the first one's are shown.
        shown = 1 if step.instruction.op in EXCHANGES else None
        inputs: list[TensorSpec] = []
        for spec in context.operands.values():
            inputs += spec[:shown] if isinstance(spec, tuple) else [spec]
        op = Op(
            len(self.recording.ops),
            self._program(executable),
            function.name,
            function.kind is FunctionKind.TRACE,
            function.kind is FunctionKind.CONST_EVAL,
            step.instruction,
            tuple(inputs),
            context.results[:shown],
            step.key,
            step.chip,
        )
        self.recording.ops.append(op)
        self._ops[id(step)] = op
        return op

    def _program(self, executable: Executable) -> LoadedProgram:
        loaded = self._programs.get(id(executable))
        if loaded is None:
            target: Any = executable.device.target
            number, mesh = len(self.recording.programs), executable.source.mesh
            loaded = LoadedProgram(number, executable.program, target, mesh)
            self.recording.programs.append(loaded)
            self._programs[id(executable)] = loaded
            self._executables.append(executable)
        return loaded

    def record_memory(self, step: Step, dram_bytes: int, l1_bytes: int) -> None:
        op = self._ops.get(id(step))
        if op is not None:
            op.dram_bytes, op.l1_bytes = dram_bytes, l1_bytes

    def began(self, executable: Executable, tensors: Sequence[Any]) -> None:
        if self._keep_arguments and (number := self._program(executable).number) not in self.recording.arguments:
            self.recording.arguments[number] = [copied(tensor) for tensor in tensors]
        self._first.append(len(self.recording.events))

    def returned(self, executable: Executable, results: Sequence[Any]) -> None:
        number = self._program(executable).number
        if self._keep_results and number not in self.recording.results:
            self.recording.results[number] = [copied(result) for result in results]

    def ended(self, executable: Executable, state: str, start: int) -> None:
        first, recording = self._first.pop(), self.recording
        program = self._program(executable).number
        recording.runs.append(Run(program, state, start, time.perf_counter_ns(), first, len(recording.events)))
        if sys.exc_info()[0] is None:
            self.stop_if_enough()

    def waited(self, start: int, end: int) -> None:
        """Records that the script waited for a card."""
        self.recording.waits.append((start, end))

    def optimizer_stepped(self, *_: Any) -> None:
        """Records the end of an optimizer step; torch calls this after each ``optimizer.step()``."""
        self.recording.optimizer_steps.append(time.perf_counter_ns())
        self.stop_if_enough()

    def stop_if_enough(self) -> None:
        """Ends the script if enough steps are recorded.

        Raises:
            StopScript: Enough steps are recorded.
        """
        if self._enough is None:
            return
        start = time.perf_counter_ns()
        self.recording.stopped = self._enough(self.recording) or self.recording.stopped
        self.recording.interruptions.append((start, time.perf_counter_ns()))
        if self.recording.stopped:
            raise StopScript


class Preparations:
    """Watches one outermost stage of a first call, and adds its time to a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording, self._start = recording, time.perf_counter_ns()

    def entered(self, stage: str, detail: str) -> None:
        pass

    def ended(self, spent: Mapping[str, Spent], wall_s: float) -> None:
        self._recording.preparations.append((self._start, time.perf_counter_ns()))


RECORDINGS: Observers[Recording] = Observers()
"""Recordings in progress."""


def signpost(name: str, message: str = "") -> None:
    """Marks the present time in the recordings in progress."""
    for recording in RECORDINGS:
        recording.signpost(name, message)


def report_metric(name: str, value: float) -> None:
    """Reports a metric of the script, such as its accuracy, to the recordings in progress."""
    for recording in RECORDINGS:
        recording.metrics[name] = float(value)
