"""Implements ``tt-xla models``: runs models outside pytest, with a live table."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from tt_xla.errors import OptionError
from tt_xla.testing.models import campaign, records, summary
from tt_xla.testing.models.processes import Limits
from tt_xla.testing.models.records import OUTCOMES, Record
from tt_xla.testing.models.suite import Suite, Task, similar

_COLOURS = {"passed": "green", "failed": "red", "xpassed": "red", "skipped": "yellow", "xfailed": "yellow"}
_SHOWN_TESTS = 12
"""Number of finished tests in the live table."""


def select(suite: Suite, filters: Sequence[str]) -> list[Task]:
    """Returns the tests whose ids have all the filters, in which ``*`` stands for any text.

    Raises:
        OptionError: there is no test, or none matches.
    """
    if not suite.tasks:
        raise OptionError(
            f"'{suite.discovery.root}' has no model, <model>/{{pytorch,jax}}/loader.py.",
            hint="Give the folder that contains the models.",
        )
    patterns = [re.compile(re.escape(text).replace(r"\*", ".*")) for text in filters]
    tasks = [task for task in suite.tasks if all(pattern.search(task.case.id) for pattern in patterns)]
    if not tasks:
        hint = similar(" ".join(filters), [task.case.id for task in suite.tasks]).strip()
        raise OptionError(
            f"No test below {suite.discovery.root} matches {' and '.join(filters) or 'anything'}.",
            hint=hint or f"List all with: tt-xla models {suite.discovery.root} --list",
        )
    return tasks


def run(
    tasks: Sequence[Task],
    out: Path,
    limits: Limits,
    *,
    jobs: int,
    before: Path | None,
    ray: str | None,
    lenient: bool,
) -> bool:
    """Runs tests with a live table, and writes ``records.jsonl`` and ``index.html``; see ``tt-xla models --help``.

    Returns:
        Whether all tests ended as expected.

    Raises:
        OptionError: ``before`` has no records.
        KeyboardInterrupt: the user interrupts; the report of the tests that have ended is written first.
    """
    records_file = out / "records.jsonl"
    previous = _previous(before) if before else None
    done = records.load(records_file, {task.case.id: task.key(limits, lenient=lenient) for task in tasks})
    resumed = len(done)
    interrupted = False
    running: dict[str, float] = {}
    console = Console()
    last: list[Record] = []

    def table() -> Group:
        return _table(done, running, last, len(tasks))

    def started(task: Task) -> None:
        running[task.case.id] = time.monotonic()

    live = Live(get_renderable=table, console=console, refresh_per_second=4, transient=not console.is_terminal)
    ended = campaign.run_all(tasks, limits, records_file, jobs=jobs, lenient=lenient, ray=ray, started=started)
    try:
        with live, contextlib.closing(ended):
            live.auto_refresh = console.is_terminal
            for record in ended:
                running.pop(record.test, None)
                done[record.test] = record
                last.append(record)
                if not console.is_terminal:
                    console.print(_line(record), soft_wrap=True)
    except KeyboardInterrupt:
        interrupted = True
        console.print(f"Interrupted: {len(done)} of {len(tasks)} tests have ended. The same command runs the others.")
    _print_outcome(console, done, resumed, summary.regressions(done, previous) if previous is not None else [])
    console.print(f"{summary.write(out, done, previous)}", soft_wrap=True)
    if interrupted:
        raise KeyboardInterrupt
    return not any(record.outcome in ("failed", "xpassed") for record in done.values())


def _previous(report: Path) -> dict[str, Record]:
    """Returns the records of a previous run's report, or of its ``records.jsonl``.

    Raises:
        OptionError: there are none.
    """
    previous = records.load(report / "records.jsonl" if report.is_dir() else report)
    if not previous:
        raise OptionError(
            f"'{report}' has no records of a previous run.",
            hint="--against takes the folder that --report named then, or its records.jsonl.",
        )
    return previous


def _line(record: Record) -> str:
    correlation = "" if record.pcc is None else f" pcc={record.pcc:.4f}"
    message = (record.error or record.reason).partition("\n")[0]
    colour = _COLOURS[record.outcome]
    return f"[{colour}]{record.outcome}[/] {escape(record.test)}{correlation} {record.seconds:.1f} s {escape(message)}"


def _table(done: dict[str, Record], running: dict[str, float], last: list[Record], total: int) -> Group:
    table = Table(box=None)
    for name in ("test", "outcome", "PCC", "seconds", "bring-up"):
        table.add_column(name)
    for record in last[-_SHOWN_TESTS:]:
        outcome = f"[{_COLOURS[record.outcome]}]{record.outcome}[/]"
        pcc = "" if record.pcc is None else f"{record.pcc:.4f}"
        table.add_row(escape(record.test), outcome, pcc, f"{record.seconds:.1f}", record.bringup_status)
    for test, since in list(running.items()):
        table.add_row(escape(test), "running", "", f"{time.monotonic() - since:.0f}", "")
    return Group(table, ProgressBar(total=total or 1, completed=len(done)), _counts(done))


def _counts(done: dict[str, Record]) -> str:
    counts = Counter(record.outcome for record in done.values())
    return (
        ", ".join(f"[{_COLOURS[name]}]{counts[name]} {name}[/]" for name in OUTCOMES if counts[name]) or "nothing yet"
    )


def _print_outcome(console: Console, done: dict[str, Record], resumed: int, worse: Sequence[tuple[str, str]]) -> None:
    console.print(f"{len(done)} tests: {_counts(done)}" + (f"; {resumed} of them ran earlier" if resumed else ""))
    for test, change in worse:
        console.print(f"[red]regression[/] {escape(test)}: {change}", soft_wrap=True)
