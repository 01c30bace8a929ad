"""Compares times measured on silicon with predictions of the cost model, for ``tt-xla estimate --measured``."""

from collections.abc import Sequence
from pathlib import Path

from tt_xla.tools.measured.formats import read
from tt_xla.tools.measured.judge import Priced, Summary, by_family, price, record, show, summarise
from tt_xla.tools.measured.measurement import Measurement, Unpriced
from tt_xla.tools.output import print_json

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
    """Prints tables of predicted and measured times.

    Args:
        paths: CSV files.
        arch: system of rows that name none.
        rows: number of rows to print.
        as_json: whether to print a JSON object, beside tables on standard error.

    Raises:
        MalformedModuleError: a file has none of the known formats.
    """
    priced, unpriced = price([row for path in paths for row in read(path, arch)])
    show(priced, unpriced, rows)
    if as_json:
        print_json(record(priced, unpriced))
