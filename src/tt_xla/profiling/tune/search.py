"""Searches the choices: one option after another, each from the best choice so far, and then larger batches.

Each outcome is written to a file at once, so an interrupted search continues where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from tt_xla.errors import ExecutionError, OptionError
from tt_xla.profiling.tune.choice import MIXED, WEIGHTS, Choice, Outcome
from tt_xla.profiling.tune.executors import RunAll
from tt_xla.profiling.tune.trial import Spec
from tt_xla.profiling.tune.trial_log import TrialLog

TRIALS_NAME = "trials.jsonl"
REFERENCE_NAME = "reference.pt"

PLATEAU = 1.05
"""Factor of the throughput that a larger batch must reach for the next larger batch to be tried."""


@dataclass(frozen=True)
class Space:
    """The choices that a search may try."""

    levels: tuple[int, ...] = (0, 1, 2)
    traces: tuple[bool, ...] = (False, True)
    weights: tuple[str, ...] = (*WEIGHTS, MIXED)
    fidelities: tuple[str, ...] = ("", "hifi2", "lofi")
    batches: tuple[int, ...] = ()
    """Batch sizes in rising order; if empty, the script's own."""
    pcc: float = 0.99
    """Least correlation with the reference of a choice that may be chosen; least part of the reference's metric."""
    metric: str = ""
    """Metric of the script that measures accuracy instead of the correlation; empty for the correlation."""
    mixed_groups: int = 8
    """Number of groups of weights that are tried one by one to find out which are sensitive."""
    grid: bool = False
    """Whether to try every combination at the first batch size instead of one option after another."""


@dataclass
class Search:
    """A search of one program.

    Attributes:
        program: Path of a script, an experiment's YAML file or a StableHLO module.
        arguments: The script's command-line arguments.
        space: The choices to try.
        folder: Folder of the file of trials and of the reference's results.
        run_all: Runs trials.
        batch_argument: Command-line option of the script that takes the batch size.
        progress: Called with the number of trials before they start, and with 0 and words about each outcome.
    """

    program: str
    arguments: tuple[str, ...]
    space: Space
    folder: Path
    run_all: RunAll
    batch_argument: str = "--batch-size"
    progress: Callable[[int, str], None] = lambda coming, text: None
    outcomes: dict[Choice, Outcome] = field(default_factory=dict)
    """Outcomes by choice, including those of earlier searches in the same folder."""
    _asked: dict[Choice, None] = field(default_factory=dict)

    def run(self) -> list[Outcome]:
        """Runs the search and returns the outcomes of all choices that it tried.

        Raises:
            OptionError: The folder holds trials of another program, or the script reports no such metric.
            ExecutionError: The program does not run.
        """
        self.outcomes = {outcome.choice: outcome for outcome in self._log.read()}
        first = self.space.batches[0] if self.space.batches else 0
        (reference,) = self._try([Choice(batch=first, reference=True)])
        if reference.error:
            raise ExecutionError(
                f"'{self.program}' does not run: {reference.error}.",
                hint="Run it by itself first. Options of this command come before the script.",
            )
        metric = self.space.metric
        if metric and reference.accuracy(metric) is None:
            raise OptionError(
                f"'{self.program}' reports no metric '{metric}'; it reports {', '.join(reference.metrics) or 'none'}.",
                hint=f"Call tt_xla.profiling.recording.report_metric({metric!r}, value) in the script.",
            )
        best = self._grid(first) if self.space.grid else self._one_by_one(first)
        if MIXED in self.space.weights:
            best = self._mixed(best, reference)
        self._batches(best)
        return [self.outcomes[choice] for choice in self._asked]

    def best(self, outcomes: Iterable[Outcome]) -> Outcome | None:
        """Returns the fastest outcome that is accurate enough; None if there is none."""
        valid = [outcome for outcome in outcomes if not outcome.error and not outcome.choice.reference]
        accurate = [outcome for outcome in valid if self._accurate(outcome)]
        return max(
            accurate, key=lambda outcome: (round(outcome.throughput, 3), self._accuracy(outcome) or 0.0), default=None
        )

    def _accuracy(self, outcome: Outcome) -> float | None:
        return outcome.accuracy(self.space.metric)

    def _accurate(self, outcome: Outcome) -> bool:
        """Returns whether an outcome is accurate enough.

        A metric may be worse than the reference's by the part of it that :attr:`Space.pcc` lacks to 1. Without a
        metric, if the outcome's results cannot be compared, it is accurate if its choice does not change results.
        """
        accuracy = self._accuracy(outcome)
        if accuracy is None:
            changes = outcome.choice.weights != "bf16" or outcome.choice.math_fidelity
            return not self.space.metric and not changes
        return accuracy >= self.least_accuracy

    @property
    def least_accuracy(self) -> float:
        """Least correlation, or least value of the metric, of a choice that may be chosen."""
        if not self.space.metric:
            return self.space.pcc
        references = (self._accuracy(outcome) for outcome in self.outcomes.values() if outcome.choice.reference)
        known = [value for value in references if value is not None]
        return known[-1] - (1 - self.space.pcc) * abs(known[-1]) if known else -math.inf

    # The order of trials

    def _one_by_one(self, batch: int) -> Choice:
        space, best = self.space, Choice(batch=batch, optimization_level=self.space.levels[0])
        uniform = [name for name in space.weights if name in WEIGHTS]
        stages: list[tuple[str, Sequence[Any]]] = [
            ("optimization_level", space.levels),
            ("enable_trace", space.traces),
            ("weights", uniform),
            ("math_fidelity", space.fidelities),
        ]
        for name, values in stages:
            best = self._better(best, self._try([replace(best, **{name: value}) for value in values]))
        return best

    def _grid(self, batch: int) -> Choice:
        space = self.space
        uniform = [name for name in space.weights if name in WEIGHTS]
        combinations = product(space.levels, space.traces, uniform, space.fidelities)
        outcomes = self._try([Choice(*values, batch=batch) for values in combinations])
        return self._better(outcomes[0].choice, outcomes)

    def _better(self, best: Choice, outcomes: Sequence[Outcome]) -> Choice:
        """Returns the best choice of the outcomes and the best one so far."""
        chosen = self.best([*outcomes, *filter(None, [self.outcomes.get(best)])])
        return chosen.choice if chosen else best

    def _mixed(self, best: Choice, reference: Outcome) -> Choice:
        """Tries bfp8 weights with as many of them in bfp4 as accuracy allows, starting with the least sensitive."""
        groups = groups_of(reference.weights, self.space.mixed_groups)
        all_bfp4 = self.outcomes.get(replace(best, weights="bfp4"))
        if not groups or (all_bfp4 is not None and not all_bfp4.error and self._accurate(all_bfp4)):
            return best
        start = replace(best, weights=MIXED)
        single_groups = self._try([replace(start, overrides=_overrides(group)) for group in groups])
        comparable = [outcome for outcome in single_groups if not outcome.error and self._accuracy(outcome) is not None]
        by_overrides = {outcome.choice.overrides: outcome for outcome in comparable}
        compared = [group for group in groups if _overrides(group) in by_overrides]
        ranked = sorted(compared, key=lambda group: -(self._accuracy(by_overrides[_overrides(group)]) or 0.0))
        low, high, outcomes = 0, len(ranked), list(single_groups)
        while low < high:  # bisects for the greatest number of groups that is accurate enough
            middle = (low + high + 1) // 2
            names = [name for group in ranked[:middle] for name in group]
            (outcome,) = self._try([replace(start, overrides=_overrides(names))])
            outcomes.append(outcome)
            low, high = (middle, high) if not outcome.error and self._accurate(outcome) else (low, middle - 1)
        return self._better(best, outcomes)

    def _batches(self, best: Choice) -> None:
        """Tries larger batches until throughput stops growing or memory runs out.

        Larger batches have other inputs than the reference, so they take the correlation of the first batch.
        """
        before = self.outcomes.get(best)
        for batch in self.space.batches[1:]:
            (outcome,) = self._try([replace(best, batch=batch)])
            if outcome.error:
                return
            if outcome.pcc is None and before is not None and before.pcc is not None:
                outcome = replace(outcome, pcc=before.pcc)
                self._save(outcome)
            if before is not None and outcome.throughput < PLATEAU * before.throughput:
                return
            before = outcome

    # Running trials and saving their outcomes

    def _try(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Returns the outcomes of choices in their order, and runs the trials that have no outcome yet."""
        distinct = list(dict.fromkeys(choices))
        self._asked |= dict.fromkeys(distinct)
        missing = [choice for choice in distinct if choice not in self.outcomes]
        if missing:
            self.progress(len(missing), "")
        for outcome in self.run_all([self.spec(choice) for choice in missing]):
            self._save(outcome)
            figure = "failed" if outcome.error else f"{outcome.step_ms:.4g} ms a step"
            self.progress(0, f"{outcome.choice.label}: {figure}")
        return [self.outcomes[choice] for choice in distinct]

    def spec(self, choice: Choice) -> Spec:
        """Returns the trial of a choice."""
        results = str((self.folder / REFERENCE_NAME).resolve())
        program = str(Path(self.program).resolve())
        return Spec(choice, program, self.arguments, self.batch_argument, self.space.metric, results)

    @cached_property
    def _log(self) -> TrialLog[Outcome]:
        facts = (self.arguments, self.batch_argument, self.space.metric)
        return TrialLog(self.folder / TRIALS_NAME, Outcome, self.program, facts)

    def _save(self, outcome: Outcome) -> None:
        self.outcomes[outcome.choice] = outcome
        if outcome.choice.reference:
            if outcome.error:  # the next search tries again, as the user mends what is wrong
                return
            self._log.sources = outcome.sources
        self._log.add(outcome)


def groups_of(weights: Sequence[tuple[str, int]], limit: int) -> list[list[str]]:
    """Splits weights into at most ``limit`` groups of neighbours with about the same number of elements.

    A weight is given by its name and its number of elements, and a group by the names of its weights.
    """
    if not weights:
        return []
    total, groups, elements_before = sum(size for _, size in weights), [], 0
    if len(weights) <= limit:
        return [[name] for name, _ in weights]
    for name, size in weights:
        group_index = min(int(limit * elements_before / total), limit - 1)
        while len(groups) <= group_index:
            groups.append([])
        groups[-1].append(name)
        elements_before += size
    return [group for group in groups if group]


def _overrides(names: Iterable[str]) -> str:
    """Returns the option ``experimental_weight_dtype_overrides`` that puts weights into bfp4."""
    return ",".join(f"{name}=bfp_bf4" for name in sorted(names))
