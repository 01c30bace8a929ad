"""The command ``tt-xla report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tt_xla.tools.inputs import Kind, check_input
from tt_xla.tools.options import json_option, out_option
from tt_xla.tools.output import print_json, writing


def _show_models(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Prints the models that ``--beside`` knows, and ends the command."""
    if wanted:
        from tt_xla.profiling.hand_tuned import MODELS, figures_of

        for model in MODELS:
            systems = ", ".join(dict.fromkeys(f"{each.system} x {each.batch}" for each in figures_of(model)))
            click.echo(f"{model:22} {systems}")
        context.exit()


@click.command("report")
@click.argument("profile", type=click.Path(path_type=Path), metavar="DIR|CSV")
@click.option("--start-signpost", default="", metavar="NAME", help="Show only ops after this signpost.")
@click.option("--end-signpost", default="", metavar="NAME", help="Show only ops before this signpost.")
@click.option(
    "--beside",
    "model",
    default="",
    metavar="MODEL",
    help="Compare the throughput of a step with that of tt-metal's hand-tuned model on silicon, here and in the page.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="Samples or users in a step, for --beside (default: those of each figure).",
)
@click.option(
    "--models",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_models,
    help="List the models that --beside knows, with systems and batches.",
)
@click.option(
    "--explorer",
    default="",
    metavar="PAGE",
    help="Link each op to its node in this page: a file of `tt-xla explore --export`, or http://127.0.0.1:8080/explore.",
)
@json_option("Print one JSON object.")
@out_option(metavar="FILE", text="File to write (default report.html beside the CSV).")
def report_command(
    profile: Path,
    start_signpost: str,
    end_signpost: str,
    model: str,
    batch: int | None,
    explorer: str,
    as_json: bool,
    out: Path | None,
) -> None:
    """Write an HTML page about a profile.

    The profile may come from a real card. Of a folder, the newest one is taken. The page has a timeline, a roofline,
    stacked bars, memory over time and a table of ops with links to source lines. It loads no other files.

    The profile does not say which model it is of, so --beside names it, as in --beside llama-3.1-8b-decode. The step
    that is compared lies between the signposts that you give, or between the last signposts NAME_start and NAME_end,
    which `tt-xla bench` sets; else it is the last run of the program that takes most device time.
    """
    from tt_xla.profiling import beside
    from tt_xla.profiling.reading import newest_report, read_table
    from tt_xla.profiling.report import write_report

    check_input(profile, Kind.PROFILE, Kind.PROFILES)
    path = newest_report(profile)
    page = out or path.with_name("report.html")
    ops = read_table(path, start_signpost, end_signpost)
    sections, record, lines = list[str](), dict[str, Any](), list[str]()
    if model:
        step = beside.step_of(ops, bool(start_signpost or end_signpost))
        comparisons = beside.compare(step, model, batch)
        sections, record = [beside.as_section(step, comparisons)], beside.record(step, comparisons)
        lines += beside.lines(step, comparisons)
    with writing(page):
        write_report(page, ops, sections=sections, explorer=explorer)
    if as_json:
        print_json({"report": str(page)} | record)
    else:
        click.echo("\n".join([*lines, f"report: {page}"]))
