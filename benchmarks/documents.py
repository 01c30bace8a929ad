"""Tables that benchmarks write into documents."""

from pathlib import Path

import click


def write_between_marks(document: Path, mark: str, text: str) -> None:
    """Replaces what stands between ``<!-- mark -->`` and ``<!-- /mark -->``.

    Raises:
        ClickException: the document lacks the marks.
    """
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, found, rest = document.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise click.ClickException(f"{document} lacks the marks {begin} and {end}.")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")
