"""The cost model on sweeps that its constants are refitted without: ``make cross-validate`` writes docs/cost_model.md.

Rows are grouped by file, board, phase or source, never split at random, since rows of one sweep are near-copies.
For each group, all scalar constants that were read off measured rows are refitted on the other groups, by going
through them and keeping a factor that lowers the mean over groups of the median error by more than ``GAIN``; then the
group is priced. Documented speeds (of links, of DRAM, of a store) are facts, no fits, and stay. A constant that no
other group depends on keeps its value, which came from the group itself: the table counts those, and so says how far
to believe its row.
"""

from __future__ import annotations

import dataclasses
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from documents import write_between_marks

from tt_xla.cost import attention, families, model, rates
from tt_xla.tools.measured import Measurement, Summary, price, read, summarise

FILES = {
    "gemm_flops.csv": ("", "board"),
    "op_sweep_matmul_hs.csv": ("", ""),
    "op_sweep_exp_n150.csv": ("", ""),
    "op_durations.csv": ("", "source"),
    "sdpa_bh_p100a.csv": ("", "phase"),
}
"""The architecture of files that do not name it, and the column that groups their rows."""

FACTORS = (0.75, 0.9, 1.1, 1.33)
ROUNDS = 2
GAIN = 0.001
"""By which a factor must lower the mean error: less is chance."""
FITTED_ROWS = 80
"""Rows of a group, drawn at random, that a fit looks at; judged are all."""

RATES = (
    "launch",
    "launch_core",
    "wait",
    "arrival",
    "fill",
    "stream",
    "tile_product",
)
DOCUMENTED = ("WORD_CYCLES",)

Constant = tuple[Any, str]
"""A module and the name in it; None and a field of rates."""


def groups_of(folder: Path) -> dict[str, list[Measurement]]:
    """Rows that can be priced, by sweep."""
    import csv

    found: defaultdict[str, list[Measurement]] = defaultdict(list)
    for name, (arch, column) in FILES.items():
        with (folder / name).open(newline="") as file:
            cells = list(csv.DictReader(file))
        for each in read(folder / name, arch):
            if isinstance(each, Measurement):
                kind = Path(cells[each.line - 2].get(column, "").partition("@")[0]).name if column else ""
                found[f"{Path(name).stem} {kind}".strip()].append(each)
    return found


def constants() -> list[Constant]:
    """Scalars of the cost model: figures of kernels, and rates of chips."""
    found: list[Constant] = [
        (module, name)
        for module in (families, attention)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, float) and name not in DOCUMENTED
    ]
    return [*found, *((None, name) for name in RATES)]


class Factors:
    """Factors on constants, put in force and taken back."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._targets = list({id(each.target): each.target for each in measurements}.values())
        self._plain = {id(target): rates._of(target) for target in self._targets}
        self._values = {(id(module), name): getattr(module, name) for module, name in constants() if module}

    def set(self, factors: Mapping[Constant, float]) -> None:
        for module, name in constants():
            if module is not None:
                setattr(module, name, self._values[id(module), name] * factors.get((module, name), 1.0))
        for target in self._targets:
            plain = self._plain[id(target)]
            changed = {name: _times(getattr(plain, name), factors.get((None, name), 1.0)) for name in RATES}
            rates._cache[id(target)] = (target, dataclasses.replace(plain, **changed))
        model._priced.clear()


def _times(value: Any, factor: float) -> Any:
    return {name: each * factor for name, each in value.items()} if isinstance(value, Mapping) else value * factor


def some(rows: Sequence[Measurement]) -> list[Measurement]:
    return random.Random(0).sample(rows, min(FITTED_ROWS, len(rows)))


def judged(rows: Sequence[Measurement]) -> Summary:
    priced, left = price(rows)
    return summarise([each.error for each in priced], len(priced) + len(left))


def loss(groups: Sequence[Sequence[Measurement]]) -> float:
    """The mean over groups of the median absolute error."""
    medians = [statistics.median(abs(each.error) for each in price(rows)[0]) for rows in groups]
    return statistics.fmean(medians)


def fit(groups: Sequence[Sequence[Measurement]], force: Factors) -> tuple[dict[Constant, float], set[Constant]]:
    """Factors for the constants, and those constants that these groups do not depend on."""
    factors: dict[Constant, float] = {}
    force.set(factors)
    best, free = loss(groups), set()
    everything = set(constants())
    for turn in range(ROUNDS):
        for constant in sorted(everything - free, key=lambda each: (str(each[0]), each[1])):
            before, moved = factors.get(constant, 1.0), False
            for factor in FACTORS:
                force.set(factors | {constant: before * factor})
                found = loss(groups)
                moved = moved or found != best
                if found < best - GAIN:
                    best, factors[constant] = found, before * factor
            if not moved and not turn:
                free.add(constant)
    return factors, free


def lines(folder: Path) -> Iterator[str]:
    groups = groups_of(folder)
    everyone = [each for rows in groups.values() for each in rows]
    force = Factors(everyone)
    yield "| held back | rows | as published | refitted without it | 90th percentile | bias | only it determines |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, rows in groups.items():
        force.set({})
        published = judged(rows)
        factors, free = fit([some(other) for key, other in groups.items() if key != name], force)
        force.set(factors)
        found = judged(rows)
        cells = (published.median, found.median, found.p90, found.bias)
        texts = ("" if cell is None else f"{100 * cell:.1f} %" for cell in cells)
        own = len(_used_by(rows, free, force))
        yield f"| {name} | {len(rows)} | {' | '.join(texts)} | {own} |"
    force.set({})


def _used_by(rows: Sequence[Measurement], free: set[Constant], force: Factors) -> list[Constant]:
    """Those of some constants that the prices of rows depend on."""
    rows = some(rows)
    force.set({})
    plain = [each.predicted_us for each in price(rows)[0]]
    found: list[Constant] = []
    for constant in free:
        force.set({constant: 1.33})
        if [each.predicted_us for each in price(rows)[0]] != plain:
            found.append(constant)
    return found


@click.command(help=__doc__)
@click.option("--folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--document", type=click.Path(path_type=Path, dir_okay=False))
def main(folder: Path, document: Path | None) -> None:
    table: list[str] = []
    for line in lines(folder):
        click.echo(line)
        table.append(line)
    if document is not None:
        write_between_marks(document, "cross-validation", "\n".join(table))


if __name__ == "__main__":
    main()
