"""The command ``tt-xla bench``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tt_xla.errors import EmptyRecordingError, OptionError
from tt_xla.profiling.ranks.commands import torchrun_arguments
from tt_xla.publish import create_folder
from tt_xla.tools.inputs import Kind
from tt_xla.tools.options import json_option, out_option, system_option
from tt_xla.tools.output import console, print_json, table
from tt_xla.tools.profile_command import check_workload
from tt_xla.tools.script_command import RecordedScriptCommand

if TYPE_CHECKING:
    from tt_xla.profiling.bench import Bench
    from tt_xla.profiling.ranks.bench import RankLine, RanksBench


@click.command("bench", cls=RecordedScriptCommand)
@click.argument("script", metavar="SCRIPT|CONFIG|torchrun")
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

    "tt-xla bench torchrun --nproc-per-node 4 SCRIPT" measures all ranks, and says how much of a step is computing, how
    much exchange, and which link bounds it. The files of each rank are in DIR/rank_N.
    """
    from tt_xla.profiling.bench import measure
    from tt_xla.profiling.bench_files import write_all, write_partial
    from tt_xla.profiling.scripts import run_recorded
    from tt_xla.profiling.steps import Enough
    from tt_xla.profiling.workload import resolve

    of_torchrun = torchrun_arguments([script, *arguments])
    if of_torchrun is not None:
        _bench_ranks(context, of_torchrun, steps, out, predict_only=predict_only, as_json=as_json)
        return
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
        hint = f"The partial recording is in {out}." if write_partial(out, recording) else ""
        raise _empty(error, recording.error, hint) from None
    write_all(out, recording, result)
    _show(result)
    _end(context, result, out, as_json=as_json)


def _bench_ranks(
    context: click.Context, arguments: list[str], steps: int, out: Path, *, predict_only: bool, as_json: bool
) -> None:
    from tt_xla.profiling.ranks.bench import measure_ranks
    from tt_xla.profiling.ranks.bench_files import write_ranks
    from tt_xla.profiling.ranks.launch import run_ranks
    from tt_xla.profiling.ranks.timeline import align

    if predict_only:
        raise OptionError(
            "--predict-only computes nothing, and the ranks of torchrun wait for each other's results.",
            hint="Leave it out, or give the script without torchrun.",
        )
    create_folder(out)
    ranks = run_ranks(arguments, steps=steps)
    timeline = align({rank.number: rank.recording for rank in ranks.ranks})
    try:
        result = measure_ranks(ranks, timeline, steps)
    except EmptyRecordingError as error:
        write_ranks(out, ranks, timeline, None, steps)
        raise _empty(error, ranks.error, f"{error.hint} The timeline and the table are in {out}.".strip()) from None
    write_ranks(out, ranks, timeline, result, steps)
    _show_ranks(result)
    _end(context, result, out, as_json=as_json)


def _empty(error: EmptyRecordingError, ending: str, hint: str) -> EmptyRecordingError:
    """Returns the error for a recording without steady steps.

    Args:
        error: the reason.
        ending: the error that ended the script early; empty if none did.
        hint: what the user has or can do.
    """
    early = f"The script ended early ({ending}). " if ending else ""
    return EmptyRecordingError(f"{early}{error.message}", hint=hint)


def _end(context: click.Context, result: Bench | RanksBench, out: Path, *, as_json: bool) -> None:
    """Names the folder of the files, and prints the result as JSON if asked for.

    The command ends with 1 if the script ended early.
    """
    click.echo(f"benchmark: {out}")
    if as_json:
        print_json(result.as_dict())
    if result.partial:
        click.echo(f"error: the script ended early ({result.partial}); the steps before are in {out}.", err=True)
        context.exit(1)


def _show_ranks(result: RanksBench) -> None:
    times = table("rank", "chip", "step ms", "compute", "exchange", "waits", "gaps", "transfers")
    for line in result.ranks:
        parts = (line.compute_ms, line.exchange_ms, line.wait_ms, line.gaps_ms, line.transfers_ms)
        times.add_row(str(line.rank), str(line.chip), f"{line.step_ms:.3f}", *(f"{part:.3f}" for part in parts))
    console().print(times)
    longest = result.longest
    click.echo(
        f"A step takes {longest.step_ms:.3f} ms on the chips, as predicted; on rank {longest.rank} "
        f"{_percent(longest.compute_ms, longest):.0f} % of it is computing, "
        f"{_percent(longest.exchange_ms, longest):.0f} % exchange, {_percent(longest.wait_ms, longest):.0f} % waiting."
    )
    if not result.links:
        click.echo("The ranks exchange nothing over the links of this host.")
        return
    busy = table("link", "channels", "busy ms", "% of the step", "process groups")
    for link in result.links:
        name, share = "-".join(map(str, link.chips)), _percent(link.busy_ms, longest)
        busy.add_row(name, str(link.channels), f"{link.busy_ms:.3f}", f"{share:.1f}", ", ".join(link.groups))
    console().print(busy)
    first, second = result.links[0].chips
    click.echo(f"The link of chips {first} and {second} bounds the exchange.")


def _percent(part: float, line: RankLine) -> float:
    return 100 * part / line.step_ms if line.step_ms else 0.0


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
