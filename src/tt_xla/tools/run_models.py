"""``tt-xla models``: the model runner outside pytest."""

from __future__ import annotations

import os
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
from tt_xla.testing.models.config import ModelTestStatus
from tt_xla.testing.models.discovery import discover
from tt_xla.testing.models.processes import Limits
from tt_xla.testing.models.records import OUTCOMES, Record

_COLOURS = {"passed": "green", "failed": "red", "xpassed": "red", "skipped": "yellow", "xfailed": "yellow"}
_LAST = 12
"""Finished tests that the live table shows."""


def select(
    root: Path, folders: Sequence[Path], filters: Sequence[str], arch: str | None, report: Callable[[str], None]
) -> list[campaign.Task]:
    """The tests whose ids have every one of ``filters`` in them, where ``*`` is anything, without those excluded."""
    found = discover(root)
    expected = config.read(config.config_files(folders or [root / "test_config"]))
    for problem in (*found.problems, *expected.problems):
        report(problem)
    patterns = [re.compile(re.escape(text).replace(r"\*", ".*")) for text in filters]
    tasks = [
        campaign.Task(case, expected.of(case.id, arch))
        for case in found.cases
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
    """Runs tests with a live table and writes ``records.jsonl`` and ``index.html``; whether all went as expected.

    Args:
        out: what is recorded there already is not run again.
        before: the folder of a previous run, for regressions.
    """
    kept = out / "records.jsonl"
    wanted = {task.case.id for task in tasks}
    done = {test: record for test, record in records.load(kept).items() if test in wanted}
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
            kept,
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
    _tell(console, done, resumed, summary.regressions(done, previous) if previous is not None else [])
    console.print(f"{summary.write(out, done, previous)}", soft_wrap=True)
    return not any(record.outcome in ("failed", "xpassed") for record in done.values())


def _line(record: Record) -> str:
    correlation = "" if record.pcc is None else f" pcc={record.pcc:.4f}"
    said = (record.error or record.reason).partition("\n")[0]
    colour = _COLOURS[record.outcome]
    return f"[{colour}]{record.outcome}[/] {escape(record.test)}{correlation} {record.seconds:.1f} s {escape(said)}"


def _table(done: dict[str, Record], running: dict[str, float], last: list[Record], total: int) -> Group:
    shown = Table(box=None)
    for name in ("test", "outcome", "PCC", "seconds", "bring-up"):
        shown.add_column(name)
    for record in last[-_LAST:]:
        outcome = f"[{_COLOURS[record.outcome]}]{record.outcome}[/]"
        pcc = "" if record.pcc is None else f"{record.pcc:.4f}"
        shown.add_row(escape(record.test), outcome, pcc, f"{record.seconds:.1f}", record.bringup_status)
    for test, since in list(running.items()):
        shown.add_row(escape(test), "running", "", f"{time.monotonic() - since:.0f}", "")
    return Group(shown, ProgressBar(total=total or 1, completed=len(done)), _counts(done))


def _counts(done: dict[str, Record]) -> str:
    counts = Counter(record.outcome for record in done.values())
    return (
        ", ".join(f"[{_COLOURS[name]}]{counts[name]} {name}[/]" for name in OUTCOMES if counts[name]) or "nothing yet"
    )


def _tell(console: Console, done: dict[str, Record], resumed: int, worse: Sequence[tuple[str, str]]) -> None:
    console.print(f"{len(done)} tests: {_counts(done)}" + (f"; {resumed} of them from before" if resumed else ""))
    for test, what in worse:
        console.print(f"[red]regression[/] {escape(test)}: {what}", soft_wrap=True)


def default_memory(jobs: int) -> int:
    """Bytes for each model: four fifths of what the machine has, shared."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 0.8 / jobs)
