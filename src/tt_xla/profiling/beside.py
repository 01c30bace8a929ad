"""Compares a recorded step with the throughput that hand-tuned models reach on silicon."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tt_xla.ir.op_table import HOST
from tt_xla.profiling.hand_tuned import TOKENS, Figure, figures_of
from tt_xla.profiling.page import Cell, section, table
from tt_xla.profiling.reading import Row, Table, read_table, system_of
from tt_xla.target import load_target


@dataclass(frozen=True)
class StepTime:
    """The device time of a step of a profile."""

    name: str
    """The step's place in the profile, in words."""
    system: str
    device_us: float
    """Sum of the kernels' durations."""
    gaps_us: float
    """Time between them."""


@dataclass(frozen=True)
class Comparison:
    """A step beside a figure of a hand-tuned model."""

    figure: Figure
    rate: float | None
    """Throughput of the step in the figure's unit; None on another system, or with another number of users."""

    @property
    def ratio(self) -> float | None:
        """The step's throughput as a fraction of the figure; None on another system."""
        return None if self.rate is None else self.rate / self.figure.rate


def step_of(ops: Table, windowed: bool) -> StepTime:
    """Returns the step that a profile is about.

    That is the window between the user's signposts; else the last one between signposts ``NAME_start`` and
    ``NAME_end``, as ``tt-xla bench`` sets them; else the last run of the program that takes most device time; else, in
    a profile without our timeline, all ops. ``windowed`` tells whether the user chose a window.
    """
    if windowed:
        return _step(ops, "between the signposts", ops.rows)
    starts = [name.removesuffix("_start") for name in ops.signposts if name.endswith("_start")]
    steps = [name for name in starts if f"{name}_end" in ops.signposts]
    if steps:
        name = steps[-1]
        return _step(ops, name, read_table(ops.path, f"{name}_start", f"{name}_end").rows)
    runs = _runs(ops)
    if runs:
        return _step(ops, *_last_of_longest(runs))
    return _step(ops, "all ops of the profile", ops.rows)


def _step(ops: Table, name: str, rows: Sequence[Row]) -> StepTime:
    system = str(ops.timeline.get("otherData", {}).get("system") or system_of(ops.arch))
    chips = [row for row in rows if row.category != HOST]
    # Host time on the machine that emulated the card is no gap of a card, which the predicted gap stands for.
    most = load_target(system).gap_us_untraced if ops.timeline else float("inf")
    gaps = sum(min(row.gap_us, most) for row in chips)
    return StepTime(name, system, sum(row.device_us for row in chips), gaps)


_RUN = re.compile(r"run (.*)")


def _runs(ops: Table) -> dict[tuple[int, str], list[list[Row]]]:
    """Returns the ops of each run by number and name of the program; nothing without our timeline."""
    started = ops.timeline.get("otherData", {}).get("started")
    runs: defaultdict[tuple[int, str], list[list[Row]]] = defaultdict(list)
    for event in ops.timeline.get("traceEvents", ()) if started is not None else ():
        match = _RUN.fullmatch(event.get("name", "")) if event.get("ph") == "X" else None
        if match is None or "program" not in event["args"]:
            continue
        first = float(started) + 1e3 * event["ts"]
        rows = [row for row in ops.rows if first <= row.host_start < first + 1e3 * event["dur"]]
        if rows:
            runs[event["args"]["program"], match[1]].append(rows)
    return runs


def _last_of_longest(runs: Mapping[tuple[int, str], Sequence[Sequence[Row]]]) -> tuple[str, Sequence[Row]]:
    """Returns the program with the most device time in words, and the ops of its last run."""
    total = {key: sum(row.device_us for rows in of_program for row in rows) for key, of_program in runs.items()}
    longest = max(total, key=lambda key: total[key])
    return f"last run of program {longest[1]}", runs[longest][-1]


def compare(step: StepTime, model: str, batch: int | None = None) -> list[Comparison]:
    """Returns a step beside each figure of a model, those of the step's system first.

    Args:
        step, model: the step, and name of the model.
        batch: samples or users in the step; None for those of each figure. Tokens a user are only compared with
            figures of as many users.

    Raises:
        OptionError: no figure is known of the model.
    """
    comparisons: list[Comparison] = []
    for figure in sorted(figures_of(model), key=lambda figure: figure.system != step.system):
        alike = figure.unit != TOKENS or batch in (None, figure.batch)
        comparable = figure.system == step.system and alike
        rate = figure.predicted(step.device_us, step.gaps_us, batch) if comparable else None
        comparisons.append(Comparison(figure, rate))
    return comparisons


HEAD = ("system", "batch", "silicon", "predicted", "ratio", "counts", "source")


def cells(comparison: Comparison) -> tuple[str, ...]:
    """Returns the cells of a comparison in the order of :data:`HEAD`."""
    figure = comparison.figure
    return (
        figure.system,
        str(figure.batch),
        f"{figure.rate:,} {figure.unit}",
        "" if comparison.rate is None else f"{comparison.rate:,.{0 if comparison.rate >= 100 else 1}f}",
        "" if comparison.ratio is None else f"{comparison.ratio:.2f}",
        "kernels" if figure.kernels else "all time",
        figure.source,
    )


_SOURCES = "Sources are below models/ of tenstorrent/tt-metal; kernels: without the time between them."


def lines(step: StepTime, comparisons: Sequence[Comparison]) -> Iterable[str]:
    """Yields the lines of a text about a step beside the figures of a model."""
    model = comparisons[0].figure.model
    yield (
        f"{model}, {step.name} on {step.system}: predicted {step.device_us / 1e3:.3f} ms in kernels, "
        f"{step.gaps_us / 1e3:.3f} ms between them"
    )
    rows = [HEAD, *map(cells, comparisons)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows:
        padded = [
            cell.rjust(width) if column in (1, 3, 4) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()
    yield _SOURCES
    if not any(comparison.rate for comparison in comparisons):
        yield f"No figure of {model} is for {step.system} and this batch."


def as_section(step: StepTime, comparisons: Sequence[Comparison]) -> str:
    """Returns the same as a section of a page."""
    first, *_ = lines(step, comparisons)
    rows = [[Cell(cell) for cell in cells(comparison)] for comparison in comparisons]
    return section(
        "Beside hand-tuned models",
        table(HEAD, rows),
        note=f"{first}. {_SOURCES}",
    )


def record(step: StepTime, comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Returns the same as plain data."""
    figures = [asdict(each.figure) | {"predicted": each.rate, "ratio": each.ratio} for each in comparisons]
    return {"model": comparisons[0].figure.model, "step": asdict(step), "figures": figures}
