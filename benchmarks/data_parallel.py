"""Compares the emulation of data-parallel models on eight chips with one chip that computes the whole batch.

``make bench-data-parallel`` writes the table into docs/benchmarks.md. Both ways take turns, each in a process of its
own, so that other load on the machine affects both equally. A ratio is that of the medians over the rounds: of the time
on the wall, and of the processor time of all threads.
"""

from __future__ import annotations

import functools
import os
import statistics
from collections.abc import Callable
from pathlib import Path

os.environ["TTXLA_SYSTEM"] = "n300-llmbox"

import click

from benchmarks.turns import Call, in_turns
from docs.tables import write_between_marks

CHIPS = 8
LEVELS = (0, 1, 2)


def mlp(samples: int) -> Call:
    """Returns a model of four layers of width 1024 with gelu, and its batch."""
    import torch

    layers = (part for _ in range(4) for part in (torch.nn.Linear(1024, 1024), torch.nn.GELU()))
    return functools.partial(torch.nn.Sequential(*layers), torch.randn(samples, 1024))


def cnn(samples: int) -> Call:
    """Returns a ResNet of two stages, and a batch of images."""
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(embedding_size=32, hidden_sizes=[32, 64], depths=[2, 2], layer_type="basic")
    return functools.partial(ResNetForImageClassification(config), torch.randn(samples, 3, 64, 64))


def encoder(samples: int) -> Call:
    """Returns two layers of BERT-base, and a batch of texts of 128 tokens."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=2)
    tokens = torch.randint(config.vocab_size, (samples, 128))
    return functools.partial(BertModel(config, add_pooling_layer=False), tokens)


MODELS: dict[str, tuple[Callable[[int], Call], int]] = {
    "MLP, 4 layers of width 1024": (mlp, 2048),
    "ResNet, 2 stages, 64 x 64": (cnn, 32),
    "BERT-base, 2 layers, 128 tokens": (encoder, 16),
}
"""Function that makes the model and its batch, and the number of samples."""


def make(name: str, level: int, chips: int) -> Call:
    """Returns a call of a compiled model on a number of chips."""
    import numpy as np
    import torch
    import torch_xla.distributed.spmd as xs
    import torch_xla.runtime as xr

    torch.manual_seed(0)
    build, samples = MODELS[name]
    call = build(samples)
    model, batch = call.func, call.args[0]
    model = model.eval().to(torch.bfloat16).to("tt")
    batch = (batch.to(torch.bfloat16) if batch.is_floating_point() else batch).to("tt")
    if chips > 1:
        xr.use_spmd()
        mesh = xs.Mesh(np.arange(chips), (chips,), ("batch",))
        xs.mark_sharding(batch, mesh, ("batch",) + (None,) * (batch.dim() - 1))
    compiled = torch.compile(model, backend="tt", options={"optimization_level": level})

    def run() -> None:
        with torch.no_grad():
            compiled(batch)
            torch.accelerator.synchronize()

    return run


def row(name: str, level: int, rounds: int) -> str:
    """Returns a row of the table."""
    makers = {chips: functools.partial(make, name, level, chips) for chips in (1, CHIPS)}
    cells: list[str] = []
    for cpu in (False, True):
        seconds = in_turns({str(chips): maker for chips, maker in makers.items()}, rounds, seconds=0.5, cpu=cpu)
        one, several = (statistics.median(seconds[str(chips)]) for chips in makers)
        cells.append(f"{1e3 * one:.1f} | {1e3 * several:.1f} | {several / one:.2f}")
    return f"| {name} | {level} | {' | '.join(cells)} |"


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice([*MODELS]))
@click.option("--level", "levels", type=int, multiple=True, default=LEVELS, show_default=True)
@click.option("--rounds", default=7, show_default=True)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], levels: tuple[int, ...], rounds: int, document: Path | None) -> None:
    lines = [
        "| model | level | 1 chip, wall ms | 8 chips | ratio | 1 chip, processor ms | 8 chips | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in names or MODELS:
        for level in levels:
            lines.append(row(name, level, rounds))
            click.echo(lines[-1], err=True)
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "data parallel", "\n".join(lines))


if __name__ == "__main__":
    main()
