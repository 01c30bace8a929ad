"""Executables whose kernel calls are observed. Executables without an observer pay nothing for it."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.ir.program import Function, Program
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.first_run import FirstRun
from tt_xla.runtime.observation import KERNELS, KernelObserver
from tt_xla.runtime.transfer import Version

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device
    from tt_xla.runtime.mesh.expansion import Expansion


class ReportsRuns(Executable):
    """An executable that reports every run to an observer."""

    def __init__(
        self,
        device: Device,
        program: Program,
        observer: KernelObserver,
        expansion: Expansion | None = None,
        chips: Sequence[Device] = (),
    ) -> None:
        super().__init__(device, program, expansion, chips)
        self.observer = observer

    def _observed_run(
        self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int], **how: bool
    ) -> list[Any]:
        state, start = self.state, time.perf_counter_ns()
        self.observer.began(self, tensors)
        try:
            results = super()._observed_run(tensors, versions, donated, **how)
            self.observer.returned(self, results)
            return results
        finally:
            self.observer.ended(self, state, start)


class ObservedExecutable(ReportsRuns):
    """An executable of the emulated card that reports every run and every kernel call to an observer."""

    releases_weights = False  # observers may read the operands of a call
    uses_fused_kernels = False  # a fused kernel would hide the calls it replaces

    def _call(self, function: Function, step: Step) -> Call:
        call = super()._call(function, step)
        if step.context is None:
            return call
        return self.observer.timed(self, function, step, call)

    def _checked(self, first_run: FirstRun, function: Function, step: Step, call: Call) -> Call:
        checked = super()._checked(first_run, function, step, call)

        def reporting(*tensors: torch.Tensor) -> Any:
            results = checked(*tensors)
            memory = first_run.memory_in_use
            if memory is not None:
                self.observer.record_memory(step, *memory)
            return results

        return reporting


def make_executable(
    device: Device, program: Program, expansion: Expansion | None = None, chips: Sequence[Device] = ()
) -> Executable:
    """Returns the executable of a program on the emulated card, observed when an observer is active.

    The arguments are those of :class:`~tt_xla.runtime.executable.Executable`.
    """
    for observer in KERNELS:
        return ObservedExecutable(device, program, observer, expansion, chips)
    return Executable(device, program, expansion, chips)
