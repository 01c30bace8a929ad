"""Writes the programs as StableHLO text: ``python -m programs FOLDER [NAME ...]``."""

from pathlib import Path

import click

from benchmarks.programs import PROGRAMS


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("names", nargs=-1)
def main(folder: Path, names: tuple[str, ...]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PROGRAMS:
        text = PROGRAMS[name]().stablehlo()
        (folder / f"{name}.mlir").write_text(text)
        click.echo(f"{name:20} {text.count('stablehlo.'):6} ops")


main()
