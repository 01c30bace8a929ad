"""Recordings of the examples, with times that are made by hand."""

from __future__ import annotations

import functools
from dataclasses import replace

import torch

from tests.reports.programs import compiled
from tt_xla.profiling.observing import recorded
from tt_xla.profiling.recording import Recording, Run, Signpost, Zone
from tt_xla.runtime import Device
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.target import load_target

STARTED = 500_000
STARTS = [1_500_000, 2_500_000, 3_800_000, 4_900_000, 6_600_000]
"""Start of each run; steps take 1.3, 1.1 and 1.7 ms after the one that compiles."""
KERNEL_NS, CALL_NS = 10_000, 250
"""Time from kernel to kernel, and from the start of a run to its first kernel."""


@functools.cache
def recording_of(name: str) -> Recording:
    """Returns a recording of five runs."""
    program = compiled("mlp", enable_trace=True) if name == "traced" else compiled(name)
    arguments = [
        torch.ones(argument.global_shape or argument.shape, dtype=DECLARED[argument.dtype])
        for argument in program.arguments
    ]
    with recorded() as recording:
        executable = Device(load_target(program.target)).load(program)
        for _ in STARTS:
            if isinstance(executable, MeshExecutable):
                executable.run_whole(arguments)
            else:
                executable.run(arguments, [None] * len(arguments))
    return with_times(recording)


def with_times(recording: Recording) -> Recording:
    """Returns a recording with times that are made by hand: each kernel takes half of the time until the next one."""
    events, runs = list(recording.events), list[Run]()
    for run, start in zip(recording.runs, STARTS, strict=True):
        for index in range(run.first, run.last):
            begin = start + KERNEL_NS * (index - run.first) + CALL_NS
            events[index] = (events[index][0], begin, begin + KERNEL_NS // 2)
        runs.append(run._replace(start=start, end=start + KERNEL_NS * (run.last - run.first) + KERNEL_NS // 2))
    return replace(
        recording,
        started=STARTED,
        ended=STARTS[-1] + STARTED,
        events=events,
        runs=runs,
        compilations=[],
        zones=[Zone("forward", runs[0].start, runs[0].end, 1)],
    )


def short(recording: Recording) -> Recording:
    """Returns the first and the last run of a recording, with a signpost and the end of an optimizer step."""
    first, last = recording.runs[0], recording.runs[-1]
    events = [*recording.events[first.first : first.last], *recording.events[last.first : last.last]]
    runs = [first, last._replace(first=first.last, last=len(events))]
    posts = [Signpost("warm", "after the first run", first.end + 7)]
    return replace(recording, events=events, runs=runs, signposts=posts, optimizer_steps=[last.end + 9])


def trained(recording: Recording) -> Recording:
    """Returns a recording with a backward pass in each run, and the end of an optimizer step after it."""
    backwards = [(run.start + 2 * KERNEL_NS, run.end + 100) for run in recording.runs]
    return replace(recording, backwards=backwards, optimizer_steps=[end + 5_000 for _, end in backwards])
