"""Writes tables into documents: those that benchmarks, conformance suites and checks of documents make."""

from pathlib import Path

import click


def write_between_marks(document: Path, mark: str, text: str) -> None:
    """Replaces the text between ``<!-- mark -->`` and ``<!-- /mark -->``.

    Raises:
        ClickException: the document lacks one of the marks.
    """
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, opening, rest = document.read_text().partition(begin)
    _, closing, after = rest.partition(end)
    if not opening or not closing:
        raise click.ClickException(
            f"{document} lacks the marks {begin} and {end}. Add both lines where the table belongs."
        )
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")
