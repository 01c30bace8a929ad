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
from tt_xla.profiling.recording import Recording, has_optimizer


@dataclass(frozen=True)
class Step:
    """One step of a loop. Times are nanoseconds of the host's clock."""

    number: int
    start: int
    end: int
    compiles: bool
    """Whether the step compiled programs, bound kernels or captured traces, which later steps do not repeat."""

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
    busy = _compiling(recording)
    spans = itertools.pairwise(marks)
    return [Step(number, start, end, _overlaps(busy, start, end)) for number, (start, end) in enumerate(spans)]


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
    repeated = {program: times for program, times in count.items() if times > 1}
    if not repeated:
        return []
    main = max(repeated, key=lambda number: repeated[number] * recording.programs[number].program.predicted_device_us)
    runs = [run for run in recording.runs if run.program == main]
    starts = [run.start for run in runs]
    return starts if len(starts) > 2 else [*starts, runs[-1].end]


def _compiling(recording: Recording) -> list[tuple[int, int]]:
    """Returns the times of compilations and first runs, in order."""
    spans = [(compilation.started, compilation.ended or compilation.started) for compilation in recording.compilations]
    spans += [(run.start, run.end) for run in recording.runs if recording.is_first(run)]
    return sorted(spans)


def _overlaps(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Returns whether one of the sorted spans begins in [start, end)."""
    first = bisect.bisect_left(spans, (start, 0))
    return first < len(spans) and spans[first][0] < end


class Enough:
    """Returns true once a recording has ``count`` steady steps; see :func:`tt_xla.profiling.observing.recorded`.

    If the process has an optimizer of torch, only its steps count; otherwise runs count.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._optimizer: bool | None = None

    def __call__(self, recording: Recording) -> bool:
        optimizer = bool(recording.optimizer_steps)
        most_runs = max(Counter(run.program for run in recording.runs[-4 * self._count - 8 :]).values(), default=0)
        if (len(recording.optimizer_steps) if optimizer else most_runs) <= self._count:
            return False
        if not optimizer:
            if self._optimizer is None:
                self._optimizer = has_optimizer()
            if self._optimizer:
                return False
        try:
            return len(steady(find_steps(recording))) >= self._count
        except EmptyRecordingError:
            return False
