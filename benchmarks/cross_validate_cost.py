"""Cross-validates the cost model by groups of measurements: ``make cross-validate`` writes docs/cost_model.md.

Rows are grouped by file, board, phase or source, and never split at random, because rows of one sweep are near-copies.
For each group, all scalar constants that were read off measured rows are refitted on the other groups: a coordinate
search keeps a factor when it lowers the mean over groups of the median error by more than ``GAIN``. Then the group is
priced. Documented speeds (of links, of DRAM, of a store) are facts and stay. A constant on which no other group depends
keeps its value, which came from the group itself; the table counts such constants, and so says how far to trust a row.
"""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.calibrate_cost import COMMITTED, path_of
from benchmarks.measured import Measurement, Summary, price, read, summarise
from docs.tables import write_between_marks
from tt_xla.cost import attention, families, model, rates

FILES = {
    "gemm_flops.csv": ("", "board"),
    "gemm_flops_out_of_box.csv": ("", "board"),
    "op_sweep_matmul_hs.csv": ("", ""),
    "op_sweep_exp_n150.csv": ("", ""),
    "op_durations.csv": ("", "source"),
    "sdpa_bh_p100a.csv": ("", "phase"),
    "op_durations_dlv3_p100.csv": ("", "source"),
    "op_durations_segformer_wh.csv": ("", "source"),
}
"""Architecture for files that do not name it, and the column that groups the rows, by file."""

FACTORS = (0.75, 0.9, 1.1, 1.33)
ROUNDS = 2
GAIN = 0.001
"""Minimum reduction of the mean error for which a factor is kept."""
FITTED_ROWS = 80
"""Number of random rows per group on which constants are fitted; all rows are judged."""

RATES = (
    "launch",
    "launch_core",
    "wait",
    "arrival",
    "fill",
    "stream",
    "tile_product",
    "unpack_left",
    "unpack_right",
    "blocks",
    "written",
)
DOCUMENTED = ("WORD_CYCLES",)

Constant = tuple[Any, str]
"""A module and the name of its constant, or None and a field of the rates."""


def groups_of(folder: Path) -> dict[str, list[Measurement]]:
    """Returns the rows that can be priced, by sweep."""
    import csv

    groups: defaultdict[str, list[Measurement]] = defaultdict(list)
    for name, (arch, column) in FILES.items():
        path = path_of(folder, name)
        with path.open(newline="") as file:
            cells = list(csv.DictReader(file))
        for each in read(path, arch):
            if isinstance(each, Measurement):
                kind = Path(cells[each.line - 2].get(column, "").partition("@")[0]).name if column else ""
                groups[f"{Path(name).stem} {kind}".strip()].append(each)
    return groups


def constants() -> list[Constant]:
    """Returns the scalar constants of the cost model: figures of kernels, and rates of chips."""
    named: list[Constant] = [
        (module, name)
        for module in (families, attention)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, float) and name not in DOCUMENTED
    ]
    return [*named, *((None, name) for name in RATES)]


class Factors:
    """Applies factors to the constants of the cost model, and restores the published values."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._targets = list({id(each.target): each.target for each in measurements}.values())
        self._plain = {id(target): rates.rates_of(target) for target in self._targets}
        self._values = {(id(module), name): getattr(module, name) for module, name in constants() if module}

    def set(self, factors: Mapping[Constant, float]) -> None:
        for module, name in constants():
            if module is not None:
                setattr(module, name, self._values[id(module), name] * factors.get((module, name), 1.0))
        for target in self._targets:
            plain = self._plain[id(target)]
            changed = {name: _times(getattr(plain, name), factors.get((None, name), 1.0)) for name in RATES}
            rates.set_rates(target, dataclasses.replace(plain, **changed))
        model.forget_costs()


def _times(value: Any, factor: float) -> Any:
    return {name: each * factor for name, each in value.items()} if isinstance(value, Mapping) else value * factor


def some(rows: Sequence[Measurement]) -> list[Measurement]:
    """Draws the rows on which constants are fitted."""
    return random.Random(0).sample(rows, min(FITTED_ROWS, len(rows)))


def judged(rows: Sequence[Measurement]) -> Summary:
    """Prices all rows and summarises the errors."""
    priced, left = price(rows)
    return summarise([each.error for each in priced], len(priced) + len(left))


def loss(groups: Sequence[Sequence[Measurement]]) -> float:
    """Returns the mean over groups of the median absolute error."""
    medians = [statistics.median(abs(each.error) for each in price(rows)[0]) for rows in groups]
    return statistics.fmean(medians)


def fit(groups: Sequence[Sequence[Measurement]], force: Factors) -> tuple[dict[Constant, float], set[Constant]]:
    """Returns factors for the constants, and the constants on which these groups do not depend."""
    factors: dict[Constant, float] = {}
    force.set(factors)
    best, free = loss(groups), set()
    everything = set(constants())
    for turn in range(ROUNDS):
        for constant in sorted(everything - free, key=lambda each: (str(each[0]), each[1])):
            before, moved = factors.get(constant, 1.0), False
            for factor in FACTORS:
                force.set(factors | {constant: before * factor})
                mean_error = loss(groups)
                moved = moved or mean_error != best
                if mean_error < best - GAIN:
                    best, factors[constant] = mean_error, before * factor
            if not moved and not turn:
                free.add(constant)
    return factors, free


def lines(folder: Path) -> Iterator[str]:
    groups = groups_of(folder)
    everyone = [each for rows in groups.values() for each in rows]
    force = Factors(everyone)
    yield "| held back | rows | as published | refitted without it | 90th percentile | bias | constants only from it |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, rows in groups.items():
        force.set({})
        published = judged(rows)
        factors, free = fit([some(other) for key, other in groups.items() if key != name], force)
        force.set(factors)
        refitted = judged(rows)
        cells = (published.median, refitted.median, refitted.p90, refitted.bias)
        texts = ("" if cell is None else f"{100 * cell:.1f} %" for cell in cells)
        own = len(_used_by(rows, free, force))
        yield f"| {name} | {len(rows)} | {' | '.join(texts)} | {own} |"
    force.set({})


PRODUCTS = ("gemm_flops.csv", "gemm_flops_out_of_box.csv")
"""Sweeps over shapes, element types and fidelities of products: with a program config, and by TT-NN's defaults."""
SHAPE_FOLDS = 4


def product_groups(folder: Path) -> dict[str, dict[str, list[Measurement]]]:
    """Returns the rows of both sweeps, by what is held back: all rows of some shapes, or of one type and fidelity.

    Each group has the rows of both sweeps, by the name of the sweep.
    """
    rows = [(name, each) for name in PRODUCTS for each in read(path_of(folder, name)) if isinstance(each, Measurement)]
    shapes = sorted({each.label.split()[0] for _, each in rows}, key=lambda text: (_volume(text), text))
    groups: defaultdict[str, defaultdict[str, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    for name, each in rows:
        shape, *kind, _ = each.label.split()
        groups[f"shapes {shapes.index(shape) % SHAPE_FOLDS + 1} of {SHAPE_FOLDS}"][Path(name).stem].append(each)
        groups[" ".join(kind)][Path(name).stem].append(each)
    return {name: groups[name] for name in sorted(groups, key=lambda text: (not text.startswith("shapes"), text))}


def _volume(shape: str) -> int:
    """Returns the number of multiplications of a product of a shape such as ``512x1024x768``."""
    return math.prod(map(int, shape.split("x")))


def product_lines(folder: Path) -> Iterator[str]:
    """Yields the table of errors on products whose shapes, or whose type and fidelity, were held back."""
    groups = product_groups(folder)
    force = Factors([each for sweeps in groups.values() for rows in sweeps.values() for each in rows])
    yield "| held back | sweep | rows | as published | refitted without it | 90th percentile | bias |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for name, sweeps in groups.items():
        kind = name.startswith("shapes")
        others = [
            rows
            for key, each in groups.items()
            if key != name and key.startswith("shapes") == kind
            for rows in each.values()
        ]
        factors, _ = fit([some(rows) for rows in others], force)
        for sweep, rows in sorted(sweeps.items()):
            force.set({})
            published = judged(rows)
            force.set(factors)
            refitted = judged(rows)
            cells = (published.median, refitted.median, refitted.p90, refitted.bias)
            texts = ("" if cell is None else f"{100 * cell:.1f} %" for cell in cells)
            yield f"| {name} | {sweep} | {len(rows)} | {' | '.join(texts)} |"
    force.set({})


def _used_by(rows: Sequence[Measurement], free: set[Constant], force: Factors) -> list[Constant]:
    """Returns the constants of ``free`` that change the price of a row."""
    rows = some(rows)
    force.set({})
    plain = [each.predicted_us for each in price(rows)[0]]
    used: list[Constant] = []
    for constant in free:
        force.set({constant: 1.33})
        if [each.predicted_us for each in price(rows)[0]] != plain:
            used.append(constant)
    return used


@click.command(help=__doc__)
@click.option("--folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=COMMITTED)
@click.option("--document", type=click.Path(path_type=Path, dir_okay=False))
def main(folder: Path, document: Path | None) -> None:
    for mark, table in (("products", product_lines), ("cross-validation", lines)):
        text: list[str] = []
        for line in table(folder):
            click.echo(line)
            text.append(line)
        if document is not None:
            write_between_marks(document, mark, "\n".join(text))


if __name__ == "__main__":
    main()
