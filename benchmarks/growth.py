"""Measures how compile time grows with the number of ops, for networks and their training steps.

Each time is the minimum CPU time over the rounds. ``make bench-growth`` writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import jax
import numpy as np
from rich.progress import track

from docs.tables import write_between_marks

WIDTH = 64
BLOCKS = {"network": (10, 60, 250, 500), "training step": (10, 40, 80, 160)}
Weights = list[tuple[Any, Any, Any]]


def network(weights: Weights, x: Any) -> Any:
    """Applies residual blocks of a norm, a linear layer and gelu to ``x``, [32, WIDTH]."""
    for kernel, bias, scale in weights:
        centred = x - x.mean(-1, keepdims=True)
        x = x + jax.nn.gelu(centred * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale @ kernel + bias)
    return x


def training_step(weights: Weights, x: Any) -> Any:
    loss, gradients = jax.value_and_grad(lambda parameters: (network(parameters, x) ** 2).mean())(weights)
    return loss, jax.tree.map(lambda value, gradient: value - 0.1 * gradient, weights, gradients)


FUNCTIONS: dict[str, Callable[[Weights, Any], Any]] = {"network": network, "training step": training_step}


def program(kind: str, blocks: int) -> str:
    square, row = np.zeros((WIDTH, WIDTH), np.float32), np.zeros(WIDTH, np.float32)
    weights = [(square, row, row)] * blocks
    return jax.jit(FUNCTIONS[kind]).lower(weights, np.zeros((32, WIDTH), np.float32)).as_text()


def seconds(text: str, level: int) -> float:
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.options import CompileOptions
    from tt_xla.target import load_target

    module, options = parse_module(text), CompileOptions.parse({"optimization_level": level})
    start = time.process_time()
    compile_module(module, options, load_target("n150"))
    return time.process_time() - start


@click.command(help=__doc__)
@click.option("--rounds", default=2, show_default=True)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Writes the table between its marks.")
def main(rounds: int, document: Path | None) -> None:
    lines = ["| program | StableHLO ops | level 0 s | us per op | level 2 s | us per op |", "|---|---|---|---|---|---|"]
    seconds(program("network", 1), 2)  # warm up imports and caches
    for kind, blocks in track([(kind, count) for kind, counts in BLOCKS.items() for count in counts]):
        text = program(kind, blocks)
        ops = text.count("stablehlo.")
        times = [min(seconds(text, level) for _ in range(rounds)) for level in (0, 2)]
        cells = [f"{duration:.2f} | {duration / ops * 1e6:.0f}" for duration in times]
        lines.append(f"| {kind} of {blocks} blocks | {ops} | {' | '.join(cells)} |")
    table = "\n".join(lines)
    click.echo(table)
    if document is not None:
        write_between_marks(document, "growth", table)


if __name__ == "__main__":
    main()
