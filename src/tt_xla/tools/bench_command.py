"""The command ``tt-xla bench``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tt_xla.publish import create_folder
from tt_xla.tools.inputs import Kind
from tt_xla.tools.options import json_option, out_option, system_option
from tt_xla.tools.output import console, print_json, table
from tt_xla.tools.profile_command import check_workload
from tt_xla.tools.script_command import ScriptCommand

if TYPE_CHECKING:
    from tt_xla.profiling.bench import Bench


@click.command("bench", cls=ScriptCommand)
@click.argument("script", metavar="SCRIPT|CONFIG")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--steps", type=click.IntRange(min=1), default=4, show_default=True, help="Number of steady steps to measure."
)
@system_option(text="System to run on (default: TTXLA_SYSTEM, or n150).")
@out_option(default="generated/bench", show_default=True, text="Folder of the report.")
@click.option(
    "--predict-only",
    is_flag=True,
    help="Compile the script's programs and show their predicted device time, but compute nothing: results are zeros, "
    "and weights need no memory if the model is made under torch.device('meta') and moved by to_empty(device='tt').",
)
@json_option("Print the figures as one JSON object; tables and what the script prints go to standard error.")
@click.pass_context
def bench_command(
    context: click.Context,
    script: str,
    arguments: tuple[str, ...],
    steps: int,
    out: Path,
    predict_only: bool,
    as_json: bool,
) -> None:
    """Measure the steps of an unchanged SCRIPT or experiment.

    SCRIPT trains a model or runs one; CONFIG is an experiment's YAML file. Steps are detected. Steps that compile are
    left out, and the script ends after enough steady steps. DIR receives bench.json, bench.html, stacked.png, and the
    table of ops with a signpost at each step.
    """
    from tt_xla.errors import EmptyRecordingError
    from tt_xla.profiling.bench import measure
    from tt_xla.profiling.bench_files import write_all, write_partial
    from tt_xla.profiling.scripts import run_recorded
    from tt_xla.profiling.steps import Enough
    from tt_xla.profiling.workload import resolve

    check_workload(script, Kind.SCRIPT, Kind.WORKLOAD)
    path, script_arguments = resolve(script, list(arguments))
    if predict_only:
        _predict(context, path, script_arguments, steps, as_json=as_json)
        return
    create_folder(out)
    recording = run_recorded(path, script_arguments, enough=Enough(steps))
    try:
        result = measure(recording, steps)
    except EmptyRecordingError as error:
        early = f"The script ended early ({recording.error}). " if recording.error else ""
        hint = f"The partial recording is in {out}." if write_partial(out, recording) else ""
        raise EmptyRecordingError(f"{early}{error.message}", hint=hint) from None
    write_all(out, recording, result)
    _show(result)
    click.echo(f"benchmark: {out}")
    if as_json:
        print_json(result.as_dict())
    if result.partial:
        click.echo(f"error: the script ended early ({result.partial}); the steps before are in {out}.", err=True)
        context.exit(1)


def _predict(context: click.Context, path: str, arguments: list[str], steps: int, *, as_json: bool) -> None:
    from tt_xla.profiling.predicting import predict

    prediction = predict(path, arguments, steps)
    programs = table("program", "system", "runs", "predicted us", "weights, MiB")
    for item in prediction.programs:
        figures = (str(item.runs), f"{item.device_us:,.1f}", f"{item.weight_bytes / 2**20:,.1f}")
        programs.add_row(item.program.name, item.program.target, *figures)
    console().print(programs)
    click.echo(f"A step takes {prediction.step_us:,.1f} us on the device, as predicted; nothing was computed.")
    if as_json:
        print_json(prediction.as_dict())
    if prediction.error:
        click.echo(f"error: the script ended early ({prediction.error}); the runs before are shown.", err=True)
        context.exit(1)


def _show(result: Bench) -> None:
    from tt_xla.profiling.bench_files import summary
    from tt_xla.profiling.report import short

    figures = table("", "")
    figures.show_header = False
    for name, value in summary(result):
        figures.add_row(name, value)
    console().print(figures)
    click.echo("; ".join(result.reasons))
    slow = table("slow ops", "count", "us", "%", "source")
    for line in result.slow[:5]:
        slow.add_row(line.code, str(line.count), f"{line.device_us:.1f}", f"{line.share:.1f}", short(line.source))
    console().print(slow)
