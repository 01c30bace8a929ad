"""Writes the results of a search as JSON and as a page with a plot of throughput against accuracy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tt_xla.profiling import svg
from tt_xla.profiling.front import Dot, chart
from tt_xla.profiling.page import Cell, cards, page, section, table
from tt_xla.profiling.tune.choice import Outcome, pareto

CHOSEN_NAME = "chosen.json"
HTML_NAME = "tune.html"


def write_chosen(path: Path, chosen: Outcome, metric: str) -> None:
    """Writes the options and figures of the chosen outcome.

    The field ``compile_options`` is what ``torch_xla.set_custom_compile_options`` takes.
    """
    options = {name: value for name, value in chosen.choice.options().items() if value not in ("", False)}
    record = {
        "compile_options": options,
        "batch_size": chosen.choice.batch or None,
        "throughput": chosen.throughput,
        "step_ms": chosen.step_ms,
        "pcc": chosen.pcc,
        "metric": {metric: chosen.metrics.get(metric)} if metric else None,
        "dram_bytes": chosen.dram_bytes,
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def write_page(path: Path, program: str, outcomes: Sequence[Outcome], chosen: Outcome | None, metric: str) -> None:
    """Writes the page of a search.

    Args:
        path, program: File to write, and path of the script or module.
        outcomes, chosen: Outcomes of all trials, and the chosen one if any is accurate enough.
        metric: Name of the metric that measures accuracy; empty for the correlation with the reference.
    """
    front = pareto(outcomes, metric)
    valid = [outcome for outcome in outcomes if not outcome.error and not outcome.choice.reference]
    parts: list[str] = []
    if chosen is not None:
        parts.append(cards(_figures(chosen, metric)))
    name = metric or f"PCC with {_reference(outcomes)}"
    parts.append(section("Throughput against accuracy", _plot(valid, front, chosen, metric), note=_NOTE))
    parts.append(section("Trials", _table(outcomes, front, metric)))
    title = f"Tuning of {Path(program).name}"
    path.write_text(page(title, f"{len(outcomes)} trials; accuracy is {name}", parts), encoding="utf-8")


_NOTE = "Each dot is a trial. The line joins the trials of the Pareto front, and the large dot is the chosen trial."


def _reference(outcomes: Sequence[Outcome]) -> str:
    """Returns the description of the results that the trials are compared with."""
    return next((outcome.compared_with for outcome in outcomes if outcome.choice.reference), "the reference")


def unit(outcome: Outcome) -> str:
    """Returns the unit of an outcome's throughput."""
    return "samples/s" if outcome.choice.batch else "steps/s"


def _figures(chosen: Outcome, metric: str) -> list[tuple[str, str]]:
    accuracy = chosen.accuracy(metric)
    return [
        ("chosen", chosen.choice.label),
        (f"{unit(chosen)}, predicted", svg.number(chosen.throughput)),
        ("time of a step, predicted", f"{chosen.step_ms:.4g} ms"),
        (metric or "PCC", "unknown" if accuracy is None else f"{accuracy:.5f}"),
        ("peak of DRAM in use", f"{svg.number(chosen.dram_bytes)}B"),
    ]


def _plot(valid: Sequence[Outcome], front: Sequence[Outcome], chosen: Outcome | None, metric: str) -> str:
    points = [(outcome, accuracy) for outcome in valid if (accuracy := outcome.accuracy(metric)) is not None]
    if not points:
        return '<p class="soft">No trial could be compared with the reference.</p>'
    dots = [
        Dot(
            outcome.throughput,
            accuracy,
            f"{outcome.choice.label}\n{outcome.throughput:.4g} {unit(outcome)}, {accuracy:.5f}",
            "Compute" if outcome in front else "Other",
            outcome is chosen,
        )
        for outcome, accuracy in points
    ]
    line = [(outcome.throughput, accuracy) for outcome, accuracy in points if outcome in front]
    return chart(dots, sorted(line, reverse=True), f"predicted {unit(points[0][0])}", metric or "PCC")


def _table(outcomes: Sequence[Outcome], front: Sequence[Outcome], metric: str) -> str:
    rows: list[list[Cell]] = []
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.throughput):
        accuracy = outcome.accuracy(metric)
        rows.append(
            [
                Cell(outcome.choice.label),
                Cell("yes" if outcome in front else ""),
                Cell(f"{outcome.throughput:.4g}", outcome.throughput),
                Cell(f"{outcome.step_ms:.4g}", outcome.step_ms),
                Cell("" if accuracy is None else f"{accuracy:.5f}", accuracy or 0.0),
                Cell(svg.number(outcome.dram_bytes), outcome.dram_bytes),
                Cell(outcome.choice.overrides.replace("=bfp_bf4", "").replace(",", ", ")),
                Cell(outcome.error),
            ]
        )
    header = ("choice", "front", "throughput", "step ms", metric or "PCC", "DRAM bytes", "bfp4 weights", "error")
    return table(header, rows)
