"""Finds the steps of a loop in the recording of an unchanged script.

A training step ends with ``optimizer.step()`` or, in lazy execution, with the run of the ops that the step recorded.
Without an optimizer of torch, as in inference and in JAX, a step begins with each run of the program that takes most of
the device's time.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from dataclasses import dataclass

from tt_xla.errors import EmptyRecordingError
from tt_xla.profiling.recording import Recording


@dataclass(frozen=True)
class Step:
    """One step of a loop. Times are nanoseconds of the host's clock."""

    number: int
    start: int
    end: int
    compiles: bool
    """Whether the step traced, compiled or loaded programs or captured traces, which later steps do not repeat."""

    @property
    def name(self) -> str:
        """Name in signposts: ``step_compile``, or ``step_steady_2`` for the step with number 2."""
        return "step_compile" if self.compiles else f"step_steady_{self.number}"


def find_steps(recording: Recording) -> list[Step]:
    """Returns all steps in order.

    Raises:
        EmptyRecordingError: The script ran nothing on the device, or has no loop.
    """
    if not recording.runs:
        raise EmptyRecordingError(
            "The script ran nothing on the device. Compile its model with backend='tt', or move its tensors there."
        )
    marks = _optimizer_marks(recording) or _run_marks(recording)
    if len(marks) < 2:
        raise EmptyRecordingError(
            f"The script has no steps: it ran {len(recording.runs)} programs, none of them in a loop, and no "
            "optimizer made a second step. Give a script that trains or infers several times."
        )
    compiling = _compiling(recording)
    spans = itertools.pairwise(marks)
    return [Step(number, start, end, _overlaps(compiling, start, end)) for number, (start, end) in enumerate(spans)]


def steady(steps: list[Step], count: int | None = None) -> list[Step]:
    """Returns the last steps, ``count`` at most, of those after the last step that compiles.

    If the last step compiles, all steps that do not compile count as steady.

    Raises:
        EmptyRecordingError: Every step compiles.
    """
    last = max((number for number, step in enumerate(steps) if step.compiles), default=-1)
    steady_steps = steps[last + 1 :] or [step for step in steps if not step.compiles]
    if not steady_steps:
        raise EmptyRecordingError(
            f"All {len(steps)} steps compiled programs, so none is steady. Do shapes change from step to step, or does "
            "the script clear a cache (xr.clear_computation_cache)? If not, let it run for more steps."
        )
    return steady_steps[-count:] if count else steady_steps


def _optimizer_marks(recording: Recording) -> list[int]:
    """Returns the start of the recording and the end of each optimizer step.

    If nothing ran before an optimizer step, as in lazy execution, the step ends with the run after it. A last step
    that never ran is left out.
    """
    ends = recording.optimizer_steps
    if len(ends) < 2:
        return []
    starts = [run.start for run in recording.runs]
    marks = [recording.started]
    for end, following in itertools.pairwise([*ends, recording.ended or math.inf]):
        before, after = bisect.bisect_left(starts, marks[-1]), bisect.bisect_left(starts, end)
        if before < after:
            marks.append(int(end))
        elif after < len(starts) and starts[after] < following:
            marks.append(recording.runs[after].end)
    return marks


def _run_marks(recording: Recording) -> list[int]:
    """Returns the starts of the runs of the program with the most device time.

    The step of the last run has no end, so it is left out, except if there are only two runs.
    """
    count = Counter(run.program for run in recording.runs)
    repeated = [program for program, times in count.items() if times > 1]
    if not repeated:
        return []
    main = recording.longest_program(repeated)
    runs = [run for run in recording.runs if run.program == main]
    starts = [run.start for run in runs]
    return starts if len(starts) > 2 else [*starts, runs[-1].end]


def _compiling(recording: Recording) -> list[tuple[int, int]]:
    """Returns the times of tracing, compilations and first runs in order. Times that overlap are joined."""
    spans = [(each.started, each.ended) for each in recording.compilations]
    spans += recording.preparations
    spans += [(run.start, run.end) for run in recording.runs if recording.is_first(run)]
    joined: list[tuple[int, int]] = []
    for start, end in sorted((start, max(end, start + 1)) for start, end in spans):
        if joined and start <= joined[-1][1]:
            start, end = joined[-1][0], max(end, joined.pop()[1])
        joined.append((start, end))
    return joined


def _overlaps(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Returns whether one of the sorted, separate spans has a time in [start, end)."""
    after = bisect.bisect_left(spans, (end, 0))
    return after > 0 and spans[after - 1][1] > start


class Enough:
    """Returns true once a recording has ``count`` steady steps; see :func:`tt_xla.profiling.observing.recorded`.

    If the script has an optimizer of torch, only its steps count; otherwise runs count.
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def __call__(self, recording: Recording) -> bool:
        if recording.optimizers or recording.optimizer_steps:
            most_steps = len(recording.optimizer_steps)
        else:
            recent = recording.runs[-4 * self._count - 8 :]
            most_steps = max(Counter(run.program for run in recent).values(), default=0)
        if most_steps <= self._count:
            return False
        try:
            return len(steady(find_steps(recording))) >= self._count
        except EmptyRecordingError:
            return False
