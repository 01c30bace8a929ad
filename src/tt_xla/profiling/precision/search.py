"""Searches the fastest precision within a budget of accuracy.

The search compiles the program in each uniform setting for the predicted time of each group of layers, and runs it with
one group narrower at a time for the error that this causes. Errors of different layers are independent, so the
correlations that they cost are added. This orders the steps from the most precise to the fastest assignment. Bisection
finds the last step at which the whole program, run as it would be, is accurate enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tt_xla.errors import ExecutionError, ResourceExhaustedError
from tt_xla.options import CompileOptions
from tt_xla.profiling import front
from tt_xla.profiling.precision.layer_times import layer_times
from tt_xla.profiling.precision.measures import Measure, correlation
from tt_xla.profiling.precision.settings import (
    FORMATS,
    Assignment,
    Candidate,
    Setting,
    precision_of,
    settings,
    upgrades,
)
from tt_xla.profiling.precision.subject import Subject
from tt_xla.profiling.tune.reference import as_array
from tt_xla.profiling.tune.search import groups_of
from tt_xla.profiling.tune.trial_log import TrialLog

TRIALS_NAME = "precision-trials.jsonl"

_LEAST_GAIN = 0.001
"""Part of the program's time that a setting must gain for one group to be worth a run."""

_LATER_STEPS = 4
"""Number of steps after the first one that costs too much that are tried one by one."""


@dataclass(frozen=True)
class Trial:
    """An assignment and its outcome."""

    assignment: Assignment
    """Empty for the program with the user's own options."""
    us: float = 0.0
    """Predicted device time."""
    accuracy: float = 0.0
    pcc: float = 0.0
    dram_bytes: int = 0
    """Greatest use of DRAM."""
    error: str = ""
    """Reason why there are no figures."""


@dataclass(frozen=True)
class LogRecord:
    """A line of the file of trials: a trial, or the times of groups if all of them have one setting."""

    trial: Trial | None = None
    setting: Setting | None = None
    times: tuple[float, ...] = ()
    """Predicted microseconds of each group, and of all other ops."""


def front_of(trials: Iterable[Trial]) -> list[Trial]:
    """Returns the trials that are more accurate than every faster one, fastest first."""
    valid = [trial for trial in trials if trial.assignment and not trial.error]
    return front.front_of(valid, lambda trial: trial.us, lambda trial: trial.accuracy)


@dataclass
class PrecisionSearch:
    """A search of one program.

    Attributes:
        subject: The program and its inputs.
        measure: Judges results.
        log: File of the trials.
        budget: Least accuracy.
        limit: Greatest number of groups of layers.
        progress: Called with the number of trials to come in a phase and its name, and with 0 after each trial.
    """

    subject: Subject
    measure: Measure
    log: TrialLog[LogRecord]
    budget: float
    limit: int = 8
    progress: Callable[[int, str], None] = lambda coming, label: None
    groups: list[list[str]] = field(default_factory=list)
    """Names of the layers of each group."""
    trials: dict[Assignment, Trial] = field(default_factory=dict)
    times: dict[Setting, tuple[float, ...]] = field(default_factory=dict)
    """Predicted microseconds of each group and of all other ops, by the setting of all."""

    def run(self) -> Trial:
        """Runs the search and returns the fastest accurate trial.

        Raises:
            ExecutionError: The most precise assignment is not accurate enough, or the program does not run.
        """
        for record in self.log.read():
            self._keep(record)
        self.progress(2, "the program as it is")
        own = self.trial(())
        if own.error:
            raise ExecutionError(f"The program does not run: {own.error}.")
        start, every = self._start()
        first = self.trial(start)
        if first.error or not first.accuracy >= self.budget:
            raise ExecutionError(
                f"The most precise formats reach an accuracy of {first.accuracy:.5f}, less than {self.budget}"
                f"{f' ({first.error})' if first.error else ''}.",
                hint="Ask for less accuracy. `tt-xla compare` shows which ops lose it.",
            )
        self.progress(len(every), "times of each layer")
        for setting in every:
            self._time(setting)
        steps = upgrades(self._candidates(start, every))
        self._choose(start, steps)
        return self.best()

    def best(self) -> Trial:
        """Returns the fastest trial that is accurate enough."""
        valid = [trial for trial in self.trials.values() if trial.assignment and not trial.error]
        return min((trial for trial in valid if trial.accuracy >= self.budget), key=lambda t: (t.us, -t.accuracy))

    # The steps of the search

    def _start(self) -> tuple[Assignment, list[Setting]]:
        """Groups the layers, and returns the most precise assignment and all settings."""
        program = self.subject.compiled(self._options(()))
        parameters = {argument.name: argument for argument in program.arguments}
        units = layer_times(program)
        sizes = [(unit, sum(math.prod(parameters[name].shape) for name in unit)) for unit in units]
        order = [(",".join(sorted(unit)), size) for unit, size in sizes]
        members = {key: sorted(unit) for (key, _), (unit, _) in zip(order, sizes, strict=True)}
        self.groups = [[name for key in group for name in members[key]] for group in groups_of(order, self.limit)]
        narrow = all(parameters[name].dtype == "bf16" for unit in units for name in unit)
        every = settings(FORMATS if narrow else ("",), coarse=self._has_coarse_forms())
        rest = replace(every[0], weights="")
        return (*[every[0]] * len(self.groups), rest), every

    def _has_coarse_forms(self) -> bool:
        """Returns whether coarse forms of functions make the program faster."""
        own = self._options(())
        exact, coarse = (
            self.subject.compiled(replace(own, precision="", fast_and_approximate_mode=mode)) for mode in (False, True)
        )
        return coarse.predicted_device_us < exact.predicted_device_us

    def _candidates(self, start: Assignment, every: Sequence[Setting]) -> list[list[Candidate]]:
        """Returns the settings of each group with their times, and the errors that runs with one change show."""
        total = sum(self.times[every[0]])
        wanted: list[tuple[int, Setting]] = []
        for group in range(len(start)):
            for setting in every:
                if _changes(start[group], setting) == 1 and self._may_gain(group, setting, every, _LEAST_GAIN * total):
                    wanted.append((group, replace(setting, weights=setting.weights if start[group].weights else "")))
        wanted = list(dict.fromkeys(wanted))
        if wanted:
            self.progress(len(wanted), "errors of each layer")
        exact = self.trials[start].pcc
        errors: dict[tuple[int, str, Any], float] = {}
        for group, setting in wanted:
            trial = self.trial((*start[:group], setting, *start[group + 1 :]))
            lost = math.inf if trial.error or math.isnan(trial.pcc) else max(0.0, exact - trial.pcc)
            errors |= {(group, *change): lost for change in _fields(setting) if change not in _fields(start[group])}
        candidates: list[list[Candidate]] = []
        for group, before in enumerate(start):
            options = [Candidate(before, self.times[every[0]][group], 0.0)]
            for setting in every:
                changed = [change for change in _fields(setting) if change not in _fields(every[0])]
                known = [errors.get((group, *change)) for change in changed]
                lost = math.inf if None in known else sum(error for error in known if error is not None)
                own = replace(setting, weights=setting.weights if before.weights else "")
                if changed and lost < math.inf and (before.weights or setting.weights == every[0].weights):
                    options.append(Candidate(own, self.times[setting][group], lost))
            candidates.append(options)
        return candidates

    def _may_gain(self, group: int, wanted: Setting, every: Sequence[Setting], least: float) -> bool:
        """Returns whether the one change of a setting makes a group faster together with any other changes."""
        change = next(change for change in _fields(wanted) if change not in _fields(every[0]))
        for setting in every:
            if change in _fields(setting):
                without = next(each for each in every if _fields(each) == _without(setting, change, every[0]))
                if self.times[without][group] - self.times[setting][group] > least:
                    return True
        return False

    def _choose(self, start: Assignment, steps: Sequence[tuple[int, Setting]]) -> None:
        """Bisects for the last accurate assignment, and tries the steps after it one by one."""
        assignments = [start]
        for group, setting in steps:
            before = assignments[-1]
            assignments.append((*before[:group], setting, *before[group + 1 :]))
        self.progress(len(steps).bit_length() + 1 + min(_LATER_STEPS, len(steps)), "whole programs")
        if self._accurate(assignments[-1]):
            return
        low, high = 0, len(steps)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._accurate(assignments[middle]) else (low, middle)
        current = assignments[low]
        for group, setting in steps[high : high + _LATER_STEPS]:
            tried = (*current[:group], setting, *current[group + 1 :])
            current = tried if self._accurate(tried) else current

    def _accurate(self, assignment: Assignment) -> bool:
        trial = self.trial(assignment)
        return not trial.error and trial.accuracy >= self.budget

    # Trials

    def _options(self, assignment: Assignment) -> CompileOptions:
        """Returns the compile options of an assignment; an empty assignment has the user's options."""
        own = replace(CompileOptions(**self.subject.options), enable_trace=False, backend="default", export_path="")
        if not assignment:
            return own
        free = replace(
            own,
            enable_bfp8_conversion=False,
            experimental_weight_dtype="",
            experimental_weight_dtype_overrides="",
        )
        precision, rest = precision_of(assignment, self.groups), assignment[-1]
        return replace(
            free,
            precision=precision.text(),
            math_fidelity=rest.math_fidelity,
            fp32_dest_acc_en=rest.fp32_dest_acc_en,
            fast_and_approximate_mode=rest.fast_and_approximate_mode,
        )

    def trial(self, assignment: Assignment) -> Trial:
        """Returns the outcome of an assignment, which is compiled and run if it is new."""
        if assignment not in self.trials:
            self._save(LogRecord(trial=self._tried(assignment)))
        self.progress(0, "")
        return self.trials[assignment]

    def _tried(self, assignment: Assignment) -> Trial:
        try:
            program = self.subject.compiled(self._options(assignment))
            results = [as_array(tensor) for tensor in self.subject.results(program)]
        except ResourceExhaustedError as error:
            return Trial(assignment, error=str(error).splitlines()[0])
        expected = [as_array(tensor) for tensor in self.subject.expected]
        pcc = correlation(results, expected)
        accuracy = pcc if self.measure is correlation else self.measure(results, expected)
        return Trial(assignment, program.predicted_device_us, accuracy, pcc, program.memory.dram_peak_bytes)

    def _time(self, setting: Setting) -> None:
        """Compiles the program with one setting for all layers, for the times of the groups and of all other ops."""
        if setting not in self.times:
            assignment = (*[setting] * len(self.groups), replace(setting, weights=""))
            program = self.subject.compiled(self._options(assignment))
            group_of = {name: number for number, names in enumerate(self.groups) for name in names}
            times = [0.0] * len(self.groups)
            for names, us in layer_times(program).items():
                times[group_of[min(names)]] += us
            times.append(program.predicted_device_us - sum(times))
            self._save(LogRecord(setting=setting, times=tuple(times)))
        self.progress(0, "")

    def _save(self, record: LogRecord) -> None:
        self.log.add(record)
        self._keep(record)

    def _keep(self, record: LogRecord) -> None:
        if record.trial is not None:
            self.trials[record.trial.assignment] = record.trial
        elif record.setting is not None:
            self.times[record.setting] = record.times


def _fields(setting: Setting) -> list[tuple[str, Any]]:
    return list(asdict(setting).items())


def _changes(before: Setting, after: Setting) -> int:
    """Returns in how many fields a setting differs from a group's; formats do not count where there are none."""
    pairs = zip(_fields(before), _fields(after), strict=True)
    return sum(old != new for old, new in pairs if not (old[0] == "weights" and not before.weights))


def _without(setting: Setting, change: tuple[str, Any], base: Setting) -> list[tuple[str, Any]]:
    """Returns the fields of a setting with one of them as in another setting."""
    return _fields(replace(setting, **{change[0]: getattr(base, change[0])}))
