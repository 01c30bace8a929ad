"""The command behind ``tt-xla profile`` and ``python -m tracy``."""

from __future__ import annotations

from pathlib import Path

import click

SCRIPT_SETTINGS = {"ignore_unknown_options": False, "allow_interspersed_args": False}
"""Settings of commands that run a script: arguments after the script belong to the script."""


class WorkloadCommand(click.Command):
    """A command that runs a script or a file.

    Arguments after a script belong to the script. A file has no arguments, so options of the command may follow it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        workload = next((arg for arg in args if arg.endswith((".py", *_FILES))), "")
        ctx.allow_interspersed_args = workload.endswith(_FILES)
        return super().parse_args(ctx, args)


_FILES = (".yaml", ".yml", ".mlir", ".mlirbc", ".stablehlo")


@click.command("profile", context_settings=SCRIPT_SETTINGS | {"help_option_names": ["-h", "--help"]})
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-p", "--partial", is_flag=True, help="Profile explicitly enabled zones only, without Python functions.")
@click.option("-r", "--report", is_flag=True, help="Write the ops report.")
@click.option("--sync-host-device", is_flag=True, help="Put host and device on one timeline.")
@click.option(
    "-o",
    "--output-folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the profiler's files (default generated/profiler).",
)
@click.option(
    "-n", "--name-append", default="", metavar="NAME", help="Name of this profile, which becomes part of its paths."
)
@click.option("-m", "--module", "as_module", is_flag=True, help="SCRIPT is the name of a module.")
@click.option(
    "--tracy-tools-folder",
    metavar="DIR",
    help="Accepted for compatibility with tt-metal's profiler; there are no capture tools, so it has no effect.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print more information.")
@click.option("--check-exit-code", is_flag=True, help="Write no report if the script fails.")
@click.pass_context
def profile_command(
    context: click.Context,
    script: str,
    arguments: tuple[str, ...],
    partial: bool,
    report: bool,
    sync_host_device: bool,
    output_folder: Path | None,
    name_append: str,
    as_module: bool,
    tracy_tools_folder: str | None,
    verbose: bool,
    check_exit_code: bool,
) -> None:
    """Run SCRIPT and record its ops, with measured times of the host and predicted times of the device.

    DIR/.logs receives the device's log and the timeline. With -r, DIR/reports/<timestamp> receives both and
    ops_perf_results_<timestamp>.csv, which tt-perf-report reads.
    """
    from tt_xla.profiling.profile import DEFAULT_FOLDER, profile

    result = profile(
        script,
        arguments,
        output_folder or DEFAULT_FOLDER,
        report=report or context.info_name == "profile",
        as_module=as_module,
        functions=not partial and context.info_name != "profile",
        synchronised=sync_host_device or context.info_name == "profile",
        name=name_append,
        keep_partial=not check_exit_code,
    )
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
        context.exit(1)
    click.echo(f"profile: {result.folder}")
