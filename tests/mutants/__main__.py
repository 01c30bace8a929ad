"""Command-line interface: ``python -m tests.mutants``."""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

import click
from rich.console import Console
from rich.progress import Progress

from tests.mutants import drawing, linemap, sources, table
from tests.mutants.drawing import Mutant
from tests.mutants.running import Judge, Server, Verdict
from tests.mutants.selection import Selector
from tests.mutants.tree import Tree

FOLDER = sources.ROOT / "build/mutants"
MARKERS = "not nightly and not stress and not browser and not drawn"
_console = Console(highlight=False, soft_wrap=True)
_map_option = click.option(
    "--map",
    "map_path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=FOLDER / "lines.sqlite",
    help="Map from lines to tests (default build/mutants/lines.sqlite).",
)
_markers_option = click.option(
    "--markers",
    default=MARKERS,
    show_default=True,
    metavar="MARKERS",
    help="pytest's -m: which tests may kill mutants.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measures what the tests see: changes lines of src/tt_xla to subtle faults and runs the tests of those lines.

    First `lines` records which test executes which line, once; then `run` draws mutants and judges them. Both work in
    copies of the repository below build/mutants, so your files stay as they are.
    """


@main.command()
@click.argument("paths", nargs=-1, type=click.Path())
@_map_option
@_markers_option
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes that run tests.")
def lines(paths: tuple[str, ...], map_path: Path, markers: str, jobs: int) -> None:
    """Records which test executes which line of src/tt_xla.

    PATHS are test files or folders to record anew in the map, such as those of new tests; without PATHS all tests run.
    A map of their own (--map) has the lines of PATHS alone.
    Needs Python 3.12 or newer, whose sys.monitoring costs one callback for a line and a test. The tests take about as
    long as they do without recording.
    """
    if sys.version_info < (3, 12):
        raise click.ClickException(
            f"recording needs Python 3.12 or newer, and this is {sys.version.partition(' ')[0]}. "
            "Make the environment anew: rm -r .venv; make PYTHON=python3.12 venv"
        )
    names = [Path(path).resolve().relative_to(sources.ROOT).as_posix() for path in paths]
    tree, recorded = Tree(FOLDER / "recording"), FOLDER / "records"
    shutil.rmtree(recorded, ignore_errors=True)
    tree.make()
    tree.record(recorded)
    command = [tree.python, "-m", "pytest", "-p", "mutants_recorder", "-p", "no:cacheprovider", "-m", markers]
    spread = "load" if len(names) == 1 and Path(paths[0]).is_file() else "loadfile"
    command += ["-n", str(jobs), "--dist", spread, "--max-worker-restart", "1000", *names]
    status = subprocess.run(command, cwd=tree.root, check=False).returncode
    if status not in (0, 1):
        raise click.ClickException(f"pytest ended with status {status}, so the map stays as it was")
    now = sources.read(tree.root)

    def records() -> Iterator[linemap.Record]:
        yield from linemap.LineMap(map_path).without(names, now) if names and map_path.exists() else ()
        yield from linemap.records(recorded)

    count = linemap.write(map_path, records(), now)
    shutil.rmtree(recorded)
    click.echo(f"{map_path} has the lines of {count:,} tests.")


@main.command()
@click.option("--count", type=click.IntRange(1), default=60, show_default=True, help="Number of mutants.")
@click.option(
    "--seed", default=lambda: datetime.date.today().isoformat(), help="What the drawing depends on (default today)."
)
@click.option(
    "--package", "packages", multiple=True, help="Draw from this package alone, such as compiler; repeatable."
)
@click.option("--change", metavar="COMMIT", help="Draw from lines that differ from this commit alone.")
@click.option("--list", "only_list", is_flag=True, help="Print the mutants and run nothing.")
@click.option("--limit", type=float, default=120, show_default=True, help="Processor seconds of the tests of a mutant.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Mutants at a time.")
@click.option("--again", is_flag=True, help="Draw nothing, judge those that lived again.")
@click.option("--document", type=click.Path(exists=True, path_type=Path), help="Document to write the tables to.")
@_map_option
@_markers_option
def run(
    count: int,
    seed: str,
    packages: tuple[str, ...],
    change: str | None,
    only_list: bool,
    limit: float,
    jobs: int,
    again: bool,
    document: Path | None,
    map_path: Path,
    markers: str,
) -> None:
    """Draws mutants, runs the tests that execute their lines, and prints which mutants live.

    The tests of a mutant run until one fails, cheap and specific ones first. A test kills a mutant if it fails, hangs
    or crashes with it and passes without it, after the same tests. Verdicts are kept in build/mutants/SEED.jsonl, so
    an interrupted run continues where it stood, and --again finds those that lived, also when lines have moved.
    """
    known = sources.read()
    unknown = set(packages) - {source.package for source in known.values()}
    if unknown:
        names = ", ".join(sorted({source.package for source in known.values()}))
        raise click.ClickException(f"{', '.join(sorted(unknown))} is no package; the packages are {names}")
    results = FOLDER / f"{seed}.jsonl"
    verdicts = _judged(results)
    if again:
        mutants = [mutant for each in verdicts.values() if (mutant := drawing.find(known, each.mutant)) is not None]
        verdicts = {key: verdict for key, verdict in verdicts.items() if not verdict.is_alive}
    else:
        lines_of = drawing.changed_lines(sources.ROOT, change) if change else None
        mutants = drawing.draw(known, count, seed, packages, lines_of)
    if only_list:
        for mutant in mutants:
            _console.print(f"{mutant.place}  {mutant.kind}\n  - {mutant.old}\n  + {mutant.new}", markup=False)
        return
    if not map_path.exists():
        raise click.ClickException(f"{map_path} does not exist: `make record-lines` records it")
    waiting = [mutant for mutant in mutants if mutant.id not in verdicts]
    with results.open("a") as file, Progress(console=_console, transient=True) as progress:
        task = progress.add_task("mutants", total=len(mutants), completed=len(mutants) - len(waiting))
        for verdict in _judge(waiting, known, Selector(linemap.LineMap(map_path), known), limit, jobs, markers):
            verdicts[verdict.mutant.id] = verdict
            file.write(verdict.as_line() + "\n")
            file.flush()
            progress.console.print(_summary(verdict), markup=False)
            progress.advance(task)
    drawn = [verdicts[mutant.id] for mutant in mutants]
    click.echo(table.tables(drawn, seed, {}))
    if document is not None:
        table.write(document, drawn, seed)


def _judged(results: Path) -> dict[str, Verdict]:
    """Returns the latest verdicts of earlier runs, by mutant."""
    if not results.exists():
        return {}
    verdicts = [Verdict.from_line(line) for line in results.read_text().splitlines()]
    return {verdict.mutant.id: verdict for verdict in verdicts}


def _judge(
    waiting: Sequence[Mutant],
    known: dict[str, sources.Source],
    selector: Selector,
    limit: float,
    jobs: int,
    markers: str,
) -> Iterator[Verdict]:
    """Yields verdicts as they come, from as many copies of the repository as there are jobs."""
    selections = {mutant.id: selector.select(mutant, limit) for mutant in waiting}
    judges: SimpleQueue[Judge] = SimpleQueue()
    made: list[Judge] = []
    for number in range(min(jobs, len(waiting))):
        tree = Tree(FOLDER / f"job-{number}")
        tree.make()
        made.append(Judge(tree.root, Server(tree, markers)))
        judges.put(made[-1])
    stopped = threading.Event()

    def judged(mutant: Mutant) -> Verdict | None:
        if stopped.is_set():
            return None
        judge = judges.get()
        try:
            return judge.judge(mutant, known[mutant.file], selections[mutant.id])
        finally:
            judges.put(judge)

    with ThreadPoolExecutor(max(1, len(made))) as pool:
        try:
            for future in as_completed([pool.submit(judged, mutant) for mutant in waiting]):
                verdict = future.result()
                if verdict is not None:
                    yield verdict
        finally:
            stopped.set()
            for judge in made:
                judge.close()


def _summary(verdict: Verdict) -> str:
    by = f"{verdict.how}: {verdict.test}" if not verdict.is_alive else f"{verdict.tests} tests pass"
    mutant = verdict.mutant
    return f"{verdict.outcome:12} {mutant.place}  {mutant.kind}  ({by})"


if __name__ == "__main__":
    main(prog_name="python -m tests.mutants")
