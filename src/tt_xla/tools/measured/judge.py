"""How near predictions are to measured times: relative errors by row, by op family and over all."""

from __future__ import annotations

import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.tools.measured.measurement import Measurement, Unpriced


@dataclass(frozen=True)
class Priced:
    measurement: Measurement
    predicted_us: float
    bound: str

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted_us / self.measurement.measured_us - 1


@dataclass(frozen=True)
class Summary:
    rows: int
    """Those that could not be priced too."""
    priced: int
    median: float | None
    """Of the absolute relative errors; None without a priced row, as are the next two."""
    p90: float | None
    bias: float | None
    """Median of the signed relative errors."""

    @property
    def record(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "priced": self.priced,
            "median_abs_rel_error": self.median,
            "p90_abs_rel_error": self.p90,
            "bias": self.bias,
        }


def price(found: Iterable[Measurement | Unpriced]) -> tuple[list[Priced], list[Unpriced]]:
    """What the cost model says of each measurement, and what has no price with the reason."""
    priced: list[Priced] = []
    left: list[Unpriced] = []
    for each in found:
        if isinstance(each, Unpriced):
            left.append(each)
            continue
        try:
            cost = instruction_cost(each.instruction, each.values, each.target)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # shapes that do not go together
            left.append(Unpriced(each.line, each.label, f"its tensors do not fit the op ({error})"))
            continue
        rates = rates_of(each.target)
        gap = {"": 0.0, "traced": rates.gap_traced, "untraced": rates.gap_untraced, "math": -cost.launch_us}[each.wall]
        total = cost.total_us + gap
        if total <= 0:
            left.append(Unpriced(each.line, each.label, "the model says that the device has nothing to do"))
        else:
            priced.append(Priced(each, total, cost.bound))
    return priced, left


def summarise(errors: Sequence[float], rows: int) -> Summary:
    """The figures of signed relative errors of ``rows`` rows, of which some had no price."""
    if not errors:
        return Summary(rows, 0, None, None, None)
    sizes = sorted(abs(error) for error in errors)
    place = 0.9 * (len(sizes) - 1)
    low = int(place)
    high = min(low + 1, len(sizes) - 1)
    p90 = sizes[low] + (sizes[high] - sizes[low]) * (place - low)
    return Summary(rows, len(errors), statistics.median(sizes), p90, statistics.median(errors))


def by_family(priced: Iterable[Priced]) -> dict[str, Summary]:
    errors: dict[str, list[float]] = defaultdict(list)
    for each in priced:
        errors[each.measurement.family].append(each.error)
    return {family: summarise(found, len(found)) for family, found in sorted(errors.items())}


def record(priced: Sequence[Priced], left: Sequence[Unpriced]) -> dict[str, Any]:
    """The object that ``--json`` prints last."""
    whole = summarise([each.error for each in priced], len(priced) + len(left))
    families = {family: found.record for family, found in by_family(priced).items()}
    reasons = dict(Counter(each.reason for each in left).most_common(20))
    return whole.record | {"families": families, "unpriced": reasons}


def show(priced: Sequence[Priced], left: Sequence[Unpriced], rows: int) -> None:
    """Tables of rows (the first ``rows``), of families, and of what has no price."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
    table = Table("line", "op", "system", "measured us", "predicted us", "error", "bound by", box=None)
    for column in table.columns[3:6]:
        column.justify = "right"
    for each in priced[:rows]:
        of = each.measurement
        times = (f"{of.measured_us:.2f}", f"{each.predicted_us:.2f}", f"{100 * each.error:+.0f} %")
        table.add_row(str(of.line), of.label, f"{of.target.arch}, {of.target.cores} cores", *times, each.bound)
    console.print(table)
    if len(priced) > rows:
        console.print(f"... and {len(priced) - rows} more rows; --rows shows more")
    console.print()
    table = Table("family", "rows", "priced", "median error", "90th percentile", "bias", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for family, found in by_family(priced).items():
        _figures(table, family, found)
    _figures(table, "all", summarise([each.error for each in priced], len(priced) + len(left)))
    console.print(table)
    for reason, count in Counter(each.reason for each in left).most_common(20):
        console.print(f"no price for {count}: {reason}", markup=False)


def _figures(table: Any, name: str, found: Summary) -> None:
    cells = ("" if figure is None else f"{100 * figure:.1f} %" for figure in (found.median, found.p90, found.bias))
    table.add_row(name, str(found.rows), str(found.priced), *cells)
