"""Compares a training step of the digits network in bfloat16 with eager torch: ``make bench-step``.

A step is forward, backward and SGD with momentum on batch 64, with silicon numerics. Both implementations have a
process each and take turns. The table goes into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
from pathlib import Path

import torch
from torch.nn import functional

from benchmarks.turns import Call, in_turns
from docs.tables import write_between_marks

WAYS = ("torch eager", "tt")


def timed_step(way: str) -> Call:
    """Creates the timed step of one implementation in a fresh process."""
    from examples.network import DigitsNetwork

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    os.environ.setdefault("TTXLA_EMULATOR_CHAINS", "now")  # compile fused kernels before timing starts
    place = "tt" if way == "tt" else "cpu"
    if place == "tt":
        import tt_torch  # noqa: F401
    model = DigitsNetwork().to(torch.bfloat16).train().to(place)
    images, targets = torch.randn(64, 1, 28, 28).to(torch.bfloat16).to(place), (torch.arange(64) % 10).to(place)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    compiled = functools.partial(torch.compile, backend="tt") if place == "tt" else lambda function: function
    forward, update = compiled(model), compiled(optimizer.step)

    def step() -> None:
        optimizer.zero_grad()
        functional.nll_loss(forward(images), targets).backward()
        update()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="rounds (default 30)")
    parser.add_argument("--seconds", type=float, default=0.3, help="duration of a turn, at least one step")
    parser.add_argument("--document", type=Path, help="write the table into this document")
    arguments = parser.parse_args()
    steps = {way: functools.partial(timed_step, way) for way in WAYS}
    durations = in_turns(steps, arguments.rounds, seconds=arguments.seconds)
    eager, ours = (durations[way] for way in WAYS)
    ratio = statistics.median(our / theirs for our, theirs in zip(ours, eager, strict=True))
    lines = [
        "| implementation | median, ms | minimum, ms | ratio to eager, median of the rounds |",
        "|---|---|---|---|",
    ]
    for way, times, beside in zip(WAYS, (eager, ours), (1.0, ratio), strict=True):
        lines.append(f"| {way} | {statistics.median(times) * 1e3:.1f} | {min(times) * 1e3:.1f} | {beside:.2f} x |")
    print(*lines, sep="\n")
    if arguments.document:
        write_between_marks(arguments.document, "step", "\n".join(lines))


if __name__ == "__main__":
    main()
