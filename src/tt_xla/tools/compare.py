"""``tt-xla compare``: where a program parts from float32 on the CPU."""

from __future__ import annotations

import json
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
from tt_xla.testing.divergence.subjects import Subject


def compare(
    subject: Subject, options: CompileOptions, *, by: str, required: float, shown: int, as_json: bool
) -> Comparison:
    """Compares the parts of a program and prints the rows that diverge first and most."""
    console = Console(stderr=True)
    if by == "instruction":
        found = compare_instructions(subject.source, subject.inputs, options, required=required)
        return _told(subject, found, shown, as_json)
    parts = subject.source.parts(by)
    with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as progress:
        task = progress.add_task(subject.name, total=len(parts))

        def advance(part: Part) -> None:
            progress.advance(task)

        found = compare_parts(subject.source, subject.inputs, options, parts, required=required, progress=advance)
    return _told(subject, found, shown, as_json)


def _told(subject: Subject, found: Comparison, shown: int, as_json: bool) -> Comparison:
    if as_json:
        print(json.dumps(_record(subject, found)))
    else:
        _show(subject, found, shown)
    return found


def _console() -> Console:
    """As wide as the terminal; in a file, wide enough for a table."""
    console = Console()
    return console if console.is_terminal else Console(width=180)


def _show(subject: Subject, found: Comparison, shown: int) -> None:
    console = _console()
    ranked = sorted(found.rows, key=lambda row: -(row.alone.weight if row.alone else float("inf")))[:shown]
    first, worst = found.first, found.worst
    rows = sorted({row.part.index: row for row in (*ranked, *filter(None, (first, worst)))}.items())
    table = Table(title=f"{subject.name}: those of {len(found.rows)} that lose most", box=None)
    for name in ("#", "part", "result", "alone: PCC", "error", "so far: PCC", "error", "source"):
        left = name in ("part", "result", "source")
        table.add_column(name, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for _, row in rows:
        table.add_row(*_cells(row))
    console.print(table)
    if found.failure:
        console.print(f"[red]The whole program fails[/]: {escape(found.failure)}", soft_wrap=True)
    else:
        console.print(f"Its results: {_text(found.results)}.")
    if found.in_float32 is not None:
        console.print(f"With each instruction in float32: {_text(found.in_float32)}; that is the compiler's.")
    if first is None:
        console.print(f"No part is below {found.required}.")
    else:
        console.print(f"First below {found.required}: {_named(first)}", soft_wrap=True)
    if worst is not None:
        console.print(f"Worst by itself: {_named(worst)}", soft_wrap=True)


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


def _named(row: Row) -> str:
    said = f": {escape(row.failure)}" if row.failure else ""
    where = f" at {escape(row.part.location)}" if row.part.location else ""
    return f"#{row.part.index} {escape(row.part.name)} to {row.part.result_types}{where}{said}"


def _record(subject: Subject, found: Comparison) -> dict[str, Any]:
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
        "program": subject.name,
        "passed": found.passed,
        "results": found.results and asdict(found.results),
        "in_float32": found.in_float32 and asdict(found.in_float32),
        "failure": found.failure,
        "first": plain(found.first),
        "worst": plain(found.worst),
        "parts": [plain(row) for row in found.rows],
    }


def show_bisection(
    subject: Subject,
    options: CompileOptions,
    how: str,
    span: tuple[int, int] | None,
    by: str,
    required: float,
    shown: int,
) -> None:
    """Runs a program, or a range of its parts, with other formats or without stages and rewrites of the compiler."""
    module, inputs, golden = _extract(subject, by, span)
    trials = (bisect.by_fusion if how == "fusion" else bisect.by_format)(module, inputs, golden, options)
    console = _console()
    table = Table(title=f"{subject.name} by {how}", box=None)
    for name in ("tried", "PCC", "relative error", "largest difference"):
        table.add_column(name, justify="left" if name == "tried" else "right", overflow="fold")
    for trial in trials:
        error = trial.error
        numbers = (escape(trial.failure), "", "") if error is None else (*_numbers(error), f"{error.absolute:.3g}")
        table.add_row(trial.label, *numbers)
    console.print(table)
    if how == "format":
        console.print(bisect.verdict(trials, required), soft_wrap=True)
        for trial in bisect.by_weight(module, inputs, golden, options)[:shown]:
            console.print(f"{escape(trial.label)}: {trial.failure or _text(trial.error)}", soft_wrap=True)
    else:
        console.print(_blamed(bisect.first_change(module, inputs, golden, options)), soft_wrap=True)


def _blamed(found: bisect.Culprit | None) -> str:
    if found is None:
        return "No rewrite of these stages raises the error."
    which = "; or ".join(escape(str(change)) for change in found.changes)
    return (
        f"The error comes with change {found.position} of {found.total}, {which}: "
        f"relative error {found.before.relative:.2e} before it, {found.after.relative:.2e} with it."
    )


def _extract(subject: Subject, by: str, span: tuple[int, int] | None) -> tuple[Any, list[Any], list[Any]]:
    """A range of parts, or the whole, as a module; what it takes and what it should give."""
    source = subject.source
    if span is None:
        module, values = source.module_returning(source.returned)
        results = source.returned
    else:
        module, values, results = source.module_of_parts(source.parts(by), *span)
    golden = Golden(source, subject.inputs, [*values, *results])
    return module, golden.of(values), golden.of(results)


def reproduce(
    subject: Subject, found: Comparison, folder: Path, span: tuple[int, int] | None, by: str, given: dict[str, Any]
) -> Path:
    """Writes a range of parts, or the worst part, as files that run by themselves.

    Raises:
        OptionError: the range is not in the program, or nothing was compared.
    """
    chosen = found.worst or found.first
    if span is None and chosen is None:
        raise OptionError(f"{subject.name} has no part to write.")
    span = span or (chosen.part.index, chosen.part.index)  # type: ignore[union-attr]
    module, inputs, _ = _extract(subject, by, span)
    parts = subject.source.parts(by)[span[0] : span[1] + 1]
    what = f"{', '.join(part.name for part in parts[:3])}{' ...' if len(parts) > 3 else ''}"
    where = f" at {parts[-1].location}" if parts[-1].location else ""
    return reproducer.write(folder, f"{what} of {subject.name}{where}.", module, inputs, given, found.required)


def span_of(text: str) -> tuple[int, int]:
    """``12`` or ``12:20``, both ends in.

    Raises:
        OptionError: it is neither.
    """
    first, separator, last = text.partition(":")
    try:
        found = int(first), int(last if separator else first)
    except ValueError:
        raise OptionError(f"{text!r} is no range of parts; write it as in 12 or 12:20.") from None
    return found


def chosen(subjects: Sequence[Subject], index: int | None) -> list[Subject]:
    """All programs of a model, or one.

    Raises:
        OptionError: there is none of that number.
    """
    if index is None:
        return list(subjects)
    if not 0 <= index < len(subjects):
        raise OptionError(f"The model has {len(subjects)} programs, numbered from 0; --program was given {index}.")
    return [subjects[index]]
