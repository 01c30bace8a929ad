"""The second engine of one program, from its first run to when its functions call compiled chains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from enum import Enum, auto

from tt_xla import options
from tt_xla.runtime.binding import Linked
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.chains.build import Build, compiler
from tt_xla.runtime.emulator.chains.plan import Plan
from tt_xla.runtime.emulator.chains.prelude import PRELUDE

_FIRST_RUNS = 2
"""In the first everything is checked, in the second a trace captured and weights prepared."""

_LONG_S, _OFTEN = 1.0, 20
"""Seconds that a program has run for, or runs of it, when its chains are worth a second of the compiler."""

_TINY_S = 1e-3
"""Seconds of a run below which a program waits for the compiler, as its next hundreds of runs would be over before."""


class _Stage(Enum):
    WAITING = auto()
    RECORDING = auto()
    COMPILING = auto()
    DONE = auto()


class SecondEngine:
    """Has the chains of a program's functions compiled while it runs; until then, and without a compiler, nothing
    changes.

    Args:
        plans: gives the plans of the functions that are run, by name, once they have run.
        wanted: whether there is to be one; without it the kernels go on.
    """

    def __init__(self, plans: Callable[[], Mapping[str, Plan]], *, wanted: bool = True) -> None:
        self._make_plans = plans
        self._plans: dict[str, Plan] = {}
        self._build: Build | None = None
        mode = options.emulator_chains()
        self._at_once = mode == "now"
        possible = wanted and mode != "off" and options.program_cache_enabled() and place.device().type == "cpu"
        self._stage = _Stage.WAITING if possible else _Stage.DONE
        self._runs, self._seconds = 0, 0.0
        self.fresh: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
        """By function, :attr:`Plan.fresh`."""
        self.chains = 0
        """Compiled and in use."""

    @property
    def waits(self) -> bool:
        """Whether it wants to be told of runs."""
        return self._stage is not _Stage.DONE

    def ran(self, seconds: float) -> Mapping[str, Linked | None]:
        """Says that a run has taken so long. Returns functions that are to be called in the place of what was called;
        None for the kernels one by one."""
        self._runs += 1
        self._seconds += seconds
        if self._stage is _Stage.WAITING:
            long_enough = self._at_once or self._seconds >= _LONG_S or self._runs >= _OFTEN
            return self._record() if long_enough and self._runs >= _FIRST_RUNS else {}
        if self._stage is _Stage.RECORDING:
            self._compile(wait=self._at_once or seconds < _TINY_S)
            plain: dict[str, Linked | None] = dict.fromkeys(self._plans)
            return plain | self._compiled()
        return self._compiled()

    def _record(self) -> Mapping[str, Linked | None]:
        found = self._make_plans() if compiler() is not None else {}
        self._plans = {name: plan for name, plan in found.items() if plan.runs}
        self._stage = _Stage.RECORDING if self._plans else _Stage.DONE
        return {name: plan.recording() for name, plan in self._plans.items()}

    def _compile(self, *, wait: bool) -> None:
        text = "".join(plan.source(prefix) for prefix, plan in self._named())
        self._stage = _Stage.COMPILING if text else _Stage.DONE
        if text:
            self._build = Build(PRELUDE + text, wait=wait)

    def _compiled(self) -> dict[str, Linked]:
        build = self._build
        if build is None or not build.done:
            return {}
        self._stage, self._build = _Stage.DONE, None
        if build.library is None:
            return {}
        self.chains = sum(len(plan.runs) for plan in self._plans.values())
        self.fresh.update({plan.name: plan.fresh for plan in self._plans.values()})
        return {plan.name: plan.compiled(build, prefix) for prefix, plan in self._named()}

    def _named(self) -> list[tuple[str, Plan]]:
        """Plans with what the names of their C++ functions begin with."""
        return [(f"chain{at}", plan) for at, plan in enumerate(self._plans.values())]
