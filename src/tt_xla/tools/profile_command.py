"""``tt-xla profile`` and ``python -m tracy``, which are one command."""

from __future__ import annotations

from pathlib import Path

import click

SCRIPT_SETTINGS = {"ignore_unknown_options": False, "allow_interspersed_args": False}
"""What follows the script is the script's own."""


class WorkloadCommand(click.Command):
    """A command on a script, whose own arguments follow it, or on a file that takes none: options may follow that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = next((each for each in args if each.endswith((".py", *_FILES))), "")
        ctx.allow_interspersed_args = named.endswith(_FILES)
        return super().parse_args(ctx, args)


_FILES = (".yaml", ".yml", ".mlir", ".mlirbc", ".stablehlo")


@click.command("profile", context_settings=SCRIPT_SETTINGS | {"help_option_names": ["-h", "--help"]})
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-p", "--partial", is_flag=True, help="Only profile explicitly enabled zones: no Python functions.")
@click.option("-r", "--report", is_flag=True, help="Generate the ops report.")
@click.option("--sync-host-device", is_flag=True, help="Put host and device on one timeline.")
@click.option(
    "-o",
    "--output-folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the profiler's artifacts; generated/profiler when left out.",
)
@click.option("-n", "--name-append", default="", metavar="NAME", help="Name of this profile, part of its paths.")
@click.option("-m", "--module", "as_module", is_flag=True, help="SCRIPT is the name of a module.")
@click.option(
    "--tracy-tools-folder",
    metavar="DIR",
    help="Taken as tt-metal's profiler takes it; there are no capture tools here, so nothing is read from it.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say more on standard output.")
@click.option("--check-exit-code", is_flag=True, help="Write no report where the script fails.")
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
    """Run SCRIPT and record what it does: times of the host as measured, those of the device as predicted.

    DIR/.logs receives the device's log and the timeline; with -r, DIR/reports/<timestamp> receives them and
    ops_perf_results_<timestamp>.csv, which tt-perf-report reads.
    """
    from tt_xla.profiling.profile import DEFAULT_FOLDER, profile

    done = profile(
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
        click.echo(f"recorded {done.ops} kernels")
    if done.csv is not None:
        click.echo(f"OPs csv generated at: {done.csv}")
    if not done.ops:
        click.echo(
            "warning: no op ran on the device: the trace is empty. Is the model compiled with backend 'tt', or are its "
            "tensors on the device?",
            err=True,
        )
    if done.error:
        kept = f"the partial report is kept in {done.folder}" if done.csv or not report else "no report was written"
        click.echo(f"error: the script ended early ({done.error}); {kept}.", err=True)
        context.exit(1)
    click.echo(f"profile: {done.folder}")
