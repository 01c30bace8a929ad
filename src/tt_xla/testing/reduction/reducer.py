"""Makes a failing program small: leaves out parts of it as long as the rest fails in the same way."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.testing.reduction import edits
from tt_xla.testing.reduction.failures import Failure, Outcome
from tt_xla.testing.reduction.graphs import Graph, count_ops, smallest
from tt_xla.testing.reduction.processes import Lost, Processes
from tt_xla.testing.reduction.trials import Program, Reference, Trial

FIRST_LIMIT_S = 30.0
"""Time limit of the first trial in seconds, unless the user sets one."""

_LEAST_LIMIT_S = 5.0
_TIMES_FIRST = 4.0
"""Later trials may take this many times as long as the first one, and at least :data:`_LEAST_LIMIT_S`."""

_HANG_S, _HANG_S_PER_OP = 2.0, 0.02
"""A program of n ops that takes more than ``_HANG_S + n * _HANG_S_PER_OP`` seconds hangs, if the first one did."""

_ROUNDS = 6
"""Number of times that all edits are tried at most; each round begins with what the one before has left."""

_STRUCTURE: tuple[tuple[str, edits.Edit], ...] = (
    ("loops and branches", edits.without_control_flow),
    ("values that loops carry", edits.without_carried_values),
    ("operands for results", edits.with_operands_for_results),
    ("shapes of constants", edits.with_folded_constants),
)
_PLAIN: tuple[tuple[str, edits.Edit], ...] = (
    ("sizes", edits.with_smaller_sizes),
    ("constants", edits.with_plain_constants),
    ("arguments", edits.with_fewer_arguments),
    ("element types", edits.with_plain_types),
    ("elements of arguments", edits.with_plain_inputs),
)


@dataclass
class Reduction:
    """A program that fails, and what has been left of it.

    Attributes:
        program: the smallest program so far that fails as the first one.
        outcome: how it ended.
        first: how the first program ended.
        failure: the failure that is kept.
        options: compile options.
        ops_before: number of ops of the first program.
        trials: number of programs that were tried.
        seconds: duration so far.
        step: what is being left out at the moment; empty at the end.
        ended: why the reduction ended early; empty if nothing more can be left out.
        limit: time limit of the smallest program in seconds.
        lines: the user's source lines of the smallest program's ops, as far as it knows them.
    """

    program: Program
    outcome: Outcome
    first: Outcome
    failure: Failure
    options: CompileOptions
    ops_before: int
    trials: int = 0
    seconds: float = 0.0
    step: str = ""
    ended: str = ""
    limit: float = FIRST_LIMIT_S
    lines: Sequence[str] = ()

    @property
    def ops(self) -> int:
        """The number of ops of the smallest program so far."""
        return count_ops(self.program.text)


class OutOfTime(Exception):
    """The time for a reduction is over."""


@dataclass
class TrialRunner:
    """Tries programs in child processes.

    Attributes:
        processes: the processes.
        options: compile options.
        limit: time limit of a trial in seconds.
        own_limit: whether the user has set the limit, so that it does not depend on the program.
    """

    processes: Processes
    options: CompileOptions
    limit: float = FIRST_LIMIT_S
    own_limit: bool = False
    trials: int = field(default=0, init=False)

    def outcome(self, program: Program, failure: Failure, limit: float | None = None) -> Outcome:
        """Runs a program, and returns how it ended."""
        self.trials += 1
        limit = limit or self.limit
        try:
            return self.processes.run(Trial(program, self.options, failure.compares), limit)
        except Lost as lost:
            outcome = lost.outcome
            if lost.stage != "card":
                return Outcome("unknown", f"outside of the card, {outcome.text}")
        if outcome.ending == "hang" and failure.hangs and self.values(program, 2 * limit) is None:
            return Outcome("unknown", "XLA on the CPU does not end either")
        return outcome

    def values(self, program: Program, limit: float | None = None) -> Sequence[Any] | None:
        """Returns the results of a program by XLA on the CPU, or None if there are none."""
        try:
            return self.processes.run(Reference(program), limit or max(self.limit, FIRST_LIMIT_S))
        except Lost:
            return None

    def adapt(self, first: Outcome) -> None:
        """Sets the limit of later trials by the first one, unless the user has set it."""
        if not self.own_limit and first.ending != "hang":
            self.limit = max(_LEAST_LIMIT_S, _TIMES_FIRST * (first.compile_s + first.run_s))


class Reducer:
    """Reduces a program whose first outcome is known.

    Args:
        reduction: the program, which is replaced by smaller ones.
        runner: runs programs.
        deadline: time of :func:`time.monotonic` at which the reduction ends.
        progress: called with the reduction before each trial.
    """

    def __init__(
        self, reduction: Reduction, runner: TrialRunner, deadline: float, progress: Callable[[Reduction], None]
    ) -> None:
        self.reduction = reduction
        self._runner, self._deadline, self._progress = runner, deadline, progress
        self._started = time.monotonic()
        self._tried: dict[bytes, bool] = {}

    def run(self) -> None:
        """Makes the program smaller until nothing more can be left out or the time is over."""
        try:
            for _ in range(_ROUNDS):
                before = self.reduction.program
                self._shrink()
                if self.reduction.program is before:
                    break
            self.reduction.step = ""
        except OutOfTime:
            self.reduction.ended = "the time for it is over"

    def _shrink(self) -> None:
        """Tries all edits once."""
        self._cut_ops()
        for step, edit in _STRUCTURE:
            if self._apply(step, edit):
                self._cut_ops()
        self._cut_nested_ops()
        for step, edit in _PLAIN:
            self._apply(step, edit)

    def _cut_ops(self) -> None:
        """Leaves out results, and ops whose results become arguments, until each op and each result is needed."""
        self.reduction.step = "ops and results"
        graph = self._graph()
        if graph is None or not graph.ops:
            return
        whole = graph.keeping(graph.ops, graph.returned)
        if whole is None or not self._accepts(whole):
            return
        graph.learn(self._runner.values)
        ops = smallest(graph.ops, lambda kept: self._accepts(graph.keeping(kept)))
        smallest(graph.results_of(ops), lambda kept: self._accepts(graph.keeping(graph.needed(ops, kept), kept)))
        smaller = self._graph()
        if smaller is not None and smaller.lines:
            self.reduction.lines = smaller.lines

    def _cut_nested_ops(self) -> None:
        """Leaves out ops in the regions of other ops."""
        self.reduction.step = "ops in regions"
        program = self.reduction.program
        positions = list(range(edits.nested_ops(program)))
        if positions and not self._accepts(edits.keeping_nested(program, [])):
            smallest(positions, lambda kept: self._accepts(edits.keeping_nested(program, kept)))

    def _apply(self, step: str, edit: edits.Edit) -> bool:
        """Applies an edit as often as it leaves a failing program. Returns whether it did.

        Programs that were tried are not tried again, so that edits do not go in circles.
        """
        self.reduction.step = step
        changed = False
        while any(_key(each) not in self._tried and self._accepts(each) for each in edit(self.reduction.program)):
            changed = True
        return changed

    def _graph(self) -> Graph | None:
        try:
            return Graph(self.reduction.program)
        except TTXLAError:
            return None

    def _accepts(self, program: Program | None) -> bool:
        """Returns whether a program fails as the first one; if so, it is the smallest one from now on."""
        if program is None:
            return False
        key = _key(program)
        if key not in self._tried:
            self._tried[key] = self._try(program)
        return self._tried[key]

    def _try(self, program: Program) -> bool:
        reduction = self.reduction
        reduction.trials, reduction.seconds = self._runner.trials, time.monotonic() - self._started
        if time.monotonic() > self._deadline:
            raise OutOfTime
        self._progress(reduction)
        limit = self._limit(program)
        outcome = self._runner.outcome(program, reduction.failure, limit)
        fails = reduction.failure.shown_by(outcome)
        if fails:
            reduction.program, reduction.outcome, reduction.limit = program, outcome, limit
        reduction.trials, reduction.seconds = self._runner.trials, time.monotonic() - self._started
        return fails

    def _limit(self, program: Program) -> float:
        """Returns the time limit of a program: where the first one hangs, a smaller one need not hang as long."""
        limit = self._runner.limit
        if self._runner.own_limit or self.reduction.first.ending != "hang":
            return limit
        return min(limit, _HANG_S + _HANG_S_PER_OP * count_ops(program.text))


def _key(program: Program) -> bytes:
    digest = hashlib.blake2b(program.text.encode())
    for array in program.inputs:
        digest.update(array.tobytes())
    return digest.digest()
