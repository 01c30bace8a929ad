"""Executables that tell somebody what they run: how profilers hear of every kernel call, at no cost without one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Container, Generator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch

from tt_xla.ir.program import Function, Program
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.registry import Call
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.first_run import FirstRun
from tt_xla.runtime.transfer import Version

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device


class Observer(Protocol):
    """Times are of :func:`time.perf_counter_ns`."""

    def timed(self, executable: Observed, function: Function, step: Step, call: Call) -> Call:
        """``call`` of a kernel, which tells when it began and ended."""
        ...

    def taken(self, step: Step, dram_bytes: int, l1_bytes: int) -> None:
        """What lies in DRAM, all banks together, and in a core's L1 after ``step`` of a first run."""
        ...

    def began(self, executable: Observed, tensors: Sequence[torch.Tensor]) -> None:
        """A run on ``tensors``, which belong to its caller, begins."""
        ...

    def returned(self, executable: Observed, results: Sequence[torch.Tensor]) -> None:
        """What a run gave, which belongs to its caller."""
        ...

    def ended(self, executable: Observed, state: str, start: int) -> None:
        """A run that began at ``start`` in ``state`` ended just now, also where it raised."""
        ...


class Observed(Executable):
    """An executable of which every run and every kernel call is told to an observer."""

    releases_weights = False  # observers may read the operands of a call
    has_second_engine = False  # and are told of each

    def __init__(self, device: Device, program: Program, observer: Observer) -> None:
        super().__init__(device, program)
        self._observer = observer

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        state, start = self.state, time.perf_counter_ns()
        self._observer.began(self, tensors)
        try:
            results = super().run(tensors, versions, donated)
            self._observer.returned(self, results)
            return results
        finally:
            self._observer.ended(self, state, start)

    def _call(self, function: Function, step: Step) -> Call:
        call = super()._call(function, step)
        if step.context is None:
            return call
        return self._observer.timed(self, function, step, call)

    def _checked(self, first_run: FirstRun, function: Function, step: Step, call: Call) -> Call:
        checked = super()._checked(first_run, function, step, call)

        def told(*tensors: torch.Tensor) -> Any:
            made = checked(*tensors)
            memory = first_run.memory_in_use
            if memory is not None:
                self._observer.taken(step, *memory)
            return made

        return told


_observers: list[Observer] = []


@contextlib.contextmanager
def observed_by(observer: Observer) -> Generator[None]:
    """Programs that are loaded in here are observed, for as long as they live.

    Raises:
        RuntimeError: somebody observes already.
    """
    if _observers:
        raise RuntimeError("Programs are observed already: profilers cannot be nested.")
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def loaded(device: Device, program: Program) -> Executable:
    """The executable of a program, observed where somebody observes."""
    return Observed(device, program, _observers[-1]) if _observers else Executable(device, program)
