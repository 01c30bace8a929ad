"""Command-line interface: ``python -m tests.fuzz``, which ``make fuzz`` calls."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.fuzz import kinds, running, summary, worker
from tests.fuzz.cases import Case, NotDrawnError

FOLDER = running.ROOT / "build/fuzz"
WRONG = ("different", "error", "hang", "crash")
"""Verdicts that are faults."""
_console = Console(highlight=False, soft_wrap=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Draws programs from the registries of compiler and front ends, and judges them by XLA's CPU client and torch.

    A program is named by its kind, the seed and a number, such as ops:7:123, and is the same in each run. `run` judges
    many, `again` one, and `show` prints it.
    """


@main.command()
@click.option("--seed", default=lambda: datetime.date.today().isoformat(), help="Any text (default today's date).")
@click.option("--count", type=click.IntRange(1), help="Programs to judge; without it and --minutes, 1000.")
@click.option("--minutes", type=click.FloatRange(0.0, min_open=True), help="Time after which no program begins.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes that judge.")
@click.option("--kind", "names", multiple=True, type=click.Choice([*kinds.SHARES]), help="Kinds to draw (default all).")
@click.option("--document", type=click.Path(path_type=Path), help="Page whose table of what was reached is made anew.")
@click.option("--resume", is_flag=True, help="Go on where a run ended, and judge its faults again.")
def run(
    seed: str,
    count: int | None,
    minutes: float | None,
    jobs: int,
    names: tuple[str, ...],
    document: Path | None,
    resume: bool,
) -> None:
    """Judges drawn programs, and lists the faults and what no program reached.

    All records are in build/fuzz/SEED/records.jsonl. The exit status is 1 if there is a fault.
    """
    count = count or (None if minutes else 1000)
    folder = FOLDER / "".join(char if char.isalnum() or char in "-_." else "_" for char in seed)
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    verdicts: Counter[str] = Counter()
    tally = summary.Tally()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    path = folder / "records.jsonl"
    known = _without_fault(path) if resume and path.exists() else []
    with path.open("w") as file, Progress(*columns, console=_console, transient=True) as progress:
        task = progress.add_task("programs", total=count)

        def record(judged: running.Record) -> bool:
            file.write(json.dumps(judged) + "\n")
            file.flush()
            tally.add(judged)
            verdicts[judged["verdict"]] += 1
            if judged["verdict"] in WRONG:
                _console.print(f"[red]{judged['verdict']}[/] {judged['case']}")
                _console.print(judged["details"][-1500:], markup=False)
            done = verdicts.total() - verdicts["undrawn"]
            faults = sum(verdicts[name] for name in WRONG)
            progress.update(task, completed=done, description=f"{faults} faults, programs")
            return (count is None or done < count) and time.monotonic() < end

        for judged in known:
            record(judged)
        judged_cases = {judged["case"] for judged in known}
        others = (case for case in kinds.cases(seed, names) if str(case) not in judged_cases)
        entries = running.judge_all(others, folder, jobs, record)
    _console.print(tally.text(seed, entries), markup=False)
    if document is not None:
        summary.write(document, tally, seed, entries)
    raise SystemExit(1 if any(verdicts[name] for name in WRONG) else 0)


def _without_fault(path: Path) -> list[running.Record]:
    """Returns the records of a run whose programs hold. The run may have ended in the middle of a line."""
    records: list[running.Record] = []
    for line in path.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            records.append(json.loads(line))
    return [record for record in records if record["verdict"] not in WRONG]


@main.command()
@click.argument("case", type=Case.parse, metavar="CASE")
def show(case: Case) -> None:
    """Prints the program of CASE with its inputs."""
    worker.prepare()
    print(kinds.load(case.kind)(case.generator()).text)


@main.command()
@click.argument("case", type=Case.parse, metavar="CASE")
def again(case: Case) -> None:
    """Judges CASE in this process, where a debugger can follow, and prints what is wrong."""
    worker.prepare()
    from tt_xla.errors import UnsupportedOpError

    subject = kinds.load(case.kind)(case.generator())
    print(subject.text)
    found = False
    try:
        for difference in subject.check():
            found = True
            print(f"{difference.check}: {difference.text}")
    except NotDrawnError as error:
        print(f"not drawn: {error}")
    except UnsupportedOpError as error:
        print(f"refused: {error}")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
