"""Implements ``tt-xla compare``: shows where a program differs from float32 on the CPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from tt_xla.errors import OptionError
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence import bisect, reproducer
from tt_xla.testing.divergence.instructions import compare_instructions
from tt_xla.testing.divergence.parts import Comparison, Error, Golden, Row, compare_parts
from tt_xla.testing.divergence.scripts import ComparedScript
from tt_xla.testing.divergence.scripts import compare_script as run_script
from tt_xla.testing.divergence.subjects import Subject
from tt_xla.tools.output import console, print_json, progress_bar, publish_out, table


@dataclass(frozen=True)
class View:
    """How programs are cut, judged and shown."""

    by: str = "op"
    """How to cut a program: ``op``, ``line``, ``layer`` or ``instruction``."""
    required: float = 0.99
    """The least correlation that counts as agreement."""
    shown: int = 10
    """Number of parts, calls or weights to print."""
    as_json: bool = False


def compare(subject: Subject, options: CompileOptions, view: View) -> Comparison:
    """Compares the parts of a program, and prints the parts with the first and the largest errors."""
    if view.by == "instruction":
        comparison = compare_instructions(subject.source, subject.inputs, options, required=view.required)
    else:
        parts = subject.source.parts(view.by)
        with progress_bar(subject.name) as progress:
            progress(len(parts), "")
            comparison = compare_parts(
                *(subject.source, subject.inputs, options, parts),
                required=view.required,
                progress=lambda part: progress(0, ""),
            )
    _print(subject.name, comparison, view)
    return comparison


def compare_script(script: Path, arguments: Sequence[str], view: View) -> ComparedScript:
    """Runs a script, and prints its calls of ``ttnn`` with the first and the largest errors if it has any."""
    compared = run_script(script, arguments, required=view.required)
    if compared.calls is not None:
        _print(script.name, compared.calls, view)
    return compared


def _print(name: str, comparison: Comparison, view: View) -> None:
    if view.as_json:
        print_json(_record(name, comparison))
    else:
        _show(name, comparison, view.shown)


def _show(name: str, comparison: Comparison, shown: int) -> None:
    ranked = sorted(comparison.rows, key=lambda row: -(row.alone.weight if row.alone else float("inf")))[:shown]
    first, worst = comparison.first, comparison.worst
    rows = sorted({row.part.index: row for row in (*ranked, *filter(None, (first, worst)))}.items())
    parts = table(
        *(">#", "part", "result", ">alone: PCC", ">error", ">so far: PCC", ">error", "source"),
        title=f"{name}: the parts of {len(comparison.rows)} with the largest errors",
    )
    for _, row in rows:
        parts.add_row(*_cells(row))
    console(folds=True).print(parts)
    if comparison.interrupted:
        click.echo("Interrupted; parts after these were not compared.")
    if comparison.failure:
        click.echo(f"The whole program fails: {comparison.failure}")
    else:
        click.echo(f"Results of the program: {_text(comparison.results)}.")
    if comparison.in_float32 is not None:
        in_float32 = _text(comparison.in_float32)
        click.echo(f"With each instruction in float32: {in_float32}. The compiler causes this part of the error.")
    if first is None:
        click.echo(f"No part is below {comparison.required}.")
    else:
        click.echo(f"First below {comparison.required}: {_title(first)}")
    if worst is not None:
        click.echo(f"Worst by itself: {_title(worst)}")


def _cells(row: Row) -> list[str]:
    numbers = [text for error in (row.alone, row.running) for text in _numbers(error)]
    if row.failure:
        numbers[0], numbers[1] = "fails", ""
    source = "/".join(row.part.location.split("/")[-2:])
    return [str(row.part.index), row.part.name, row.part.result_types, *numbers, source]


def _numbers(error: Error | None) -> tuple[str, str]:
    return ("", "") if error is None else (f"{error.pcc:.5f}", f"{error.relative:.2e}")


def _text(error: Error | None) -> str:
    if error is None:
        return "none"
    return f"PCC {error.pcc:.5f}, relative error {error.relative:.2e}, largest difference {error.absolute:.3g}"


def _title(row: Row) -> str:
    """Returns number, name, result types and source line of a part, and why it fails if it does."""
    failure = f": {row.failure}" if row.failure else ""
    where = f" at {row.part.location}" if row.part.location else ""
    return f"#{row.part.index} {row.part.name} to {row.part.result_types}{where}{failure}"


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
    subject: Subject, options: CompileOptions, how: str, span: tuple[int, int] | None, view: View
) -> None:
    """Runs a program or a range of its parts in other number formats, or without some rewrites, and prints the errors.

    Args:
        how: ``fusion`` for rewrites or ``format`` for number formats.
        span: first and last part; None for the whole program.
    """
    bisection = bisect.Bisection(*_extract(subject, view.by, span), options)
    trials = bisection.by_fusion() if how == "fusion" else bisection.by_format()
    if how == "format":
        weights = bisection.by_weight()[: view.shown]
        conclusions = [bisect.verdict(trials, view.required)]
        conclusions += [f"{trial.label}: {trial.failure or _text(trial.error)}" for trial in weights]
    else:
        conclusions = [_culprit_text(bisection.first_change())]
    if view.as_json:
        found = {"program": subject.name, "bisect": how, "trials": [asdict(trial) for trial in trials]}
        print_json(found | {"conclusions": conclusions})
        return
    shown_trials = table("trial", ">PCC", ">relative error", ">largest difference", title=f"{subject.name} by {how}")
    shown_trials.columns[1].no_wrap = False  # which has reasons of failures too
    for trial in trials:
        error = trial.error
        numbers = (trial.failure, "", "") if error is None else (*_numbers(error), f"{error.absolute:.3g}")
        shown_trials.add_row(trial.label, *numbers)
    console(folds=True).print(shown_trials)
    for conclusion in conclusions:
        click.echo(conclusion)


def _culprit_text(culprit: bisect.Culprit | None) -> str:
    """Returns a sentence about the rewrite that raises the error."""
    if culprit is None:
        return "No rewrite of these stages raises the error."
    changes = "; or ".join(str(change) for change in culprit.changes)
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
    """Writes a range of parts, or the worst part, to files that run by themselves, and returns the path of the test.

    Args:
        comparison: the comparison of the program's parts, cut ``by`` this.
        span: first and last part; None for the worst part.
        options: compile options that differ from the defaults.

    Raises:
        OptionError: the program has no such parts.
        OutputError: the folder cannot be written, or has other files in these places.
    """
    row = comparison.worst or comparison.first
    if span is None and row is None:
        raise OptionError(f"{subject.name} has no part to write.")
    span = span or (row.part.index, row.part.index)  # type: ignore[union-attr]
    module, inputs, _ = _extract(subject, by, span)
    parts = subject.source.parts(by)[span[0] : span[1] + 1]
    names = f"{', '.join(part.name for part in parts[:3])}{' ...' if len(parts) > 3 else ''}"
    where = f" at {parts[-1].location}" if parts[-1].location else ""
    title = f"{names} of {subject.name}{where}."
    publish_out(folder, reproducer.files(title, module, inputs, options, comparison.required))
    return folder / reproducer.TEST_NAME


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
