"""Fits the constants of collectives to measured points, and prices each group of points with a fit of the others.

``python -m benchmarks.fit_collectives`` prints the constants of ``tt_xla.cost.collective`` as they are fitted to all
points; ``make cross-validate`` writes the table of held-back groups to docs/cost_model.md. A fit starts from constants
that say nothing (no handshake, links at their line rate) and minimises the sum of absolute relative errors. Predictions
are linear in the constants, but where a chip's own tensors are the limit, so each fit is a few reweighted linear ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.measured import Measurement, price, read, summarise
from docs.tables import write_between_marks
from tt_xla.cost import collective, model
from tt_xla.cost.collective import Exchange
from tt_xla.cost.collective import Path as Way

MEASURED = Path(__file__).parents[1] / "tests" / "data" / "measured"
POINTS = MEASURED / "ccl.csv"
UNSEEN = ("p150x8, DeepSeek-V3, line of 4", MEASURED / "ccl_deepseek.csv")
"""Points of a profiler's table of a model, which no fit sees."""
KINDS = tuple(collective.EXCHANGES)
CONSTANTS = ("start", "line: hop", "line: link", "ring: hop", "ring: link")
LINEARISATIONS, REWEIGHTINGS = 3, 40
SMALLEST_ERROR = 0.01
"""Relative error below which points weigh no more than others."""
KIB = 1024

Points = Sequence[Measurement]


def with_constants(constants: np.ndarray) -> dict[str, Exchange]:
    """Returns exchanges with constants, five for each kind: cycles, cycles, and the inverse of an efficiency."""
    rows = constants.reshape(len(KINDS), len(CONSTANTS))
    return {
        kind: Exchange(float(row[0]), Way(float(row[1]), 1 / float(row[2])), Way(float(row[3]), 1 / float(row[4])))
        for kind, row in zip(KINDS, rows, strict=True)
    }


def ratios(points: Points, exchanges: dict[str, Exchange]) -> np.ndarray:
    """Returns predicted over measured times."""
    before = dict(collective.EXCHANGES)
    collective.EXCHANGES.update(exchanges)
    model.forget_costs()
    try:
        priced, unpriced = price(points)
    finally:
        collective.EXCHANGES.update(before)
        model.forget_costs()
    assert not unpriced
    return np.array([1 + each.error for each in priced])


def fit(points: Points) -> dict[str, Exchange]:
    """Returns the exchanges that fit the points best."""
    constants = np.tile([0.0, 0.0, 1.0, 0.0, 1.0], len(KINDS))
    for _ in range(LINEARISATIONS):
        at = ratios(points, with_constants(constants))
        steps = np.where(constants > 10, 0.01 * constants, np.where(np.arange(len(constants)) % 5 % 2, 10.0, 0.01))
        steps[::5] = 10.0
        slopes = np.stack(
            [
                (ratios(points, with_constants(constants + step * unit)) - at) / step
                for step, unit in zip(steps, np.eye(len(constants)), strict=True)
            ],
            axis=1,
        )
        known = np.abs(slopes).max(axis=0) > 0
        target = 1 - at + slopes @ constants
        weights, solution = np.ones(len(at)), constants[known]
        for _ in range(REWEIGHTINGS):
            solution = np.linalg.lstsq(slopes[:, known] * weights[:, None], target * weights, rcond=None)[0]
            weights = 1 / np.sqrt(np.maximum(np.abs(slopes[:, known] @ solution - target), SMALLEST_ERROR))
        constants[known] = solution
    return with_constants(constants)


def groups() -> dict[str, Callable[[Measurement], str]]:
    """Returns, by title, functions that name the group of a point."""
    return {
        "architecture": lambda point: point.target.arch,
        "system": lambda point: f"{point.target.arch}, {point.label.rpartition(', ')[2]}",
        "size": _size,
    }


def _size(point: Measurement) -> str:
    size = int(point.label.split()[1])
    if size <= 128 * KIB:
        return "up to 128 KiB"
    return "256 KiB to 4 MiB" if size <= 4096 * KIB else "8 MiB and more"


def lines(points: Points) -> Iterator[str]:
    """Yields the lines of the table of held-back groups."""
    everything = fit(points)
    yield "| held back | points | as published | fitted to all | fitted without it | 90th percentile | bias |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name_of in groups().values():
        for name in sorted({name_of(point) for point in points}):
            held = [point for point in points if name_of(point) == name]
            others = fit([point for point in points if name_of(point) != name])
            published, fitted, blind = (
                summarise(list(ratios(held, exchanges) - 1), len(held)) for exchanges in ({}, everything, others)
            )
            yield _line(name, len(held), published.median, fitted.median, blind.median, blind.p90, blind.bias)
    model = _points(UNSEEN[1])
    published, fitted = (summarise(list(ratios(model, exchanges) - 1), len(model)) for exchanges in ({}, everything))
    yield _line(UNSEEN[0], len(model), published.median, fitted.median, fitted.median, fitted.p90, fitted.bias)


def _line(name: str, count: int, *errors: float | None) -> str:
    """Returns a line of the table."""
    return f"| {name} | {count} | {' | '.join(f'{100 * (error or 0):.1f} %' for error in errors)} |"


def _points(path: Path) -> list[Measurement]:
    """Returns the points of a file."""
    return [row for row in read(path) if isinstance(row, Measurement)]


@click.command(help=__doc__)
@click.option("--document", type=click.Path(path_type=Path, dir_okay=False))
def main(document: Path | None) -> None:
    points = _points(POINTS)
    for kind, exchange in fit(points).items():
        click.echo(f'"{kind}": {exchange}')
    table: list[str] = []
    for line in lines(points):
        click.echo(line)
        table.append(line)
    if document is not None:
        write_between_marks(document, "collectives", "\n".join(table))


if __name__ == "__main__":
    main()
