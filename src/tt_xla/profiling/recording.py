"""What happens while a script runs: kernels, runs of programs, compilations, optimizer steps, signposts.

Everything else of this package is made from a :class:`Recording`. A kernel call costs three appends of numbers; all
names are looked up afterwards.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tt_xla.ir.program import Function, FunctionKind, Instruction, Program, TensorSpec
from tt_xla.observers import Observers

if TYPE_CHECKING:
    from tt_xla.compiler.pipeline import Compilation
    from tt_xla.runtime.binding import Step
    from tt_xla.runtime.executable import Executable
    from tt_xla.target import Target


class StopScript(BaseException):
    """Ends a script from within, once enough steps were recorded. No ``except Exception`` holds it."""


@dataclass(slots=True)
class Op:
    """One instruction of one loaded program, whose calls are :class:`Event`."""

    number: int
    program: LoadedProgram
    function: str
    traced: bool
    """Whether it is recorded and replayed as part of a trace."""
    const_eval: bool
    instruction: Instruction
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    identity: bytes
    """Equal for ops that run the same kernel on the same kinds of tensors."""
    dram_bytes: int = 0
    """What lay in DRAM, all banks together, after its first call; 0 in loops, which are accounted for as a whole."""
    l1_bytes: int = 0
    """The same for L1 of one core."""


@dataclass(slots=True)
class LoadedProgram:
    number: int
    program: Program
    target: Target


Event = tuple[int, int, int]
"""One call of a kernel: the number of its op, start and end in nanoseconds of the host's clock. A plain tuple, as these
are made while the clock runs."""


class Run(NamedTuple):
    """One run of a program. Its kernels are the events from ``first`` up to ``last``, without it."""

    program: int
    state: str
    """Before it: ``cold``, ``warm`` or ``captured``."""
    start: int
    end: int
    first: int
    last: int


class Signpost(NamedTuple):
    name: str
    message: str
    at: int


class Zone(NamedTuple):
    """Something the host did: a Python function of the script, when those are recorded."""

    name: str
    start: int
    end: int
    depth: int


@dataclass
class Recording:
    """What was recorded. Times are nanoseconds of :func:`time.perf_counter_ns`."""

    started: int = field(default_factory=time.perf_counter_ns)
    ended: int = 0
    programs: list[LoadedProgram] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    signposts: list[Signpost] = field(default_factory=list)
    optimizer_steps: list[int] = field(default_factory=list)
    """When each ended."""
    compilations: list[Compilation] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    """What the script reported of itself."""
    results: dict[int, list[Any]] = field(default_factory=dict)
    """What the first run of each program gave, as tensors, where that is kept."""
    arguments: dict[int, list[Any]] = field(default_factory=dict)
    """What the first run of each program was given, as tensors, where that is kept."""
    error: str = ""
    """What ended the script early: the kind and text of an exception; the recording is partial."""
    stopped: bool = False
    """Whether the script was ended because enough steps were recorded."""

    def signpost(self, name: str, message: str = "") -> None:
        self.signposts.append(Signpost(name, message, time.perf_counter_ns()))

    def is_first(self, run: Run) -> bool:
        """Whether later runs have less to do: kernels were bound, or a trace was captured."""
        program = self.programs[run.program].program
        traced = any(function.kind is FunctionKind.TRACE for function in program.functions)
        return run.state == "cold" or (traced and run.state == "warm")


class Recorder:
    """Fills a :class:`Recording`; what :mod:`tt_xla.runtime.observation` and torch's optimizers tell.

    Args:
        keep_results: keep what the first run of each program gives.
        keep_arguments: keep what it is given.
        enough: asked after each run and each optimizer step; true ends the script with :class:`StopScript`.
    """

    def __init__(
        self,
        enough: Callable[[Recording], bool] | None = None,
        *,
        keep_results: bool = False,
        keep_arguments: bool = False,
    ) -> None:
        self._keep_results, self._keep_arguments = keep_results, keep_arguments
        self.recording = Recording()
        self._enough = enough
        self._programs: dict[int, LoadedProgram] = {}
        self._executables: list[Executable] = []
        """Kept, so that no other one has their ``id``."""
        self._ops: dict[int, Op] = {}
        self._first = [0]
        """Of the runs in progress: the number of their first event."""

    def timed(self, executable: Executable, function: Function, step: Step, call: Callable[..., Any]) -> Any:
        op = self._ops.get(id(step)) or self._add(executable, function, step)
        record, clock, number = self.recording.events.append, time.perf_counter_ns, op.number

        def timed_call(*tensors: Any) -> Any:
            start = clock()
            made = call(*tensors)
            record((number, start, clock()))
            return made

        return timed_call

    def _add(self, executable: Executable, function: Function, step: Step) -> Op:
        context = step.context
        assert context is not None
        inputs: list[TensorSpec] = []
        for spec in context.operands.values():
            inputs += spec if isinstance(spec, tuple) else [spec]
        op = Op(
            len(self.recording.ops),
            self._program(executable),
            function.name,
            function.kind is FunctionKind.TRACE,
            function.kind is FunctionKind.CONST_EVAL,
            step.instruction,
            tuple(inputs),
            context.results,
            step.key,
        )
        self.recording.ops.append(op)
        self._ops[id(step)] = op
        return op

    def _program(self, executable: Executable) -> LoadedProgram:
        found = self._programs.get(id(executable))
        if found is None:
            target: Any = executable.device.target
            found = LoadedProgram(len(self.recording.programs), executable.program, target)
            self.recording.programs.append(found)
            self._programs[id(executable)] = found
            self._executables.append(executable)
        return found

    def taken(self, step: Step, dram_bytes: int, l1_bytes: int) -> None:
        op = self._ops.get(id(step))
        if op is not None:
            op.dram_bytes, op.l1_bytes = dram_bytes, l1_bytes

    def began(self, executable: Executable, tensors: Sequence[Any]) -> None:
        if self._keep_arguments and (number := self._program(executable).number) not in self.recording.arguments:
            self.recording.arguments[number] = [tensor.detach().clone() for tensor in tensors]
        self._first.append(len(self.recording.events))

    def returned(self, executable: Executable, results: Sequence[Any]) -> None:
        number = self._program(executable).number
        if self._keep_results and number not in self.recording.results:
            self.recording.results[number] = [result.clone() for result in results]

    def ended(self, executable: Executable, state: str, start: int) -> None:
        first, recording = self._first.pop(), self.recording
        program = self._program(executable).number
        recording.runs.append(Run(program, state, start, time.perf_counter_ns(), first, len(recording.events)))
        if sys.exc_info()[0] is None:
            self._stop_if_enough()

    def optimizer_stepped(self, *_: Any) -> None:
        """Called by torch after each ``optimizer.step()``."""
        self.recording.optimizer_steps.append(time.perf_counter_ns())
        self._stop_if_enough()

    def _stop_if_enough(self) -> None:
        if self._enough is not None and self._enough(self.recording):
            self.recording.stopped = True
            raise StopScript


_RECORDINGS: Observers[Recording] = Observers()
"""The recordings in progress."""


def signpost(name: str, message: str = "") -> None:
    """Marks a moment of the recording; does nothing where nothing is recorded."""
    for recording in _RECORDINGS:
        recording.signpost(name, message)


def report_metric(name: str, value: float) -> None:
    """Tells what a script is judged by, such as its accuracy, to whoever tunes it; does nothing otherwise."""
    for recording in _RECORDINGS:
        recording.metrics[name] = float(value)


@contextlib.contextmanager
def recorded(
    enough: Callable[[Recording], bool] | None = None, *, keep_results: bool = False, keep_arguments: bool = False
) -> Generator[Recording]:
    """Records what programs do that are loaded in here. One recording runs at a time.

    Models of torch and JAX's programs that are compiled already are loaded again, before it and after it.

    Args:
        enough: true ends the script.
        keep_results: keep what the first run of each program gives.
        keep_arguments: keep what it is given, and the StableHLO of each compilation.
    """
    from tt_xla.compiler.pipeline import recorded_compilations
    from tt_xla.runtime.observation import observed_kernels

    recorder = Recorder(enough, keep_results=keep_results, keep_arguments=keep_arguments)
    recording = recorder.recording
    with observed_kernels(recorder), recorded_compilations(texts=keep_arguments) as compilations, _optimizers(recorder):
        recording.compilations = compilations
        _load_again()
        try:
            with _RECORDINGS.added(recording):
                yield recording
        finally:
            _load_again()
            recording.ended = time.perf_counter_ns()


def _load_again() -> None:
    for name in ("tt_xla.frontends.torch.settings", "tt_xla.frontends.jax.pjrt.executable"):
        frontend = sys.modules.get(name)
        if frontend is not None:
            frontend.renew()


@contextlib.contextmanager
def _optimizers(recorder: Recorder) -> Generator[None]:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    hook = register_optimizer_step_post_hook(recorder.optimizer_stepped)
    try:
        yield
    finally:
        hook.remove()


def has_optimizer() -> bool:
    """Whether the process holds a torch optimizer, whose steps a loop will end with."""
    from torch.optim import Optimizer

    return any(issubclass(type(found), Optimizer) for found in gc.get_objects())
