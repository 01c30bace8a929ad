"""Implements ``tt-xla models``: runs models outside pytest, with a live table."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from tt_xla.testing.models import campaign, config, records, summary
from tt_xla.testing.models.collection import RUNNER
from tt_xla.testing.models.config import ModelTestStatus
from tt_xla.testing.models.discovery import discover
from tt_xla.testing.models.processes import Limits
from tt_xla.testing.models.records import OUTCOMES, Record

_COLOURS = {"passed": "green", "failed": "red", "xpassed": "red", "skipped": "yellow", "xfailed": "yellow"}
_SHOWN_TESTS = 12
"""Number of finished tests in the live table."""


def select(
    root: Path, folders: Sequence[Path], filters: Sequence[str], arch: str | None, report: Callable[[str], None]
) -> list[campaign.Task]:
    """Returns the tests to run.

    Args:
        root: folder with loaders.
        folders: folders with ``test_config_*.yaml``; by default ``test_config`` of the root, or of ``tests/runner``.
        filters: parts of test ids, which must all match; ``*`` stands for any text.
        arch: architecture whose overrides apply.
        report: called with each problem of a loader or a file of expectations.
    """
    discovery = discover(root)
    expectations = config.read(config.config_files(folders or config.default_folders(root, Path.cwd() / RUNNER)))
    for problem in (*discovery.problems, *expectations.problems):
        report(problem)
    patterns = [re.compile(re.escape(text).replace(r"\*", ".*")) for text in filters]
    tasks = [
        campaign.Task(case, expectations.of(case.id, arch))
        for case in discovery.cases
        if all(pattern.search(case.id) for pattern in patterns)
    ]
    return [task for task in tasks if task.expectation.status is not ModelTestStatus.EXCLUDE_MODEL]


def run(
    root: Path,
    tasks: Sequence[campaign.Task],
    out: Path,
    limits: Limits,
    *,
    jobs: int,
    before: Path | None = None,
    ray: str | None = None,
    lenient: bool = False,
) -> bool:
    """Runs tests with a live table, and writes ``records.jsonl`` and ``index.html``.

    Args:
        root: folder with loaders.
        tasks: the tests.
        out: folder of the report. Tests that it has records of are not run again.
        limits: limits of one test.
        jobs: number of tests that run at the same time.
        before: report of a previous run, to show regressions.
        ray: address of a Ray cluster to run on; None for this machine.
        lenient: whether a test that passes although it is expected to fail counts as expected.

    Returns:
        Whether all tests ended as expected.
    """
    records_file = out / "records.jsonl"
    selected = {task.case.id for task in tasks}
    done = {test: record for test, record in records.load(records_file).items() if test in selected}
    resumed = len(done)
    running: dict[str, float] = {}
    console = Console()
    last: list[Record] = []

    def table() -> Group:
        return _table(done, running, last, len(tasks))

    with Live(get_renderable=table, console=console, refresh_per_second=4, transient=not console.is_terminal) as live:
        live.auto_refresh = console.is_terminal
        for record in campaign.run_all(
            root,
            tasks,
            limits,
            records_file,
            jobs=jobs,
            lenient=lenient,
            ray=ray,
            started=lambda task: running.update({task.case.id: time.monotonic()}),
        ):
            running.pop(record.test, None)
            done[record.test] = record
            last.append(record)
            if not console.is_terminal:
                console.print(_line(record), soft_wrap=True)
    previous = records.load(before / "records.jsonl" if before.is_dir() else before) if before else None
    _print_outcome(console, done, resumed, summary.regressions(done, previous) if previous is not None else [])
    console.print(f"{summary.write(out, done, previous)}", soft_wrap=True)
    return not any(record.outcome in ("failed", "xpassed") for record in done.values())


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
