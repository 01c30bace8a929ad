"""Which choices are tried: one option after another, each from the best choice so far; then larger batches.

Every outcome is written down as it comes, so a search that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from tt_xla.errors import OptionError
from tt_xla.profiling.tune.choice import MIXED, WEIGHTS, Choice, Outcome
from tt_xla.profiling.tune.executors import RunAll
from tt_xla.profiling.tune.trial import Spec

TRIALS_NAME = "trials.jsonl"
REFERENCE_NAME = "reference.pt"

PLATEAU = 1.05
"""A larger batch that gives less than this times the throughput is the last one tried."""


@dataclass(frozen=True)
class Space:
    """What is swept."""

    levels: tuple[int, ...] = (0, 1, 2)
    traces: tuple[bool, ...] = (False, True)
    weights: tuple[str, ...] = (*WEIGHTS, MIXED)
    fidelities: tuple[str, ...] = ("", "hifi2", "lofi")
    batches: tuple[int, ...] = ()
    """In rising order; empty keeps the script's own."""
    pcc: float = 0.99
    """The least correlation of a choice that may be chosen, and of mixed weights."""
    metric: str = ""
    """A metric that the script reports; then it stands for accuracy in the place of the correlation."""
    mixed_groups: int = 8
    """So many groups of weights are tried one by one to find the sensitive ones."""
    grid: bool = False
    """Try every combination at the first batch, not one option after another."""


@dataclass
class Search:
    """A search of one program.

    Args:
        progress: told of each outcome, and of the number of trials known to come.
    """

    program: str
    arguments: tuple[str, ...]
    space: Space
    folder: Path
    run_all: RunAll
    batch_argument: str = "--batch-size"
    progress: Callable[[Outcome | None, int], None] = lambda outcome, coming: None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """By choice; also those of searches before this one in the same folder."""
    _asked: dict[str, None] = field(default_factory=dict)

    def run(self) -> list[Outcome]:
        """The outcomes of all choices that this search came to.

        Raises:
            OptionError: the folder holds trials of another program, or the reference cannot run.
        """
        self._resume()
        first = self.space.batches[0] if self.space.batches else 0
        (reference,) = self._try([Choice(batch=first, reference=True)])
        if reference.error:
            raise OptionError(f"'{self.program}' does not run: {reference.error}.", hint="Run it by itself first.")
        best = self._grid(first) if self.space.grid else self._one_by_one(first)
        if MIXED in self.space.weights:
            best = self._mixed(best, reference)
        self._batches(best)
        return [self.outcomes[key] for key in self._asked]

    def best(self, outcomes: Iterable[Outcome]) -> Outcome | None:
        """The fastest one that is accurate enough."""
        good = [each for each in outcomes if not each.error and not each.choice.reference and self._accurate(each)]
        return max(good, key=lambda each: (round(each.throughput, 3), each.pcc or 0.0), default=None)

    def _accurate(self, outcome: Outcome) -> bool:
        """Where results cannot be compared, nothing is known against a choice that changes no numbers."""
        if outcome.pcc is None:
            return outcome.choice.weights == "bf16" and not outcome.choice.math_fidelity
        return outcome.pcc >= self.space.pcc

    # What is tried

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
            found = self._try([replace(best, **{name: value}) for value in values])
            best = self._better(best, found)
        return best

    def _grid(self, batch: int) -> Choice:
        space = self.space
        uniform = [name for name in space.weights if name in WEIGHTS]
        all_of = product(space.levels, space.traces, uniform, space.fidelities)
        found = self._try([Choice(*values, batch=batch) for values in all_of])
        return self._better(found[0].choice, found)

    def _better(self, best: Choice, found: Sequence[Outcome]) -> Choice:
        chosen = self.best([*found, *filter(None, [self.outcomes.get(best.key)])])
        return chosen.choice if chosen else best

    def _mixed(self, best: Choice, reference: Outcome) -> Choice:
        """bfp8 weights, and of these as many in bfp4 as the budget allows: those first that cost least accuracy."""
        groups = _groups(reference.weights, self.space.mixed_groups)
        everything = self.outcomes.get(replace(best, weights="bfp4").key)
        if not groups or (everything is not None and not everything.error and self._accurate(everything)):
            return best
        start = replace(best, weights=MIXED)
        alone = self._try([replace(start, overrides=_overrides(group)) for group in groups])
        by_overrides = {each.choice.overrides: each for each in alone if not each.error and each.pcc is not None}
        known = [group for group in groups if _overrides(group) in by_overrides]
        ranked = sorted(known, key=lambda group: -(by_overrides[_overrides(group)].pcc or 0.0))
        low, high, found = 0, len(ranked), list(alone)
        while low < high:  # the largest number of groups that keeps the budget
            middle = (low + high + 1) // 2
            names = [name for group in ranked[:middle] for name in group]
            (outcome,) = self._try([replace(start, overrides=_overrides(names))])
            found.append(outcome)
            low, high = (middle, high) if not outcome.error and self._accurate(outcome) else (low, middle - 1)
        return self._better(best, found)

    def _batches(self, best: Choice) -> None:
        """Larger batches, until throughput plateaus or memory runs out. Their results are those of other inputs than
        the reference's, so the correlation is taken from the first batch."""
        before = self.outcomes.get(best.key)
        for batch in self.space.batches[1:]:
            (outcome,) = self._try([replace(best, batch=batch)])
            if outcome.error:
                return
            if outcome.pcc is None and before is not None and before.pcc is not None:
                outcome = replace(outcome, pcc=before.pcc)
                self._keep(outcome)
            if before is not None and outcome.throughput < PLATEAU * before.throughput:
                return
            before = outcome

    # Running and keeping

    def _try(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Outcomes of choices, in their order; those that are known already are not run again."""
        wanted = list(dict.fromkeys(choices))
        self._asked |= dict.fromkeys(choice.key for choice in wanted)
        missing = [choice for choice in wanted if choice.key not in self.outcomes]
        self.progress(None, len(missing))
        for outcome in self.run_all([self._spec(choice) for choice in missing]):
            self._keep(outcome)
            self.progress(outcome, 0)
        return [self.outcomes[choice.key] for choice in wanted]

    def _spec(self, choice: Choice) -> Spec:
        results = str((self.folder / REFERENCE_NAME).resolve())
        program = str(Path(self.program).resolve())
        return Spec(choice, program, self.arguments, self.batch_argument, self.space.metric, results)

    def _header(self) -> dict[str, Any]:
        """What trials depend on besides their choice."""
        path = Path(self.program)
        changed = path.stat().st_mtime_ns if path.is_file() else 0
        return {"program": str(path.resolve()), "changed": changed, "arguments": list(self.arguments)}

    def _resume(self) -> None:
        path = self.folder / TRIALS_NAME
        lines = list(_records(path)) if path.is_file() else []
        if lines and lines[0] == self._header():
            for record in lines[1:]:
                outcome = Outcome.from_dict(record)
                self.outcomes[outcome.choice.key] = outcome
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))  # without one that was cut off
        elif lines and lines[0].get("program") != self._header()["program"]:
            raise OptionError(
                f"'{path}' has the trials of {lines[0].get('program')}.",
                hint="Give another folder with -o, or delete it.",
            )
        else:  # nothing is there, or the program has changed since
            path.write_text(json.dumps(self._header()) + "\n")

    def _keep(self, outcome: Outcome) -> None:
        self.outcomes[outcome.choice.key] = outcome
        with (self.folder / TRIALS_NAME).open("a") as file:
            file.write(json.dumps(outcome.as_dict()) + "\n")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Lines of a file of trials; one that was cut off is left out."""
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _groups(weights: Sequence[tuple[str, int]], most: int) -> list[list[str]]:
    """Names of weights in ``most`` groups at most, neighbours together, each of about the same number of elements."""
    if not weights:
        return []
    total, groups, taken = sum(size for _, size in weights), [], 0
    if len(weights) <= most:
        return [[name] for name, _ in weights]
    for name, size in weights:
        wanted = min(int(most * taken / total), most - 1)
        while len(groups) <= wanted:
            groups.append([])
        groups[-1].append(name)
        taken += size
    return [group for group in groups if group]


def _overrides(names: Iterable[str]) -> str:
    return ",".join(f"{name}=bfp_bf4" for name in sorted(names))
