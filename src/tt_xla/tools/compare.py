"""Implements ``tt-xla compare``: shows where a program differs from float32 on the CPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from tt_xla.errors import OptionError
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence import bisect, reproducer
from tt_xla.testing.divergence.instructions import compare_instructions
from tt_xla.testing.divergence.modules import Part
from tt_xla.testing.divergence.parts import Comparison, Error, Golden, Row, compare_parts
from tt_xla.testing.divergence.scripts import ComparedScript
from tt_xla.testing.divergence.scripts import compare_script as run_script
from tt_xla.testing.divergence.subjects import Subject
from tt_xla.tools.output import console, print_json


def compare(
    subject: Subject, options: CompileOptions, *, by: str, required: float, shown: int, as_json: bool
) -> Comparison:
    """Compares the parts of a program, and prints the parts with the first and the largest errors.

    Args:
        subject: the program.
        options: compile options.
        by: how to cut the program: ``op``, ``line``, ``layer`` or ``instruction``.
        required: the least correlation that counts as agreement.
        shown: number of parts to print.
        as_json: whether to print JSON.
    """
    if by == "instruction":
        comparison = compare_instructions(subject.source, subject.inputs, options, required=required)
        _print(subject.name, comparison, shown, as_json)
        return comparison
    parts = subject.source.parts(by)
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=as_json or not screen.is_terminal) as progress:
        task = progress.add_task(subject.name, total=len(parts))

        def advance(part: Part) -> None:
            progress.advance(task)

        comparison = compare_parts(subject.source, subject.inputs, options, parts, required=required, progress=advance)
    _print(subject.name, comparison, shown, as_json)
    return comparison


def compare_script(
    script: Path, arguments: Sequence[str], *, required: float, shown: int, as_json: bool
) -> ComparedScript:
    """Runs a script, and prints its calls of ``ttnn`` with the first and the largest errors if it has any.

    Args:
        script: path of the script.
        arguments: its command-line arguments.
        required: the least correlation that counts as agreement.
        shown: number of calls to print.
        as_json: whether to print JSON.
    """
    compared = run_script(script, arguments, required=required)
    if compared.calls is not None:
        _print(script.name, compared.calls, shown, as_json)
    return compared


def _print(name: str, comparison: Comparison, shown: int, as_json: bool) -> None:
    if as_json:
        print_json(_record(name, comparison))
    else:
        _show(name, comparison, shown)


def _show(name: str, comparison: Comparison, shown: int) -> None:
    screen = console(folds=True)
    ranked = sorted(comparison.rows, key=lambda row: -(row.alone.weight if row.alone else float("inf")))[:shown]
    first, worst = comparison.first, comparison.worst
    rows = sorted({row.part.index: row for row in (*ranked, *filter(None, (first, worst)))}.items())
    table = Table(title=f"{name}: the parts of {len(comparison.rows)} with the largest errors", box=None)
    for column in ("#", "part", "result", "alone: PCC", "error", "so far: PCC", "error", "source"):
        left = column in ("part", "result", "source")
        table.add_column(column, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for _, row in rows:
        table.add_row(*_cells(row))
    screen.print(table)
    if comparison.interrupted:
        screen.print("Interrupted; parts after these were not compared.")
    if comparison.failure:
        screen.print(f"[red]The whole program fails[/]: {escape(comparison.failure)}", soft_wrap=True)
    else:
        screen.print(f"Results of the program: {_text(comparison.results)}.")
    if comparison.in_float32 is not None:
        in_float32 = _text(comparison.in_float32)
        screen.print(f"With each instruction in float32: {in_float32}. The compiler causes this part of the error.")
    if first is None:
        screen.print(f"No part is below {comparison.required}.")
    else:
        screen.print(f"First below {comparison.required}: {_title(first)}", soft_wrap=True)
    if worst is not None:
        screen.print(f"Worst by itself: {_title(worst)}", soft_wrap=True)


def _cells(row: Row) -> list[str]:
    numbers = [text for error in (row.alone, row.running) for text in _numbers(error)]
    if row.failure:
        numbers[0], numbers[1] = "fails", ""
    source = "/".join(row.part.location.split("/")[-2:])
    return [str(row.part.index), escape(row.part.name), row.part.result_types, *numbers, escape(source)]


def _numbers(error: Error | None) -> tuple[str, str]:
    return ("", "") if error is None else (f"{error.pcc:.5f}", f"{error.relative:.2e}")


def _text(error: Error | None) -> str:
    if error is None:
        return "none"
    return f"PCC {error.pcc:.5f}, relative error {error.relative:.2e}, largest difference {error.absolute:.3g}"


def _title(row: Row) -> str:
    """Returns number, name, result types and source line of a part, and why it fails if it does."""
    failure = f": {escape(row.failure)}" if row.failure else ""
    where = f" at {escape(row.part.location)}" if row.part.location else ""
    return f"#{row.part.index} {escape(row.part.name)} to {row.part.result_types}{where}{failure}"


def _record(name: str, comparison: Comparison) -> dict[str, Any]:
    """Returns a comparison as plain data."""

    def plain(row: Row | None) -> dict[str, Any] | None:
        if row is None:
            return None
        alone, running = row.alone and asdict(row.alone), row.running and asdict(row.running)
        part = {
            "index": row.part.index,
            "part": row.part.name,
            "made": row.part.result_types,
            "source": row.part.location,
        }
        return part | {"alone": alone, "running": running, "failure": row.failure}

    return {
        "program": name,
        "passed": comparison.passed and not comparison.interrupted,
        "interrupted": comparison.interrupted,
        "results": comparison.results and asdict(comparison.results),
        "in_float32": comparison.in_float32 and asdict(comparison.in_float32),
        "failure": comparison.failure,
        "first": plain(comparison.first),
        "worst": plain(comparison.worst),
        "parts": [plain(row) for row in comparison.rows],
    }


def show_bisection(
    subject: Subject,
    options: CompileOptions,
    how: str,
    span: tuple[int, int] | None,
    by: str,
    required: float,
    shown: int,
    *,
    as_json: bool,
) -> None:
    """Runs a program or a range of its parts in other number formats, or without some rewrites, and prints the errors.

    Args:
        subject: the program.
        options: compile options.
        how: ``fusion`` for rewrites or ``format`` for number formats.
        span: first and last part; None for the whole program.
        by: how to cut the program.
        required: the least correlation that counts as agreement.
        shown: number of weights to print.
        as_json: whether to print JSON.
    """
    bisection = bisect.Bisection(*_extract(subject, by, span), options)
    trials = bisection.by_fusion() if how == "fusion" else bisection.by_format()
    if how == "format":
        weights = bisection.by_weight()[:shown]
        conclusions = [bisect.verdict(trials, required)]
        conclusions += [f"{escape(trial.label)}: {trial.failure or _text(trial.error)}" for trial in weights]
    else:
        conclusions = [_culprit_text(bisection.first_change())]
    if as_json:
        found = {"program": subject.name, "bisect": how, "trials": [asdict(trial) for trial in trials]}
        print_json(found | {"conclusions": conclusions})
        return
    screen = console(folds=True)
    table = Table(title=f"{subject.name} by {how}", box=None)
    for name in ("trial", "PCC", "relative error", "largest difference"):
        table.add_column(name, justify="left" if name == "trial" else "right", overflow="fold")
    for trial in trials:
        error = trial.error
        numbers = (escape(trial.failure), "", "") if error is None else (*_numbers(error), f"{error.absolute:.3g}")
        table.add_row(trial.label, *numbers)
    screen.print(table)
    for conclusion in conclusions:
        screen.print(conclusion, soft_wrap=True)


def _culprit_text(culprit: bisect.Culprit | None) -> str:
    """Returns a sentence about the rewrite that raises the error."""
    if culprit is None:
        return "No rewrite of these stages raises the error."
    changes = "; or ".join(escape(str(change)) for change in culprit.changes)
    return (
        f"The error comes with change {culprit.position} of {culprit.total}, {changes}: "
        f"relative error {culprit.before.relative:.2e} before it, {culprit.after.relative:.2e} with it."
    )


def _extract(subject: Subject, by: str, span: tuple[int, int] | None) -> tuple[Any, list[Any], list[Any]]:
    """Returns a module of a range of parts or of the whole program, its arguments, and its results in float32."""
    source = subject.source
    if span is None:
        module, values = source.module_returning(source.returned)
        results = source.returned
    else:
        module, values, results = source.module_of_parts(source.parts(by), *span)
    golden = Golden(source, subject.inputs, [*values, *results])
    return module, golden.of(values), golden.of(results)


def reproduce(
    subject: Subject,
    comparison: Comparison,
    folder: Path,
    span: tuple[int, int] | None,
    by: str,
    options: dict[str, Any],
) -> Path:
    """Writes a range of parts or the worst part to files that run by themselves.

    Args:
        subject: the program.
        comparison: the comparison of its parts.
        folder: folder to write to.
        span: first and last part; None for the worst part.
        by: how to cut the program.
        options: compile options that differ from the defaults.

    Returns:
        The path of the test.

    Raises:
        OptionError: the program has no such parts.
    """
    row = comparison.worst or comparison.first
    if span is None and row is None:
        raise OptionError(f"{subject.name} has no part to write.")
    span = span or (row.part.index, row.part.index)  # type: ignore[union-attr]
    module, inputs, _ = _extract(subject, by, span)
    parts = subject.source.parts(by)[span[0] : span[1] + 1]
    names = f"{', '.join(part.name for part in parts[:3])}{' ...' if len(parts) > 3 else ''}"
    where = f" at {parts[-1].location}" if parts[-1].location else ""
    return reproducer.write(folder, f"{names} of {subject.name}{where}.", module, inputs, options, comparison.required)


def span_of(text: str) -> tuple[int, int]:
    """Returns first and last part of a range such as ``12`` or ``12:20``; the last one is included.

    Raises:
        OptionError: the text is not a range.
    """
    numbers = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    if numbers is None:
        raise OptionError(f"--range got {text!r}; expected parts such as 12 or 12:20.")
    return int(numbers[1]), int(numbers[2] or numbers[1])


def selected(subjects: Sequence[Subject], index: int | None) -> list[Subject]:
    """Returns the program of an index; all programs if the index is None.

    Raises:
        OptionError: there is no such program.
    """
    if index is None:
        return list(subjects)
    if not 0 <= index < len(subjects):
        raise OptionError(f"--program got {index}; the model has {len(subjects)} programs, counted from 0.")
    return [subjects[index]]
