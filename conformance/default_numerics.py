"""Compares the default numerics with ``bit_exact`` on the emulated card, for models: ``make default-numerics``.

The second column moves 0.1 % of the inputs by 1 ULP and compares ``bit_exact`` with itself: results with a larger
correlation than that are nearer to each other than TT-NN's are for inputs that differ in a last bit. Several draws of
each model are taken together, each with a PCC of its own, because the PCC of one draw of few results says little.

A second table has the ops of ``make differential`` whose results differ: how many elements have other bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import jax.numpy as jnp
import torch
from rich.progress import track

from conformance import differential
from conformance.differential import FLOATS, Case, compiled
from docs.tables import write_between_marks
from tt_xla.environment import selected_system
from tt_xla.runtime import get_device
from tt_xla.runtime.executable import Executable
from tt_xla.testing.divergence.distances import deviation

DRAWS = 5
MOVED = 0.001
"""Fraction of inputs that are moved by 1 ULP."""


@dataclass(frozen=True)
class Scaled(Case):
    """A model on normal inputs, with normal weights of standard deviation ``1 / sqrt(inputs of an output)``."""

    def arguments(self, draw: int = 0) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(draw)
        dtype = getattr(torch, self.dtype)
        first = torch.randn(self.shapes[0], generator=generator).to(dtype)
        weights = [
            torch.randn(shape, generator=generator) / torch.tensor(shape[:-1]).prod().sqrt()
            for shape in self.shapes[1:]
        ]
        return [first, *(weight.to(dtype) for weight in weights)]


@dataclass(frozen=True)
class Small(Case):
    """A model of ``make differential``, whose inputs and weights lie between -0.15 and 0.15."""

    def arguments(self, draw: int = 0) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(draw)
        dtype = getattr(torch, self.dtype)
        return [(torch.rand(shape, generator=generator) * 0.3 - 0.15).to(dtype) for shape in self.shapes]


def layer(x: Any, q: Any, k: Any, v: Any, out: Any, up: Any, down: Any) -> Any:
    """A transformer layer with heads of 64 elements."""
    heads = [(differential.norm(x) @ weight).reshape(1, len(x), -1, 64).transpose(0, 2, 1, 3) for weight in (q, k, v)]
    mixed = differential.attention(*heads).transpose(0, 2, 1, 3).reshape(x.shape)
    return differential.mlp(x + mixed @ out, up, down)


def cnn(x: Any, first: Any, second: Any, head: Any) -> Any:
    """Two convolutions, the mean of each channel, and a classifier."""
    features = differential.pool(jnp.maximum(differential.convolution(x, first), 0))
    features = jnp.maximum(differential.convolution(features, second), 0)
    return features.mean((1, 2)) @ head


def models() -> list[Case]:
    """Returns models of each kind: small weights, where sums cancel, and weights that keep magnitudes."""
    square = [(256, 256)] * 4
    return [
        *(Small(case.name, case.function, case.shapes, case.dtype) for case in differential.models()),
        *(
            case
            for dtype in FLOATS
            for case in (
                Scaled("scaled transformer layer", layer, [(128, 256), *square, (256, 1024), (1024, 256)], dtype),
                Scaled("scaled cnn", cnn, [(8, 16, 16, 32), (3, 3, 32, 64), (3, 3, 64, 64), (64, 100)], dtype),
            )
        ),
    ]


def moved(tensor: torch.Tensor) -> torch.Tensor:
    """Moves some elements by 1 ULP of their type."""
    generator = torch.Generator().manual_seed(1)
    bits = torch.int16 if tensor.dtype is torch.bfloat16 else torch.int32
    chosen = torch.rand(tensor.shape, generator=generator) < MOVED
    return (tensor.view(bits) + chosen.to(bits)).view(tensor.dtype)


def executables(case: Case, level: int) -> list[Executable]:
    """Returns a case for the default numerics and for ``bit_exact``."""
    device = get_device(selected_system())
    return [
        Executable(device, compiled(case, {"optimization_level": level, "numerics": numerics}))
        for numerics in ("silicon", "bit_exact")
    ]


def row(case: Any, level: int) -> str:
    """Returns a model's line of the table: the mean over draws of what is missing to a PCC of 1."""
    default, exact = executables(case, level)
    apart, by_itself = 0.0, 0.0
    for draw in range(DRAWS):
        arguments = case.arguments(draw)
        versions = [None] * len(arguments)
        (reference,) = exact.run(arguments, versions)
        apart += 1 - deviation(default.run(arguments, versions)[0], reference).pcc
        other = [moved(arguments[0]), *arguments[1:]]
        by_itself += 1 - deviation(exact.run(other, versions)[0], reference).pcc
    return f"| {case.label} | {level} | {1 - apart / DRAWS:.7f} | {1 - by_itself / DRAWS:.7f} |"


def operation_row(case: Case) -> str | None:
    """Returns an op's line of the table; None if all elements have the same bits."""
    arguments = case.arguments()
    default, exact = (each.run(arguments, [None] * len(arguments)) for each in executables(case, 0))
    pairs = zip(default, exact, strict=True)
    other = [((a != b) & ~(a.isnan() & b.isnan())).double().mean().item() for a, b in pairs]
    if not any(other):
        return None
    return f"| {case.label} | {max(other):.1%} | {deviation(default[0], exact[0]).pcc:.7f} |"


def operations_table() -> str:
    """Returns the table of ops of bfloat16, whose last line counts those that are not in it."""
    lines = ["| op, type, shapes | elements with other bits | PCC |", "|---|--:|--:|"]
    cases = [case for case in differential.cases() if case.dtype == "bfloat16"]
    rows = [row for case in track(cases, description="ops") if (row := operation_row(case)) is not None]
    return "\n".join([*lines, *rows, f"| {len(cases) - len(rows)} others | 0.0% | 1.0000000 |"])


@click.command(help=__doc__)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(document: Path | None) -> None:
    moved_inputs = f"bit_exact with {MOVED:.1%} of the inputs moved by 1 ULP"
    lines = [f"| model, type, shapes | level | PCC of the default | {moved_inputs} |", "|---|---|---|---|"]
    for case in models():
        for level in (0, 2):
            lines.append(row(case, level))
            click.echo(lines[-1])
    operations = operations_table()
    click.echo(operations)
    if document is not None:
        write_between_marks(document, "default-numerics", "\n".join(lines))
        write_between_marks(document, "default-operations", operations)


if __name__ == "__main__":
    main()
