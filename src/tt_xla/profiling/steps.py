"""The steps of a loop, found in a recording of a script that nobody edited.

A training step ends where ``optimizer.step()`` ends, or, in lazy execution, where the ops that it recorded have run. A
step without an optimizer of torch (inference, all of JAX) begins where the outermost compiled call begins: the runs of
the program that takes most of the device's time.
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
    """Times are nanoseconds of the host's clock."""

    number: int
    start: int
    end: int
    compiles: bool
    """Whether something was compiled, bound or captured in it, which later steps do not do again."""

    @property
    def name(self) -> str:
        """The signposts' name of it: ``step_compile`` or ``step_steady_2``."""
        return "step_compile" if self.compiles else f"step_steady_{self.number}"


def find_steps(recording: Recording) -> list[Step]:
    """All steps, in order.

    Raises:
        EmptyRecordingError: the script ran nothing on the device, or never stepped.
    """
    if not recording.runs:
        raise EmptyRecordingError(
            "The script ran nothing on the device. Compile its model with backend='tt', or move its tensors there."
        )
    marks = _optimizer_marks(recording) or _run_marks(recording)
    if len(marks) < 2:
        raise EmptyRecordingError(
            f"The script never stepped: it ran {len(recording.runs)} programs, none of them in a loop, and no "
            "optimizer made a second step. Give a script that trains or infers several times."
        )
    busy = _compiling(recording)
    spans = itertools.pairwise(marks)
    return [Step(number, start, end, _overlaps(busy, start, end)) for number, (start, end) in enumerate(spans)]


def steady(steps: list[Step], count: int | None = None) -> list[Step]:
    """The steps after the last one that compiles, ``count`` of them at most, the last ones.

    Raises:
        EmptyRecordingError: every step compiles.
    """
    last = max((number for number, step in enumerate(steps) if step.compiles), default=-1)
    found = steps[last + 1 :] or [step for step in steps if not step.compiles]
    if not found:
        raise EmptyRecordingError(
            f"All {len(steps)} steps compiled programs, so none is steady. Do shapes change from step to step, or does "
            "the script clear a cache (xr.clear_computation_cache)? If not, let it run for more steps."
        )
    return found[-count:] if count else found


def _optimizer_marks(recording: Recording) -> list[int]:
    """Ends of optimizer steps; of one before which nothing ran, as in lazy execution, the end of the run that follows.

    The first step begins with the recording. A last step that never ran is left out.
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
    """Starts of the runs of the program with the most device time. The last one's step ends nowhere, and is left out
    unless there are but two."""
    count = Counter(run.program for run in recording.runs)
    repeated = {program: times for program, times in count.items() if times > 1}
    if not repeated:
        return []
    main = max(repeated, key=lambda number: repeated[number] * recording.programs[number].program.predicted_device_us)
    runs = [run for run in recording.runs if run.program == main]
    starts = [run.start for run in runs]
    return starts if len(starts) > 2 else [*starts, runs[-1].end]


def _compiling(recording: Recording) -> list[tuple[int, int]]:
    """When something was compiled or run for the first time, in order."""
    spans = [(each.started, each.ended or each.started) for each in recording.compilations]
    spans += [(run.start, run.end) for run in recording.runs if recording.is_first(run)]
    return sorted(spans)


def _overlaps(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a span begins in [start, end)."""
    first = bisect.bisect_left(spans, (start, 0))
    return first < len(spans) and spans[first][0] < end


class Enough:
    """Tells when a recording has ``count`` steady steps; what :func:`tt_xla.profiling.recording.recorded` asks.

    Without an optimizer of torch's in the process, runs count. Where there is one, only its steps do.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._optimizer: bool | None = None

    def __call__(self, recording: Recording) -> bool:
        optimizer = bool(recording.optimizer_steps)
        most = max(Counter(run.program for run in recording.runs[-4 * self._count - 8 :]).values(), default=0)
        if (len(recording.optimizer_steps) if optimizer else most) <= self._count:
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
