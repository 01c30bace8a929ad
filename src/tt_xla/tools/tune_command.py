"""``tt-xla tune``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tt_xla.tools.profile_command import SCRIPT_SETTINGS, WorkloadCommand

if TYPE_CHECKING:
    from tt_xla.profiling.tune.choice import Outcome
    from tt_xla.profiling.tune.search import Search

_CHOICES = {
    "levels": ("0", "1", "2"),
    "weights": ("bf16", "bfp8", "bfp4", "mixed"),
    "fidelities": ("default", "lofi", "hifi2", "hifi3", "hifi4"),
    "traces": ("off", "on"),
}


def _listed(kind: str):
    """Checks a list of names with commas between them."""

    def parse(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, ...]:
        found = tuple(part.strip() for part in text.split(",") if part.strip())
        wrong = [part for part in found if part not in _CHOICES[kind]]
        if wrong or not found:
            raise click.BadParameter(f"{text!r} is not a list of {', '.join(_CHOICES[kind])}.")
        return found

    return parse


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        found = tuple(sorted({int(part) for part in text.split(",") if part.strip()}))
    except ValueError:
        found = (0,)
    if any(size < 1 for size in found):
        raise click.BadParameter(f"{text!r} is not a list of positive numbers.")
    return found


@click.command("tune", cls=WorkloadCommand, context_settings=SCRIPT_SETTINGS)
@click.argument("program", metavar="SCRIPT|CONFIG|MODULE")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--batches", default="", callback=_sizes, metavar="N,N...", help="Batch sizes to try, as in 1,2,4,8,16.")
@click.option(
    "--batch-argument", default="--batch-size", show_default=True, help="Argument of the script that takes the batch."
)
@click.option("--levels", default="0,1,2", show_default=True, callback=_listed("levels"))
@click.option("--weights", default="bf16,bfp8,bfp4,mixed", show_default=True, callback=_listed("weights"))
@click.option("--fidelities", default="default,hifi2,lofi", show_default=True, callback=_listed("fidelities"))
@click.option("--traces", default="off,on", show_default=True, callback=_listed("traces"))
@click.option("--pcc", type=click.FloatRange(0, 1), default=0.99, show_default=True, help="The least one that will do.")
@click.option("--metric", default="", metavar="NAME", help="Judge by a metric that the script reports, not by PCC.")
@click.option("--grid", is_flag=True, help="Try all combinations, not one option after another.")
@click.option("--mixed-groups", type=click.IntRange(min=1), default=8, show_default=True, help="Groups of weights.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Trials at a time.")
@click.option("--ray", "address", metavar="ADDRESS", help="Run trials on the Ray cluster at ADDRESS.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), default="generated/tune", show_default=True, metavar="DIR"
)
@click.option("--json", "as_json", is_flag=True, help="Print what was chosen as one JSON object, last.")
@click.pass_context
def tune_command(
    context: click.Context,
    program: str,
    arguments: tuple[str, ...],
    batches: tuple[int, ...],
    batch_argument: str,
    levels: tuple[str, ...],
    weights: tuple[str, ...],
    fidelities: tuple[str, ...],
    traces: tuple[str, ...],
    pcc: float,
    metric: str,
    grid: bool,
    mixed_groups: int,
    jobs: int,
    address: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Find the options under which a SCRIPT, an experiment's CONFIG or a StableHLO MODULE is fastest and still right.

    Each trial runs in a process of its own. DIR receives chosen.json, tune.html and trials.jsonl; a search that was
    interrupted goes on where it stopped when it is started again with the same DIR.
    """
    from tt_xla.errors import OutputError
    from tt_xla.profiling.tune.executors import LocalExecutor, RayExecutor
    from tt_xla.profiling.tune.page import CHOSEN_NAME, HTML_NAME, write_chosen, write_page
    from tt_xla.profiling.tune.search import Search, Space

    if not Path(program).is_file():
        raise click.UsageError(f"There is no file '{program}'.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder '{out}' cannot be made: {error.strerror}.", hint="Give another one.") from error
    space = Space(
        levels=tuple(map(int, levels)),
        traces=tuple(text == "on" for text in traces),
        weights=weights,
        fidelities=tuple("" if name == "default" else name for name in fidelities),
        batches=batches,
        pcc=pcc,
        metric=metric,
        mixed_groups=mixed_groups,
        grid=grid,
    )
    executor = RayExecutor(address) if address else LocalExecutor(jobs)
    search = Search(program, arguments, space, out, executor, batch_argument)
    try:
        outcomes = _with_progress(search)
    except KeyboardInterrupt:
        click.echo(f"interrupted; the same command goes on where it stopped ({out}).", err=True)
        context.exit(130)
    finally:
        executor.stop()
    chosen = search.best(outcomes)
    write_page(out / HTML_NAME, program, outcomes, chosen, metric)
    _show(outcomes, chosen, metric)
    if chosen is None:
        click.echo(f"error: no trial reaches a PCC of {pcc}; {out / HTML_NAME} shows all.", err=True)
        context.exit(1)
    write_chosen(out / CHOSEN_NAME, chosen, metric)
    click.echo(f"chosen: {out / CHOSEN_NAME}")
    if as_json:
        click.echo(json.dumps(json.loads((out / CHOSEN_NAME).read_text())))


def _with_progress(search: Search) -> list[Outcome]:
    """Runs a search with a bar on standard error; where that is no terminal, with a line for each trial."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("trials", total=0)

        def progress(outcome: Outcome | None, coming: int) -> None:
            if outcome is None:
                bar.update(task, total=(bar.tasks[0].total or 0) + coming)
            else:
                bar.update(task, advance=1, description=outcome.choice.label[:50])
                if not console.is_terminal:
                    found = outcome.error[:200] or f"{outcome.step_ms:.4g} ms a step"
                    click.echo(f"{outcome.choice.label}: {found}", err=True)

        search.progress = progress
        return search.run()


def _show(outcomes: Sequence[Outcome], chosen: Outcome | None, metric: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from tt_xla.profiling.tune.choice import pareto
    from tt_xla.profiling.tune.page import unit

    front = pareto(list(outcomes), metric)
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
    table = Table("Pareto front", unit(front[0]) if front else "", metric or "PCC", "step ms", "", box=None)
    for each in front:
        accuracy = each.accuracy(metric) or 0.0
        mark = "chosen" if chosen is not None and each.choice == chosen.choice else ""
        table.add_row(each.choice.label, f"{each.throughput:.4g}", f"{accuracy:.5f}", f"{each.step_ms:.4g}", mark)
    console.print(table)
    for each in outcomes:
        if each.choice.reference and not metric:
            console.print(f"PCC is with {each.compared_with}", markup=False)
        if each.error:
            console.print(f"{each.choice.label}: {each.error[:200]}", markup=False)
