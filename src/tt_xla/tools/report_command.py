"""The command ``tt-xla report``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("profile", type=click.Path(path_type=Path, exists=True), metavar="DIR|CSV")
@click.option("--start-signpost", default="", metavar="NAME", help="Show only ops after this signpost.")
@click.option("--end-signpost", default="", metavar="NAME", help="Show only ops before this signpost.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write (default report.html beside the CSV).",
)
def report_command(profile: Path, start_signpost: str, end_signpost: str, out: Path | None) -> None:
    """Write an HTML page about a profile, which may come from a real card. Of a folder, the newest profile is taken.

    The page has a timeline, a roofline, stacked bars, memory over time and a table of ops with links to source lines.
    It loads no other files.
    """
    from tt_xla.profiling.reading import newest_report, read_table
    from tt_xla.profiling.report import write_report

    path = newest_report(profile)
    page = out or path.with_name("report.html")
    write_report(page, read_table(path, start_signpost, end_signpost))
    click.echo(f"report: {page}")
