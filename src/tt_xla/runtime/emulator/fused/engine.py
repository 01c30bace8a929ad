"""The fused kernels of one program, from its first run to when its functions call them.

The first run notes how tensors lie. Once the program is worth a second of the compiler (:func:`worth_compiling`), its
C++ is written and compiled in a thread, while it runs on; a later process finds the library on disk. Everything that
fails in here is caught at one fence, :meth:`FusedKernels._give_up`: the fault is reported once and the program goes on
with the calls it had.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import torch

from tt_xla import disk_cache, environment, stage_times
from tt_xla.runtime.binding import Code, Linked
from tt_xla.runtime.emulator import library, place
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.fused.background import COMPUTING, start
from tt_xla.runtime.emulator.fused.build import Build, compiler, machine
from tt_xla.runtime.emulator.fused.function import POINTERS, PROLOGUE, Units
from tt_xla.runtime.emulator.fused.plan import Plan
from tt_xla.runtime.emulator.fused.report import report
from tt_xla.runtime.torch_state import settled
from tt_xla.runtime.weights import WeightedCall
from tt_xla.stage_times import AUTOGRAD, COMPILING, LOWERING, TRACING

_MADE = "made"
"""Kind of the entries of the cache on disk that say that a program's C++ was compiled."""


def worth_compiling(making_s: float, running_s: float, runs: int) -> bool:
    """Whether a program is worth a second of the compiler.

    Args:
        making_s: seconds that it was traced, lowered and compiled: what took long is likely to run often.
        running_s: seconds that it has run.
        runs: number of its runs.
    """
    return making_s / 4 + running_s + runs / 20 >= 1


_seconds_before = [0.0]
"""Seconds that this process had made programs when the last first run began."""


def making_seconds() -> float:
    """Returns the seconds that this process has made programs since it was last asked."""
    spent = stage_times.spent()
    total = sum(spent[name].wall_s for name in (TRACING, AUTOGRAD, LOWERING, COMPILING) if name in spent)
    former, _seconds_before[0] = _seconds_before[0], total
    return total - former


class _Arenas(threading.local):
    """The memory in which fused kernels compute: one part for each thread, as large as the largest one needs."""

    memory: torch.Tensor | None = None

    def of(self, size: int) -> torch.Tensor:
        """Returns memory of at least so many bytes."""
        if self.memory is None or len(self.memory) < size:
            self.memory = None
            self.memory = torch.empty(size, dtype=torch.uint8, device="cpu")
        return self.memory


_ARENAS = _Arenas()


class _Stage(Enum):
    RECORDING = "recording"
    WAITING = "waiting for runs"
    WRITING = "planning"
    COMPILING = "compiling"
    DONE = "calling"


class _Making:
    """The work that turns recorded plans into fused kernels.

    Args:
        plans: the plans by name of their functions.
    """

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._plans = {f"fused{position}": plan for position, plan in enumerate(plans.values())}
        self.stage = _Stage.WRITING
        self.source = ""
        """The C++, once it is written."""
        self.library: object = None
        """The library, once it is loaded."""
        self.linked: dict[str, Linked] = {}
        """Functions with calls of fused kernels, by name, once they are made."""
        self.error: Exception | None = None
        """Why there are none."""
        self.done = False

    def run(self) -> None:
        """Does the work. An error is kept: nothing may end the thread."""
        try:
            with settled():
                self._make()
        except Exception as error:
            self.error = error
        self.done = True

    def _make(self) -> None:
        units = Units()
        with COMPUTING:  # views are torch's
            functions = [plan.source(prefix, units) for prefix, plan in self._plans.items()]
        shared = library.library()
        if shared is None or not any(functions):
            return
        self.source = "".join([PROLOGUE, units.text, *functions])
        self.stage = _Stage.COMPILING
        build = Build.of(self.source, needs=library.needs())
        build.link(POINTERS, shared.build)
        self.library = build.library
        size = max(fusion.arena_bytes for plan in self._plans.values() for fusion in plan.fusions)
        arena = _arena_of(max(size, 1))
        with COMPUTING:  # small arenas are made
            self.linked = {plan.name: plan.compiled(build, prefix, arena) for prefix, plan in self._plans.items()}


def _arena_of(size: int) -> Callable[[], torch.Tensor]:
    return lambda: _ARENAS.of(size)


class FusedKernels:
    """Has the fused kernels of a program compiled while it runs; without a compiler nothing changes.

    Args:
        enabled: whether the program may have fused kernels.
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self.plans: dict[str, Plan] = {}
        """Plans of the functions that the first run recorded, by name."""
        self._making: _Making | None = None
        mode = environment.emulator_chains()
        self._at_once = mode == "now"
        on_cpu = environment.program_cache_enabled() and place.device().type == "cpu"
        self.enabled = enabled and mode != "off" and on_cpu
        """Whether C++ may compute what calls do."""
        self._stage = _Stage.RECORDING
        self.waits = self.enabled
        """Whether runs are to be reported by :meth:`ran`."""
        self._runs, self._making_s, self._seconds = 0, 0.0, 0.0
        self.fresh: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
        """Values that fused kernels make in memory of their own (:attr:`Plan.fresh`), by function."""
        self.count = 0
        """Fused kernels in use."""

    @property
    def library(self) -> object:
        """The loaded library of the fused kernels; None where there is none."""
        return None if self._making is None else self._making.library

    def begin(self) -> None:
        """Is to be called when the first run begins."""
        self._making_s = making_seconds()
        self.plans = {}

    def recording(
        self, code: Code, calls: Sequence[Call], checked: Sequence[Call], weighted: Mapping[int, WeightedCall]
    ) -> Linked | None:
        """Returns a function of the first run whose tensors are recorded; None if they need not be.

        Args:
            code: the function.
            calls: the bound calls of its steps.
            checked: what the steps call in the first run.
            weighted: calls that prepare their weights, by the positions of their steps.
        """
        if not self.enabled or compiler() is None:
            return None
        this = weakref.proxy(self)  # fused kernels' calls are no owners of this
        try:
            plan = Plan(code, calls, lambda error: this._report(error), weighted)
            if not plan.has_candidates:
                return None
            recording = plan.recording(checked)
        except Exception as error:
            self._give_up(error)
            return None
        self.plans[code.name] = plan
        return recording

    def ran(self, seconds: float) -> Mapping[str, Linked | None]:
        """Records a run's duration.

        Returns:
            Functions that replace those of the program, by name; None in the place of one for its bound calls.
        """
        self._runs += 1
        self._seconds += seconds
        try:
            return self._advanced()
        except Exception as error:
            return self._give_up(error)

    def _advanced(self) -> Mapping[str, Linked | None]:
        if self._stage is _Stage.RECORDING:
            self._stage = _Stage.WAITING if self.plans else self._ended()
        if self._stage is _Stage.WAITING:
            known = self._runs == 1 and _was_made(self.plans.values())
            if self._at_once or known or worth_compiling(self._making_s, self._seconds, self._runs):
                self._make(waits=self._at_once or known)
        return self._made()

    def _give_up(self, error: Exception) -> Mapping[str, Linked | None]:
        self._report(error)
        self._stage, self.count = self._ended(), 0
        self.fresh.clear()
        return dict.fromkeys(self.plans)

    def _ended(self) -> _Stage:
        """Returns the last stage, in which runs are not reported any more."""
        self.waits = False
        return _Stage.DONE

    def _report(self, error: Exception) -> None:
        steps = [step for plan in self.plans.values() for step in plan.steps]
        making = self._making
        stage = making.stage if making is not None and self._stage is not _Stage.DONE else self._stage
        report(error, stage.value, steps, "" if making is None else making.source)

    def _make(self, *, waits: bool) -> None:
        """Begins to make fused kernels from what was recorded, in this thread or beside the next runs."""
        for plan in self.plans.values():
            if plan.fault is not None:
                raise plan.fault
        self._stage, self._making = _Stage.COMPILING, _Making(self.plans)
        if waits:
            with stage_times.stage(stage_times.LOADING):
                self._making.run()
        else:
            start(self._making.run)

    def _made(self) -> dict[str, Linked]:
        """Returns the functions with calls of fused kernels, once they are made.

        Raises:
            Exception: what making them raised.
        """
        making = self._making
        if making is None or not making.done:
            return {}
        if making.error is not None:
            raise making.error
        self._stage = self._ended()
        self.count = sum(len(plan.fusions) for plan in self.plans.values())
        self.fresh.update({name: self.plans[name].fresh for name in making.linked})
        cache = disk_cache.current()
        if cache is not None:
            cache.put(_MADE, _key_of_steps(self.plans.values()), b"")
        return making.linked


def _was_made(plans: Iterable[Plan]) -> bool:
    """Whether an earlier process made the fused kernels of these functions."""
    cache = disk_cache.current()
    return cache is not None and cache.get(_MADE, _key_of_steps(plans)) is not None


def _key_of_steps(plans: Iterable[Plan]) -> str:
    steps = [(plan.name, sorted(step.key for step in plan.steps)) for plan in plans]
    return disk_cache.key_of([machine(), library.needs().version, steps])


__all__ = ["FusedKernels"]
