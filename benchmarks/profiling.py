"""Measures what recording adds to emulated runs and writes docs/benchmarks.md: ``make bench-profiling``.

A program is loaded twice, once recorded as by the profiler. Both take turns, so that other load affects them equally;
the figure is the median of the ratios of pairs. Everything around a run (dynamo, arguments, results) is left out, so a
whole script slows down less.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from benchmarks.calls import Block
from docs.tables import write_between_marks
from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.ir.program import Program
from tt_xla.profiling.recording import Recorder
from tt_xla.runtime import get_device
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.observed import ObservedExecutable


def digits() -> nn.Module:
    layers = nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(32 * 144, 10))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "transformer block of width 32, 2 x 8 x 32": (Block, (2, 8, 32)),
    "encoder layer of width 128, 8 x 64 x 128": (
        lambda: nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True),
        (8, 64, 128),
    ),
    "convolutions of digits, 32 x 1 x 28 x 28": (digits, (32, 1, 28, 28)),
}


def programs_of(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> Program:
    """Compiles a model's forward pass and returns its Program."""
    torch.manual_seed(0)
    compiled = torch.compile(make().train().to("tt"), backend="tt")
    with torch.no_grad():
        compiled(torch.randn(shape).to("tt")).cpu()
    return compiled_programs()[-1]


def measure(program: Program, rounds: int) -> tuple[int, float, float]:
    """Returns the kernel calls per run, median microseconds of a plain run, and median ratio of recorded to plain."""
    recorder = Recorder()
    device = get_device()
    ways = device.load(program), ObservedExecutable(device, program, recorder)
    arguments = [torch.ones(each.shape).to(DECLARED[each.dtype]) for each in program.arguments]
    versions = list(range(10**9, 10**9 + len(arguments)))
    pairs: list[list[float]] = []
    for turn in range(rounds + 4):
        pair = [0.0, 0.0]
        for number in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            ways[number].run(arguments, versions)
            pair[number] = (time.perf_counter() - start) * 1e6
        pairs.append(pair)
    pairs = pairs[4:]
    run = recorder.recording.runs[-1]
    ratio = statistics.median(recorded / plain for plain, recorded in pairs)
    return run.last - run.first, statistics.median(plain for plain, _ in pairs), ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--document", type=Path, help="write the table between the marks of this file")
    arguments = parser.parse_args()
    lines = ["| model | kernels | us per run | recording adds |", "|---|---:|---:|---:|"]
    for name, (make, shape) in MODELS.items():
        kernels, plain, ratio = measure(programs_of(make, shape), arguments.rounds)
        lines.append(f"| {name} | {kernels} | {plain:.0f} | {100 * (ratio - 1):.1f} % |")
        print(lines[-1])
    if arguments.document:
        write_between_marks(arguments.document, "profiling", "\n".join(lines))


if __name__ == "__main__":
    main()
