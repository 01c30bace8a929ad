"""Times measured on silicon beside the cost model's: what ``tt-xla estimate --measured`` reads, prices and shows."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from tt_xla.tools.measured.formats import read
from tt_xla.tools.measured.judge import Priced, Summary, by_family, price, record, show, summarise
from tt_xla.tools.measured.measurement import Measurement, Unpriced

__all__ = [
    "Measurement",
    "Priced",
    "Summary",
    "Unpriced",
    "by_family",
    "compare_files",
    "price",
    "read",
    "record",
    "show",
    "summarise",
]


def compare_files(paths: Sequence[Path], arch: str, rows: int, as_json: bool) -> None:
    """Prints predicted against measured; with ``as_json`` one object last, and the tables before it.

    Raises:
        MalformedModuleError: a file is none of the known formats.
    """
    priced, left = price([each for path in paths for each in read(path, arch)])
    show(priced, left, rows)
    if as_json:
        click.echo(json.dumps(record(priced, left)))
