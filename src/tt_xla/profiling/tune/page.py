"""What a search found, as JSON and as one page with the plot of throughput against accuracy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tt_xla.profiling import svg
from tt_xla.profiling.page import Cell, cards, page, section, table
from tt_xla.profiling.tune.choice import Outcome, pareto

CHOSEN_NAME = "chosen.json"
HTML_NAME = "tune.html"


def write_chosen(path: Path, chosen: Outcome, metric: str) -> None:
    """The options of one outcome; ``compile_options`` is what ``torch_xla.set_custom_compile_options`` takes."""
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
    """Writes the page."""
    front = pareto(list(outcomes), metric)
    known = [each for each in outcomes if not each.error and not each.choice.reference]
    parts: list[str] = []
    if chosen is not None:
        parts.append(cards(_figures(chosen, metric)))
    name = metric or f"PCC with {_reference(outcomes)}"
    parts.append(section("Throughput against accuracy", _plot(known, front, chosen, metric), note=_NOTE))
    parts.append(section("Trials", _table(outcomes, front, metric)))
    title = f"Tuning of {Path(program).name}"
    path.write_text(page(title, f"{len(outcomes)} trials; accuracy is {name}", parts), encoding="utf-8")


_NOTE = "Each dot is a trial; the line joins those that no other one beats, and the large one is chosen."


def _reference(outcomes: Sequence[Outcome]) -> str:
    return next((each.compared_with for each in outcomes if each.choice.reference), "the reference")


def unit(outcome: Outcome) -> str:
    return "samples/s" if outcome.choice.batch else "steps/s"


def _figures(chosen: Outcome, metric: str) -> list[tuple[str, str]]:
    accuracy = chosen.accuracy(metric)
    return [
        ("chosen", chosen.choice.label),
        (f"{unit(chosen)}, predicted", svg.number(chosen.throughput)),
        ("a step, predicted", f"{chosen.step_ms:.4g} ms"),
        (metric or "PCC", "unknown" if accuracy is None else f"{accuracy:.5f}"),
        ("DRAM at its peak", f"{svg.number(chosen.dram_bytes)}B"),
    ]


def _plot(known: Sequence[Outcome], front: Sequence[Outcome], chosen: Outcome | None, metric: str) -> str:
    points = [(each, accuracy) for each in known if (accuracy := each.accuracy(metric)) is not None]
    if not points:
        return '<p class="soft">No trial could be compared with the reference.</p>'
    low, high = min(accuracy for _, accuracy in points), max(accuracy for _, accuracy in points)
    margin = 0.05 * (high - low) or 0.001
    x = svg.x_scale(0.0, 1.1 * max(each.throughput for each, _ in points))
    y = svg.y_scale(low - margin, high + margin)
    parts = svg.axes(x, y, f"predicted {unit(points[0][0])}", metric or "PCC")
    line = [(each.throughput, each.accuracy(metric) or 0.0) for each in front]
    parts.append(svg.line(x, y, line, "#98a3af", "the Pareto front", steps=False))
    for each, accuracy in points:
        colour = svg.COLOURS["Compute"] if each in front else svg.COLOURS["Other"]
        title = f"{each.choice.label}\n{each.throughput:.4g} {unit(each)}, {accuracy:.5f}"
        radius = 9.0 if each is chosen else 5.0
        parts.append(svg.dot(x(each.throughput), y(accuracy), radius, colour, title))
    return svg.frame(parts)


def _table(outcomes: Sequence[Outcome], front: Sequence[Outcome], metric: str) -> str:
    rows: list[list[Cell]] = []
    for each in sorted(outcomes, key=lambda one: -one.throughput):
        accuracy = each.accuracy(metric)
        rows.append(
            [
                Cell(each.choice.label),
                Cell("yes" if each in front else ""),
                Cell(f"{each.throughput:.4g}", each.throughput),
                Cell(f"{each.step_ms:.4g}", each.step_ms),
                Cell("" if accuracy is None else f"{accuracy:.5f}", accuracy or 0.0),
                Cell(svg.number(each.dram_bytes), each.dram_bytes),
                Cell(each.choice.overrides.replace("=bfp_bf4", "").replace(",", ", ")),
                Cell(each.error),
            ]
        )
    header = ("choice", "front", "throughput", "step ms", metric or "PCC", "DRAM bytes", "bfp4 weights", "error")
    return table(header, rows)
