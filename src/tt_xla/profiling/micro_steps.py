"""Finds the forward and backward passes of a training step, which has several of them with gradient accumulation.

A micro-step begins with the first run after the backward pass before it and ends with its own backward pass. An
optimizer that is not compiled runs when the next forward pass needs the weights; that run is left out. Where the model
is not compiled either, nothing runs until the script reads a result or calls ``torch_xla.sync``. The micro-step then
ends with that run, which holds both passes.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from tt_xla.profiling.recording import Recording
from tt_xla.profiling.steps import Step


@dataclass(frozen=True)
class MicroStep:
    """A forward pass and its backward pass. Times are nanoseconds of the host's clock."""

    name: str
    """Name in signposts, such as ``step_steady_2_micro_1``."""
    start: int
    end: int
    backward: int | None
    """Start of the backward pass; None where one run holds both passes."""


def find_micro_steps(recording: Recording, steps: Sequence[Step]) -> list[MicroStep]:
    """Returns the micro-steps of the steps, in order; none for a script without backward passes."""
    starts = [run.start for run in recording.runs]
    return [micro_step for step in steps for micro_step in _of_step(recording, step, starts)]


def _of_step(recording: Recording, step: Step, starts: Sequence[int]) -> list[MicroStep]:
    passes = [span for span in recording.backwards if step.start <= span[0] < step.end]
    found: list[MicroStep] = []
    previous = step.start
    for number, (backward, end) in enumerate(passes):
        following = passes[number + 1][0] if number + 1 < len(passes) else step.end
        first, turn, last, after = (bisect.bisect_left(starts, at) for at in (previous, backward, end, following))
        name = f"{step.name}_micro_{len(found) + 1}"
        if turn < last:  # the backward pass runs programs, so the runs before it are those of the forward pass
            if turn - first > 1 and not found and _is_pending(recording, step, starts):
                first += 1
            found.append(MicroStep(name, starts[first] if first < turn else previous, end, backward))
            previous = end
        elif last < after and recording.runs[last].end < step.end:  # a run that ends the step holds the optimizer too
            start = recording.runs[turn - 1].end if first < turn else previous
            previous = recording.runs[last].end
            found.append(MicroStep(name, start, previous, None))
    return found


def _is_pending(recording: Recording, step: Step, starts: Sequence[int]) -> bool:
    """Returns whether the first run of a step is the work of the optimizer step before it, which ran nothing itself."""
    before = bisect.bisect_left(recording.backwards, (step.start, 0))
    if before == 0:
        return False
    end = recording.backwards[before - 1][1]
    return bisect.bisect_left(starts, end) == bisect.bisect_left(starts, step.start)
