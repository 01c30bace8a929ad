"""Implements ``tt-xla compile --explain``: the layout of each op at level 2, the runner-up, and the reasons."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence

import click

from tt_xla.compiler.ttnn.layouts.explain import Choice


def show(choices: Sequence[Choice]) -> None:
    """Prints a table with one row per op."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
    if not choices:
        console.print(
            "There are no layouts to explain; the compiler chooses them at optimization level 2 (--level 2).",
            markup=False,
        )
        return
    table = Table("op", "result", "layout", "us", "runner-up", "+us", "why", box=None)
    table.columns[3].justify = table.columns[5].justify = "right"
    for choice in choices:
        table.add_row(
            choice.op,
            "x".join(map(str, choice.shape)),
            choice.chosen,
            f"{choice.time_us:.2f}",
            choice.runner_up,
            f"{choice.costs_us:.2f}" if choice.runner_up else "",
            "; ".join(_reasons(choice)),
        )
    console.print(table)


def _reasons(choice: Choice) -> list[str]:
    reasons = [choice.why]
    if choice.moves:
        reasons.append(f"moved {', '.join(choice.moves)} ({choice.moves_us:.2f} us)")
    return reasons + list(choice.ruled_out[:2])


def show_json(module: str, choices: Sequence[Choice]) -> None:
    """Prints the choices for a module as one line of JSON."""
    click.echo(json.dumps({"module": module, "choices": [dataclasses.asdict(choice) for choice in choices]}))
