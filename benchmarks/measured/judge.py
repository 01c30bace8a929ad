"""Relative errors of predictions against measured times, by row, by op family and over all rows."""

from __future__ import annotations

import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measured.measurement import Measurement, Unpriced
from tt_xla.cost import instruction_cost
from tt_xla.cost.products import math_us
from tt_xla.cost.rates import rates_of


@dataclass(frozen=True)
class Priced:
    """A measurement and its prediction.

    Attributes:
        measurement: the measurement.
        predicted_us: predicted time in microseconds.
        bound: the part of the op that takes longest.
    """

    measurement: Measurement
    predicted_us: float
    bound: str

    @property
    def error(self) -> float:
        """Relative error of the prediction: predicted divided by measured time, minus 1."""
        return self.predicted_us / self.measurement.measured_us - 1


@dataclass(frozen=True)
class Summary:
    """Figures of the relative errors of rows. All figures are None without a priced row.

    Attributes:
        rows: number of rows, including those without a prediction.
        priced: number of rows with a prediction.
        median: median of the absolute errors.
        p90: 90th percentile of the absolute errors.
        bias: median of the signed errors.
    """

    rows: int
    priced: int
    median: float | None
    p90: float | None
    bias: float | None

    @property
    def record(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "rows": self.rows,
            "priced": self.priced,
            "median_abs_rel_error": self.median,
            "p90_abs_rel_error": self.p90,
            "bias": self.bias,
        }


def price(rows: Iterable[Measurement | Unpriced]) -> tuple[list[Priced], list[Unpriced]]:
    """Predicts the time of each measurement.

    Returns:
        Measurements with predictions, and rows without one, each with the reason.
    """
    priced: list[Priced] = []
    unpriced: list[Unpriced] = []
    for row in rows:
        if isinstance(row, Unpriced):
            unpriced.append(row)
            continue
        try:
            cost = instruction_cost(row.instruction, row.values, row.target, row.mesh)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # inconsistent shapes
            unpriced.append(Unpriced(row.line, row.label, f"its tensors do not fit the op ({error})"))
            continue
        rates = rates_of(row.target)
        if row.wall == "math":
            total = math_us(row.instruction, row.values, rates)
        else:
            total = cost.total_us + {"": 0.0, "traced": rates.gap_traced, "untraced": rates.gap_untraced}[row.wall]
        if total <= 0:
            unpriced.append(Unpriced(row.line, row.label, "the cost model predicts no device time"))
        else:
            priced.append(Priced(row, total, cost.bound))
    return priced, unpriced


def summarise(errors: Sequence[float], rows: int) -> Summary:
    """Returns the figures of signed relative errors.

    Args:
        errors: errors of the rows with a prediction.
        rows: number of all rows.
    """
    if not errors:
        return Summary(rows, 0, None, None, None)
    sizes = sorted(abs(error) for error in errors)
    position = 0.9 * (len(sizes) - 1)
    low = int(position)
    high = min(low + 1, len(sizes) - 1)
    p90 = sizes[low] + (sizes[high] - sizes[low]) * (position - low)
    return Summary(rows, len(errors), statistics.median(sizes), p90, statistics.median(errors))


def by_family(priced: Iterable[Priced]) -> dict[str, Summary]:
    """Returns the figures of each op family."""
    errors: dict[str, list[float]] = defaultdict(list)
    for row in priced:
        errors[row.measurement.family].append(row.error)
    return {family: summarise(family_errors, len(family_errors)) for family, family_errors in sorted(errors.items())}


def record(priced: Sequence[Priced], unpriced: Sequence[Unpriced]) -> dict[str, Any]:
    """Returns the object that ``--json`` prints."""
    total = summarise([row.error for row in priced], len(priced) + len(unpriced))
    families = {family: summary.record for family, summary in by_family(priced).items()}
    reasons = dict(Counter(row.reason for row in unpriced).most_common(20))
    return total.record | {"families": families, "unpriced": reasons}


def show(priced: Sequence[Priced], unpriced: Sequence[Unpriced], rows: int) -> None:
    """Prints a table of the first ``rows`` rows, a table of op families, and why rows have no prediction."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
    table = Table("line", "op", "system", "measured us", "predicted us", "error", "bound by", box=None)
    for column in table.columns[3:6]:
        column.justify = "right"
    for row in priced[:rows]:
        measurement, target = row.measurement, row.measurement.target
        times = (f"{measurement.measured_us:.2f}", f"{row.predicted_us:.2f}", f"{100 * row.error:+.0f} %")
        system = f"{target.arch}, {target.cores} cores"
        table.add_row(str(measurement.line), measurement.label, system, *times, row.bound)
    console.print(table)
    if len(priced) > rows:
        console.print(f"... and {len(priced) - rows} more rows; --rows shows more")
    console.print()
    table = Table("family", "rows", "priced", "median error", "90th percentile", "bias", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for family, summary in by_family(priced).items():
        _add_summary(table, family, summary)
    _add_summary(table, "all", summarise([row.error for row in priced], len(priced) + len(unpriced)))
    console.print(table)
    for reason, count in Counter(row.reason for row in unpriced).most_common(20):
        console.print(f"no prediction for {count}: {reason}", markup=False)


def _add_summary(table: Any, name: str, summary: Summary) -> None:
    figures = (summary.median, summary.p90, summary.bias)
    cells = ("" if figure is None else f"{100 * figure:.1f} %" for figure in figures)
    table.add_row(name, str(summary.rows), str(summary.priced), *cells)
