"""Implements ``tt-xla compile --explain``: form, bound, roofline and next best form of each op, and the reasons."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from tt_xla.compiler.ttnn.layouts.explain import Choice

WIDTH = 120
"""Characters in a line at most."""

_HEAD = ("op", "result", "form", "us", "bound", "roofline", "reached", "next best", "+us")
_WIDEST = (24, 18, 27, 9, 8, 9, 7, 27, 8)
"""Characters of each column at most; longer texts continue in the next line. One space separates columns."""
_RIGHT = frozenset({3, 5, 6, 8})
"""Columns of numbers."""


def show_choices(choices: Sequence[Choice]) -> None:
    """Prints a table with a row for each op, and below it why the op has its form. Ops without time are left out."""
    choices = [choice for choice in choices if choice.time_us or choice.moves]
    if not choices:
        click.echo("No op of the program takes device time.")
        return
    rows = [_cells(choice) for choice in choices]
    widths = [min(most, max(len(row[column]) for row in (_HEAD, *rows))) for column, most in enumerate(_WIDEST)]
    for line in _lines(_HEAD, widths):
        click.echo(line)
    for choice, row in zip(choices, rows, strict=True):
        for line in _lines(row, widths):
            click.echo(line)
        for line in textwrap.wrap("; ".join(_reasons(choice)), WIDTH - 4):
            click.echo(f"    {line}")
    spent, least = sum(choice.time_us for choice in choices), sum(choice.roofline_us for choice in choices)
    if spent:
        click.echo(f"all ops: {spent:.2f} us, roofline {least:.2f} us, {least / spent:.0%} reached")
    if not any(choice.why for choice in choices):
        click.echo("Other forms are searched at optimization level 2 (--level 2).")


def _cells(choice: Choice) -> tuple[str, ...]:
    """Returns the cells of an op, in the order of the head."""
    limited = choice.roofline_us > 0
    return (
        choice.op.removeprefix("ttnn."),
        "x".join(map(str, choice.shape)),
        choice.chosen,
        f"{choice.time_us:.2f}",
        choice.bound,
        f"{choice.roofline_us:.2f}" if limited else "",
        f"{choice.reached:.0%}" if limited else "",
        choice.runner_up,
        f"{choice.costs_us:.2f}" if choice.runner_up else "",
    )


def _lines(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Returns the lines of a row. Texts that are wider than their column continue in the next line."""
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    lines: list[str] = []
    for number in range(max(map(len, columns))):
        parts = [column[number] if number < len(column) else "" for column in columns]
        padded = [
            part.rjust(width) if index in _RIGHT else part.ljust(width)
            for index, (part, width) in enumerate(zip(parts, widths, strict=True))
        ]
        lines.append(" ".join(padded).rstrip())
    return lines


def _reasons(choice: Choice) -> list[str]:
    reasons = [choice.why] if choice.why else []
    if choice.moves:
        reasons.append(f"moved {', '.join(choice.moves)} ({choice.moves_us:.2f} us)")
    return reasons + list(choice.ruled_out[:2])


def choice_records(choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Returns the forms of ops as plain data."""
    return [dataclasses.asdict(choice) | {"reached": choice.reached} for choice in choices]
