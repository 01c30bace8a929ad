"""The fused kernels of one program, from its first run to when its functions call them.

Everything that fails in here is caught at one fence, :meth:`FusedKernels._give_up`: the fault is reported once and the
program goes on with the calls it had.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tt_xla import environment, stage_times
from tt_xla.runtime.ahead import AHEAD
from tt_xla.runtime.binding import Code, Linked, Step
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.fused import packed, stored
from tt_xla.runtime.emulator.fused.background import start
from tt_xla.runtime.emulator.fused.build import Build, compiler
from tt_xla.runtime.emulator.fused.families import PROBE, library
from tt_xla.runtime.emulator.fused.plan import Plan
from tt_xla.runtime.emulator.fused.report import report
from tt_xla.runtime.torch_state import settled

_FIRST_RUNS = 2
"""Runs before the recorded one: the first checks everything, the second captures a trace and prepares weights."""


@dataclass
class Thresholds:
    """The times and numbers of runs that decide when fused kernels are compiled, and how long a run waits for them."""

    worth_compiling_s: float = 1.0
    """Seconds that a program has run, after which fused kernels are worth a second of the compiler."""
    worth_compiling_runs: int = 20
    """Number of runs after which they are worth it too."""
    waiting_run_s: float = 1e-3
    """Seconds of a run below which a program waits for the compiler: hundreds of its runs would be over before."""
    early_s: float = 4.0
    """Seconds that a program was in the making, from which its fused kernels are made at the end of its first run, so
    that later calls are quick."""
    early_wait_s: float = 1.5
    """Seconds that the end of a first run waits for fused kernels. Those of a model with many kinds of layers take
    longer and are finished beside the next runs."""


THRESHOLDS = Thresholds()
"""The thresholds of this process."""

Failed = Callable[[Exception], None]
MakePlans = Callable[[Failed], Mapping[str, Plan]]
"""Returns the plans of the functions that are run, by name, once they have run. Takes what is told of failed calls."""


class _Stage(Enum):
    WAITING = "waiting for runs"
    RECORDING = "recording"
    PROBING = "planning"
    COMPILING = "compiling"
    DONE = "calling"


class _Making:
    """The work that turns recorded plans into fused kernels: forms of ops, C++, a library, and a check of its bits.

    A process that finds the finished plans of an earlier one on disk does none of this.

    Args:
        plans: the plans by name of their functions.
    """

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._plans = plans
        self._prefixed = {f"fused{position}": plan for position, plan in enumerate(plans.values())}
        self._keys = stored.keys_of(self._prefixed)
        self.stage = _Stage.PROBING
        self.source = ""
        """The C++, once it is written."""
        self.linked: dict[str, Linked] = {}
        """Functions with calls of fused kernels, by name, once they are made."""
        self.error: Exception | None = None
        """Why there are none."""
        self.done = False

    def load(self) -> None:
        """Takes the finished plans of an earlier process, if there are any, which takes milliseconds."""
        linked = stored.load(self._keys.recorded, self._prefixed)
        if linked is not None:
            self.linked, self.done = linked, True

    def run(self) -> None:
        """Does what work is left. An error is kept: nothing may end the thread."""
        try:
            with settled():
                if not self.done:
                    self.load()
                if not self.done:
                    self._make()
        except Exception as error:
            self.error = error
        self.done = True
        if self.error is None:
            with settled():
                packed.find_chunks(step for plan in self._plans.values() for step in plan.steps)

    def _make(self) -> None:
        plans = self._prefixed
        if any(plan.needs_probe for plan in plans.values()):
            probe = Build.of(PROBE, optimize=False)
            for plan in plans.values():
                plan.find_forms(probe)
        self.source = "".join(plan.source(prefix) for prefix, plan in plans.items())
        build = None
        if self.source:
            self.stage = _Stage.COMPILING
            build = Build.of(library(self.source))
            self.linked = {plan.name: plan.compiled(build, prefix) for prefix, plan in plans.items()}
        stored.store(self._keys, plans.values(), build)


class FusedKernels:
    """Has the fused kernels of a program compiled while it runs; without a compiler nothing changes.

    Args:
        make_plans: returns the plans of the program's functions.
        enabled: whether the program may have fused kernels.
    """

    def __init__(self, make_plans: MakePlans, *, enabled: bool = True) -> None:
        self._make_plans = make_plans
        self.plans: dict[str, Plan] = {}
        """Plans of the functions with steps that could be fused, by name; empty until the program has run for long."""
        self._making: _Making | None = None
        mode = environment.emulator_chains()
        self._at_once = mode == "now"
        on_cpu = environment.program_cache_enabled() and place.device().type == "cpu"
        self.enabled = enabled and mode != "off" and on_cpu
        """Whether C++ may compute what calls do."""
        self._stage = _Stage.WAITING if self.enabled else _Stage.DONE
        self._runs, self._seconds = 0, 0.0
        self._are_known = False
        """Whether an earlier process made the fused kernels of this program."""
        self._early = False
        """Whether the fused kernels are made at the end of the first run."""
        self.fresh: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
        """Values that fused kernels make in memory of their own (:attr:`Plan.fresh`), by function."""
        self.count = 0
        """Fused kernels in use."""

    @property
    def waits(self) -> bool:
        """Whether runs are to be reported by :meth:`ran`."""
        return self._stage is not _Stage.DONE

    def begin(self, steps: Iterable[Step]) -> None:
        """Decides, before the kernels of the first run are bound, whether its end will make the fused kernels."""
        waited = AHEAD.end()
        self.plans, self._early = {}, False
        if not self.enabled or waited < THRESHOLDS.early_s:
            return
        try:
            if compiler() is not None and AHEAD.is_ready():
                packed.find_chunks(steps)
                self._early = True
        except Exception as error:
            self._give_up(error)

    def recording(self, code: Code, calls: Sequence[Call], checked: Sequence[Call]) -> Linked | None:
        """Returns a function of the first run whose tensors are recorded; None if they need not be.

        Args:
            code: the function.
            calls: the bound calls of its steps.
            checked: what the steps call in the first run.
        """
        if not self._early:
            return None
        this = weakref.proxy(self)
        try:
            plan = Plan(code, calls, lambda error: this._report(error))
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
            return self._advanced(seconds)
        except Exception as error:
            return self._give_up(error)

    def _advanced(self, seconds: float) -> Mapping[str, Linked | None]:
        if self._early:
            self._early = False
            return self._made_early()
        if self._stage is _Stage.WAITING:
            if self._runs == _FIRST_RUNS:
                self._are_known = stored.were_made(self._candidates().values())
            has_run_long = self._seconds >= THRESHOLDS.worth_compiling_s
            has_run_often = self._runs >= THRESHOLDS.worth_compiling_runs
            long_enough = self._at_once or self._are_known or has_run_long or has_run_often
            return self._record() if long_enough and self._runs >= _FIRST_RUNS else {}
        if self._stage is _Stage.RECORDING:
            waits = self._at_once or seconds < THRESHOLDS.waiting_run_s
            self._make(wait_s=None if waits else 0.0)
            return dict.fromkeys(self.plans) | self._made()
        return self._made()

    def _made_early(self) -> Mapping[str, Linked | None]:
        """Makes fused kernels from what the first run recorded."""
        if not self.plans:
            self._stage = _Stage.DONE
            return {}
        with stage_times.stage(stage_times.LOADING):
            self._make(wait_s=None if self._at_once else THRESHOLDS.early_wait_s)
        return dict.fromkeys(self.plans) | self._made()

    def _give_up(self, error: Exception) -> Mapping[str, Linked | None]:
        self._report(error)
        self._stage, self.count, self._early = _Stage.DONE, 0, False
        self.fresh.clear()
        return dict.fromkeys(self.plans)

    def _report(self, error: Exception) -> None:
        steps = [step for plan in self.plans.values() for step in plan.steps]
        making = self._making
        stage = making.stage if making is not None and self._stage is not _Stage.DONE else self._stage
        report(error, stage.value, steps, "" if making is None else making.source)

    def _candidates(self) -> dict[str, Plan]:
        """Returns plans of the functions with steps that could be fused."""
        this = weakref.proxy(self)  # fused kernels' calls are no owners of this
        plans = self._make_plans(lambda error: this._report(error)) if compiler() is not None else {}
        return {name: plan for name, plan in plans.items() if plan.has_candidates}

    def _record(self) -> Mapping[str, Linked | None]:
        self.plans = self._candidates()
        self._stage = _Stage.RECORDING if self.plans else _Stage.DONE
        return {name: plan.recording() for name, plan in self.plans.items()}

    def _make(self, *, wait_s: float | None) -> None:
        """Begins to make fused kernels from what was recorded, in a thread while the program runs on.

        Args:
            wait_s: seconds to wait for them; None to make them in this thread.
        """
        for plan in self.plans.values():
            if plan.fault is not None:
                raise plan.fault
        self._stage, self._making = _Stage.COMPILING, _Making(self.plans)
        if self._are_known:
            self._making.load()
        if wait_s is None:
            self._making.run()
        else:
            start(self._making.run).join(wait_s)

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
        self._stage = _Stage.DONE
        self.count = sum(len(plan.fusions) for plan in self.plans.values())
        self.fresh.update({name: self.plans[name].fresh for name in making.linked})
        return making.linked
