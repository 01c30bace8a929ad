"""Times products with weights in panels beside oneDNN's and MKL's, in one thread: ``python -m benchmarks.products``.

All three compute in float32 with weights that were prepared before; MKL takes them as PyTorch does. Medians of the
rounds, in which they take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import click
import torch

from docs.tables import write_between_marks
from tt_xla.runtime.emulator import sums
from tt_xla.runtime.emulator.fast import onednn

SHAPES = (
    (1, 256, 256),
    (1, 576, 1536),
    (1, 576, 49152),
    (4, 256, 768),
    (32, 576, 1536),
    (128, 576, 1536),
    (1024, 768, 3072),
)
"""Rows, terms and columns."""


def ways(rows: int, inner: int, columns: int) -> dict[str, Callable[[], torch.Tensor]]:
    """Returns the three products of drawn operands, by name."""
    a, weights = torch.randn(rows, inner), torch.randn(columns, inner)
    panels, ordered = sums.packed(weights.t()), onednn.ordered(weights, rows)
    return {
        "panels": lambda: sums.times_packed(a, panels, columns),
        "oneDNN": lambda: onednn.linear(a, ordered, None, None),
        "MKL": lambda: torch.nn.functional.linear(a, weights),
    }


def medians(functions: dict[str, Callable[[], torch.Tensor]], rounds: int) -> dict[str, float]:
    """Returns the median time of each function in microseconds."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append((time.perf_counter() - start) * 1e6)
    return {name: statistics.median(each) for name, each in times.items()}


@click.command(help=__doc__)
@click.option("--rounds", default=15, help="Rounds (default 15).")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(rounds: int, document: Path | None) -> None:
    torch.set_num_threads(1)
    lines = ["| rows x terms x columns | panels, us | oneDNN, us | MKL, us |", "|---|--:|--:|--:|"]
    for shape in SHAPES:
        found = medians(ways(*shape), rounds)
        cells = " | ".join(f"{found[name]:,.0f}" for name in ("panels", "oneDNN", "MKL"))
        lines.append(f"| {' x '.join(map(str, shape))} | {cells} |")
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "products", "\n".join(lines))


if __name__ == "__main__":
    main()
