"""The commands ``tt-xla profile`` and ``python -m tracy``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tt_xla.errors import MalformedModuleError
from tt_xla.profiling.ranks.commands import torchrun_arguments
from tt_xla.tools.inputs import Kind, check_input, kinds_of
from tt_xla.tools.options import out_option, system_option
from tt_xla.tools.script_command import RecordedScriptCommand

if TYPE_CHECKING:
    from tt_xla.profiling.profile import Profile


def check_workload(workload: str, *kinds: Kind) -> None:
    """Checks that there is a file of one of the kinds that a command runs.

    Raises:
        FileNotFoundError: the file does not exist.
        MalformedModuleError: it is of another kind; the message names the commands that take it.
    """
    path = Path(workload)
    check_input(path, *kinds)
    if not kinds_of(path) and path.suffix:
        raise MalformedModuleError(f"'{path}' is neither a Python script (.py) nor another file that can be run.")


def _recording_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the script and the options that both commands have."""
    for add in (
        click.option("--check-exit-code", is_flag=True, help="Write no report if the script fails."),
        click.option("-v", "--verbose", is_flag=True, help="Print the number of kernels."),
        click.option("-m", "--module", "as_module", is_flag=True, help="SCRIPT is the name of a module."),
        click.option(
            "-n", "--name-append", "name", default="", metavar="NAME", help="Part of the names of this profile's files."
        ),
        out_option(
            "--output-folder", default="generated/profiler", show_default=True, text="Folder of the profiler's files."
        ),
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED),
        click.argument("script", metavar="SCRIPT|CONFIG|torchrun"),
    ):
        command = add(command)
    return command


@click.command("profile", cls=RecordedScriptCommand)
@_recording_options
@system_option(text="System to run on (default: TTXLA_SYSTEM, or n150).")
def profile_command(**settings: Any) -> None:
    """Record the ops of SCRIPT for tt-perf-report.

    Times of the host are measured, those of the device predicted. DIR/.logs receives the device's log and the timeline,
    DIR/reports/<timestamp> both and ops_perf_results_<timestamp>.csv.

    "tt-xla profile torchrun --nproc-per-node 4 SCRIPT", also with "python -m torch.distributed.run", records all ranks:
    one timeline in predicted device time, aligned by their collectives, with the waits of each rank and the links.
    """
    _profile(report=True, functions=False, synchronised=True, **settings)


@click.command("tracy", cls=RecordedScriptCommand, context_settings={"help_option_names": ["-h", "--help"]})
@_recording_options
@click.option("-p", "--partial", is_flag=True, help="Profile explicitly enabled zones only, without Python functions.")
@click.option("-r", "--report", is_flag=True, help="Write the ops report.")
@click.option("--sync-host-device", "synchronised", is_flag=True, help="Put host and device on one timeline.")
@click.option(
    "--tracy-tools-folder",
    metavar="DIR",
    expose_value=False,
    help="Accepted for compatibility with tt-metal's profiler; there are no capture tools, so it has no effect.",
)
def tracy_command(partial: bool, **settings: Any) -> None:
    """Run SCRIPT and record its ops, with measured times of the host and predicted times of the device.

    DIR/.logs receives the device's log and the timeline. With -r, DIR/reports/<timestamp> receives both and
    ops_perf_results_<timestamp>.csv, which tt-perf-report reads.
    """
    _profile(functions=not partial, **settings)


def _profile(
    *,
    script: str,
    arguments: tuple[str, ...],
    out: Path,
    verbose: bool,
    check_exit_code: bool,
    as_module: bool,
    report: bool,
    **settings: Any,
) -> None:
    from tt_xla.profiling.profile import profile
    from tt_xla.profiling.ranks.profile import profile_ranks
    from tt_xla.profiling.workload import resolve

    keep_partial = not check_exit_code
    of_torchrun = torchrun_arguments([script, *arguments], as_module=as_module)
    if of_torchrun is not None:
        ranks = profile_ranks(of_torchrun, out, report=report, name=settings["name"], keep_partial=keep_partial)
        _show(ranks, verbose=verbose, report=report)
        return
    words = list(arguments)
    if not as_module:
        check_workload(script, Kind.SCRIPT, Kind.WORKLOAD)
        script, words = resolve(script, words)
    result = profile(script, words, out, as_module=as_module, report=report, keep_partial=keep_partial, **settings)
    _show(result, verbose=verbose, report=report)


def _show(result: Profile, *, verbose: bool, report: bool) -> None:
    if verbose:
        click.echo(f"recorded {result.ops} kernels")
    if result.csv is not None:
        click.echo(f"OPs csv generated at: {result.csv}")
    if not result.ops:
        click.echo(
            "warning: no op ran on the device, so the trace is empty. Compile the model with backend 'tt', or move its "
            "tensors to the device.",
            err=True,
        )
    if result.error:
        outcome = f"the partial report is in {result.folder}" if result.csv or not report else "no report was written"
        click.echo(f"error: the script ended early ({result.error}); {outcome}.", err=True)
        raise SystemExit(1)
    click.echo(f"profile: {result.folder}")
