"""A call of a tiny compiled model beside torch's own compiler, into docs/benchmarks.md: ``make bench-calls``.

The ways take turns: each round times some calls of every one of them, so that what else the machine does meets all
alike. Ratios are of the medians over the rounds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
from documents import write_between_marks
from torch import nn

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "inductor": ("cpu", {"backend": "inductor"}),
    "tt": ("tt", {"backend": "tt"}),
    "tt, tensors on the CPU": ("cpu", {"backend": "tt"}),
    "tt, trace": ("tt", {"backend": "tt", "options": {"enable_trace": True}}),
}


class Block(nn.Module):
    """A transformer block of width 32 with 2 heads."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, 2, 16)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "Linear, 4 x 16": (lambda: nn.Linear(16, 16), (4, 16)),
    "Linear-ReLU-Linear, 4 x 16": (lambda: nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16)), (4, 16)),
    "Conv-ReLU-Pool-Linear, 2 x 1 x 12 x 12": (
        lambda: nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
        (2, 1, 12, 12),
    ),
    "transformer block, 2 x 8 x 32": (Block, (2, 8, 32)),
}


def serve(pipe: Connection, name: str, dtype: torch.dtype, grad: bool, way: str) -> None:
    """In a process of its own, where dynamo has this one model: times as many calls as the pipe says, until it ends.

    The model has to give what it gives uncompiled.
    """
    warnings.simplefilter("ignore")
    import tt_torch  # noqa: F401

    make, shape = MODELS[name]
    torch.manual_seed(0)
    model, x = make().eval().to(dtype), torch.randn(shape).to(dtype)
    expected = model(x).detach()
    place, options = WAYS[way]
    function, x = torch.compile(model.to(place), **options), x.to(place)
    with torch.set_grad_enabled(grad):
        for _ in range(200):
            output = function(x)
        torch.testing.assert_close(output.detach().cpu(), expected, rtol=0.05, atol=0.05)
        pipe.send(0.0)
        while number := pipe.recv():
            start = time.perf_counter()
            for _ in range(number):
                function(x)
            pipe.send((time.perf_counter() - start) / number * 1e6)


def times(name: str, dtype: torch.dtype, grad: bool, ways: list[str], rounds: int, number: int) -> list[float]:
    """Median microseconds of a call in each way."""
    context = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    processes: list[BaseProcess] = []
    for way in ways:
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=serve, args=(theirs, name, dtype, grad, way), daemon=True))
        processes[-1].start()
        theirs.close()
        ours.recv()
        pipes.append(ours)
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for pipe, found in zip(pipes, taken, strict=True):
            pipe.send(number)
            found.append(pipe.recv())
    for pipe, process in zip(pipes, processes, strict=True):
        pipe.send(0)
        process.join()
    return [statistics.median(found) for found in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="rounds (default 200)")
    parser.add_argument("--number", type=int, default=50, help="calls of each way in a round (default 50)")
    parser.add_argument("--model", default="", help="only models whose name contains this")
    parser.add_argument("--grad", action="store_true", help="forward passes of training, instead of inference")
    parser.add_argument("--ways", nargs="+", default=[*WAYS], choices=[*WAYS])
    parser.add_argument("--document", type=Path, help="write the table into this document")
    arguments = parser.parse_args()
    ways = arguments.ways
    lines = [f"| model | type | {' | '.join(ways)} |", f"|---|---|{'---|' * len(ways)}"]
    print(*lines, sep="\n")
    for name in (name for name in MODELS if arguments.model in name):
        for dtype in (torch.bfloat16, torch.float32):
            found = times(name, dtype, arguments.grad, ways, arguments.rounds, arguments.number)
            cells = [f"{taken:.0f} us, {taken / found[0]:.2f} x" for taken in found]
            lines.append(f"| {name} | {str(dtype).removeprefix('torch.')} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if arguments.document:
        write_between_marks(arguments.document, "calls", "\n".join(lines))


if __name__ == "__main__":
    main()
