"""Compares calls of tiny compiled models with inductor's and writes docs/benchmarks.md: ``make bench-calls``.

The implementations take turns, so that other load on the machine affects all of them equally. Ratios are those of the
medians over the rounds.
"""

from __future__ import annotations

import argparse
import functools
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.turns import Call, in_turns
from docs.tables import write_between_marks

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


def compiled_call(name: str, dtype: torch.dtype, grad: bool, way: str) -> Call:
    """Compiles one model in a fresh process, checks its result against eager torch, and returns the timed call."""
    import tt_torch  # noqa: F401

    torch.set_grad_enabled(grad)
    make, shape = MODELS[name]
    torch.manual_seed(0)
    model, x = make().eval().to(dtype), torch.randn(shape).to(dtype)
    expected = model(x).detach()
    place, options = WAYS[way]
    function, x = torch.compile(model.to(place), **options), x.to(place)
    torch.testing.assert_close(function(x).detach().cpu(), expected, rtol=0.05, atol=0.05)
    return lambda: function(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="rounds (default 200)")
    parser.add_argument("--number", type=int, default=50, help="calls of each implementation per round (default 50)")
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
            makers = {way: functools.partial(compiled_call, name, dtype, arguments.grad, way) for way in ways}
            durations = in_turns(makers, arguments.rounds, number=arguments.number, warmups=200)
            medians = [statistics.median(seconds) * 1e6 for seconds in durations.values()]
            cells = [f"{median:.0f} us, {median / medians[0]:.2f} x" for median in medians]
            lines.append(f"| {name} | {str(dtype).removeprefix('torch.')} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if arguments.document:
        write_between_marks(arguments.document, "calls", "\n".join(lines))


if __name__ == "__main__":
    main()
