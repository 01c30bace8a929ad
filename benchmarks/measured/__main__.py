"""The command ``python -m benchmarks.measured``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from benchmarks.measured import price, read, record, show
from tt_xla.errors import MalformedModuleError


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CSV...")
@click.option("--system", default="", metavar="NAME", help="System of rows that name none.")
@click.option("--rows", type=click.IntRange(min=0), default=100, show_default=True, help="Number of rows to show.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(files: tuple[Path, ...], system: str, rows: int, as_json: bool) -> None:
    """Compare times measured on a card with predictions.

    A file is a profiler's ops_perf_results CSV or one of public collections. Several files are treated as one.
    """
    try:
        priced, unpriced = price([row for path in files for row in read(path, system)])
    except MalformedModuleError as error:
        raise click.ClickException(f"{error.message} {error.hint}") from error
    except OSError as error:
        raise click.ClickException(f"'{error.filename}' cannot be read: {error.strerror}.") from error
    if as_json:
        click.echo(json.dumps(record(priced, unpriced)))
    else:
        show(priced, unpriced, rows)


if __name__ == "__main__":
    main()
