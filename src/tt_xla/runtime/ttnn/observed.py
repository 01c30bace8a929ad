"""Executables that run on TT-NN and report their runs and ops to an observer, as those of the emulated card do."""

from __future__ import annotations

import functools
import time
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tt_xla.cost.program import rounds, subprograms
from tt_xla.cost.residency import called
from tt_xla.cost.timeline import MOST_KERNELS
from tt_xla.ir.program import HOST_OPS, LOAD_CACHED, Function, Program
from tt_xla.runtime.observation import KERNELS
from tt_xla.runtime.observed import ReportsRuns
from tt_xla.runtime.steps import CONTROL
from tt_xla.runtime.ttnn.executable import TTNNExecutable

if TYPE_CHECKING:
    from tt_xla.runtime.binding import Step
    from tt_xla.runtime.device import Device
    from tt_xla.runtime.mesh.expansion import Expansion
    from tt_xla.runtime.transfer import Version
    from tt_xla.runtime.ttnn.process import Array


class ObservedTTNNExecutable(ReportsRuns, TTNNExecutable):
    """An executable that reports every run, and the ops of each, to an observer.

    The worker runs a program as a whole, and later, so the host's times of an op are the moment at which the run was
    handed over. Ops that the host computes share the time that they took together. A loop has the number of rounds that
    the cost model assumes, and a case its longest branch.
    """

    _host_ns = 0
    """Time that the host ops of the run took together."""

    @functools.cached_property
    def _later_calls(self) -> list[tuple[Function, Step]]:
        """The ops of a run after the first one."""
        return list(self._calls_of(self._entry, prepared=False))

    def _run_alone(
        self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int], *, keeps: bool = False
    ) -> list[Any]:
        is_first, self._host_ns = not self.counters.runs, 0
        results = super()._run_alone(tensors, versions, donated, keeps=keeps)
        calls = list(self._calls_of(self._entry, prepared=True)) if is_first else self._later_calls
        on_host = sum(step.instruction.op in HOST_OPS for _, step in calls)
        now = time.perf_counter_ns() - self._host_ns
        for function, step in calls:
            start = now
            if step.instruction.op in HOST_OPS:
                now += self._host_ns // on_host
            self.observer.called(self, function, step, start, now)
        return results

    def _on_host(self, name: str, arrays: list[Array]) -> list[Array]:
        start = time.perf_counter_ns()
        try:
            return super()._on_host(name, arrays)
        finally:
            self._host_ns += time.perf_counter_ns() - start

    def _calls_of(self, function: Function, *, prepared: bool) -> Iterator[tuple[Function, Step]]:
        """Yields the ops of a function in the order of their calls.

        Args:
            function: the function.
            prepared: whether const-eval functions run.
        """
        for step in self._bound[function.name].code.steps:
            instruction = step.instruction
            if step.context is not None:
                yield function, step
            elif instruction.op in CONTROL:
                inner = [
                    call
                    for each in subprograms(instruction, self._functions, frozenset())
                    for call in self._calls_of(each, prepared=prepared)
                ]
                trips = rounds(instruction)
                yield from inner * (trips if len(inner) * trips <= MOST_KERNELS else 1)
            elif instruction.op != LOAD_CACHED or prepared:
                for each in called(instruction, self._functions):
                    yield from self._calls_of(each, prepared=prepared)


def make_ttnn_executable(
    device: Device, program: Program, expansion: Expansion | None = None, chips: Sequence[Device] = ()
) -> TTNNExecutable:
    """Returns the executable of a program on TT-NN, observed when an observer is active.

    The arguments are those of :class:`TTNNExecutable`.
    """
    for observer in KERNELS:
        return ObservedTTNNExecutable(device, program, observer, expansion, chips)
    return TTNNExecutable(device, program, expansion, chips)
