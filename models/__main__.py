"""Compiles models of transformers at each level, runs them on the emulated card and compares with the CPU.

Each model runs in a process of its own. ``make models`` writes the table into docs/models.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from models import FAMILIES, LOADERS
from models.document import failures, table

TIMEOUT_S = {"small": 300, "full": 1800}


@click.group(help=__doc__)
def main() -> None: ...


@main.command("one", help="Measures one model in this process and prints JSON.")
@click.argument("name", type=click.Choice(list(LOADERS)))
@click.option("--size", type=click.Choice(["small", "full"]), default="small", show_default=True)
@click.option("--level", "levels", multiple=True, type=int, default=(0, 1, 2), show_default=True)
def one(name: str, size: Any, levels: tuple[int, ...]) -> None:
    from models.measure import measure

    click.echo(json.dumps(measure(LOADERS[name], size, levels).to_dict()))


@main.command("list", help="Lists the models.")
def list_models() -> None:
    for family, loaders in FAMILIES.items():
        click.echo(f"{family}: {', '.join(loader.name for loader in loaders)}")


@main.command("all", help="Measures many models, and exits with 1 where one is below 0.99.")
@click.argument("names", nargs=-1)
@click.option("--size", type=click.Choice(["small", "full"]), default="small", show_default=True)
@click.option("--level", "levels", multiple=True, type=int, default=(0, 1, 2), show_default=True)
@click.option("--jobs", type=int, default=1, show_default=True, help="Models at a time.")
@click.option("--results", type=click.Path(path_type=Path), help="Reads results kept here and adds to them.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Writes the table between its marks.")
def all_models(
    names: tuple[str, ...], size: str, levels: tuple[int, ...], jobs: int, results: Path | None, document: Path | None
) -> None:
    unknown = set(names) - LOADERS.keys()
    if unknown:
        raise click.ClickException(f"no model is named {', '.join(sorted(unknown))}; `list` lists them.")
    found: dict[str, Any] = json.loads(results.read_text()) if results and results.exists() else {}
    wanted = [name for name in names or LOADERS if name not in found or names]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(jobs) as pool:
        task = progress.add_task("models", total=len(wanted))
        for name, result in zip(wanted, pool.map(lambda name: _apart(name, size, levels), wanted), strict=True):
            found[name] = result
            progress.update(task, advance=1, description=name)
            if "error" in result:
                console.print(f"{name}: {result['error']}", style="red", markup=False)
            if results:
                results.write_text(json.dumps(found))
    if document is not None:
        _write_between_marks(document, f"models-{size}", table(found))
    else:
        click.echo(table(found))
    raise SystemExit(bool(failures(found)))


def _apart(name: str, size: str, levels: tuple[int, ...]) -> dict[str, Any]:
    """A model in a process of its own; what goes wrong there is its result."""
    command = [sys.executable, "-m", "models", "one", name, "--size", size]
    command += [part for level in levels for part in ("--level", str(level))]
    settings = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "PYTHONWARNINGS": "ignore"}
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S[size], env=os.environ | settings
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {TIMEOUT_S[size]} s"}
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        told = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
        return {"error": next((line for line in reversed(told) if "Error" in line), told[-1])}
    return json.loads(lines[-1])


def _write_between_marks(document: Path, mark: str, text: str) -> None:
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, found, rest = document.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise click.ClickException(f"{document} lacks the marks {begin} and {end}.")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    main()
