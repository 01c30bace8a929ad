"""The events of the runtime that others can observe: runs of programs, and the kernel calls of programs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from tt_xla.ir.program import Function, Instruction, Program, TensorSpec
from tt_xla.observers import Observers

if TYPE_CHECKING:
    from tt_xla.runtime.binding import Step
    from tt_xla.runtime.executable import Executable

RunObserver = Callable[[Program, Sequence[torch.Tensor]], None]
"""Called before each run with the program and the caller's tensors, which the observer must not change or keep."""

RUNS: Observers[RunObserver] = Observers()
"""Observers of all runs in the process, also of programs that were loaded before the observer was added."""

EndObserver = Callable[["Executable", int], None]
"""Called after each run that did not fail, with what ran and the time at which it began, in nanoseconds since 1970."""

ENDED: Observers[EndObserver] = Observers()
"""Observers of the ends of all runs in the process, also of programs that were loaded before the observer was added."""

WAITS: Observers[Callable[[int, int], None]] = Observers()
"""Observers of the time in which this process waits for a card: start and end of :func:`time.perf_counter_ns`."""

Run = tuple[Program, tuple[torch.Tensor, ...]]
"""A program, and copies of the tensors that one run received."""


class OnCard(Protocol):
    """A tensor that stays on a card."""

    def read(self) -> torch.Tensor:
        """Waits for its run and returns a copy of it on the host."""
        ...


def copied(tensor: torch.Tensor | OnCard) -> torch.Tensor:
    """Returns a copy on the host of a tensor of a run."""
    return tensor.detach().clone() if isinstance(tensor, torch.Tensor) else tensor.read()


class KernelObserver(Protocol):
    """Observes the kernel calls and runs of executables. Times are those of :func:`time.perf_counter_ns`."""

    def timed(self, executable: Executable, function: Function, step: Step, call: Callable[..., Any]) -> Any:
        """Returns ``call``, the call of a kernel, wrapped so that the observer learns when it begins and ends."""
        ...

    def called(self, executable: Executable, function: Function, step: Step, start: int, end: int) -> None:
        """Records the call of a kernel on a card, whose operands and results stay there.

        Args:
            executable: what ran.
            function: the function that the instruction is in.
            step: the instruction.
            start: time at which it began, as far as the host knows.
            end: time at which it ended, as far as the host knows.
        """
        ...

    def record_memory(self, step: Step, dram_bytes: int, l1_bytes: int) -> None:
        """Records what lies in DRAM, all banks together, and in a core's L1 after ``step`` of a first run."""
        ...

    def began(self, executable: Executable, tensors: Sequence[torch.Tensor | OnCard]) -> None:
        """Records that a run on ``tensors`` begins. The tensors belong to the run's caller."""
        ...

    def returned(self, executable: Executable, results: Sequence[torch.Tensor | OnCard]) -> None:
        """Records the results of a run. The tensors belong to the run's caller."""
        ...

    def ended(self, executable: Executable, state: str, start: int) -> None:
        """Records that a run ended just now, with or without an error.

        Args:
            executable: what ran.
            state: its :attr:`~tt_xla.runtime.Executable.state` when the run began.
            start: time at which the run began.
        """
        ...


class PlannedCall(Protocol):
    """A call of ``ttnn`` on the emulated card, prepared for arguments of certain types."""

    @property
    def instruction(self) -> Instruction:
        """The op that it executes, with its predicted cost."""
        ...

    @property
    def values(self) -> Sequence[TensorSpec]:
        """Specs of the instruction's values."""
        ...

    @property
    def device(self) -> Any:
        """The device; None for an op on the host."""
        ...


class ObservedCall(NamedTuple):
    """A call of ``ttnn``."""

    plan: PlannedCall
    start: int
    """Time at which it began."""
    operands: Sequence[int | torch.Tensor]
    """Operands of the instruction in order: the position of a tensor in ``tensors``, or the tensor of a number."""
    tensors: Sequence[Sequence[torch.Tensor]]
    """The tensors of each chip that it took, as they were before it."""
    results: Sequence[Sequence[torch.Tensor]]
    """The tensors of each chip that it returned."""
    replayed: bool
    """Whether it is part of a trace that is replayed."""


class CallObserver(Protocol):
    """Observes the calls of scripts that use ``ttnn`` on the emulated card."""

    def called(self, call: ObservedCall) -> None:
        """Records a call that ended just now."""
        ...

    def read_back(self, shards: Sequence[torch.Tensor]) -> None:
        """Records that the script reads a tensor's elements, those of each chip."""
        ...


CALLS: Observers[CallObserver] = Observers()
"""Observers of all calls of ``ttnn`` in the process."""

KERNELS: Observers[KernelObserver] = Observers()
"""Observers of the programs that are loaded while the observer is added, for as long as those programs live."""


@contextmanager
def observed_kernels(observer: KernelObserver) -> Generator[None]:
    """Observes the kernel calls of all programs that are loaded in the context.

    Raises:
        RuntimeError: another observer is active; profilers cannot be nested.
    """
    if KERNELS:
        raise RuntimeError("Kernel calls are observed already: profilers cannot be nested.")
    with KERNELS.added(observer):
        yield


@contextmanager
def recorded_runs() -> Generator[list[Run]]:
    """Records every run of a program in the process, whichever frontend asked for it."""
    runs: list[Run] = []

    def record(program: Program, tensors: Sequence[torch.Tensor]) -> None:
        runs.append((program, tuple(tensor.detach().clone() for tensor in tensors)))

    with RUNS.added(record):
        yield runs
