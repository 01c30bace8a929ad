"""The commands ``tt-xla info``, ``tt-xla doctor`` and ``tt-xla smi``, which look at this machine."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tt_xla.tools.options import json_option
from tt_xla.tools.output import print_json


@click.command()
def info() -> None:
    """Show versions, systems, folders and variables in force."""
    from tt_xla.tools.info import lines

    for line in lines():
        click.echo(line)


@click.command("doctor")
@click.option("--no-run", is_flag=True, help="Only look around; run no program.")
@json_option("Print one JSON object per check, one per line.")
def doctor_command(no_run: bool, as_json: bool) -> None:
    """Look for what a card needs, and run a program on it.

    Checks the card, its driver, firmware, access, huge pages, the interpreter with ttnn and its version. Runs a product
    and a trace on the card, else on the simulator in TT_METAL_SIMULATOR, else in TT-NN's mock mode, else on the
    emulated card; compares bits and, on a card, times. Says what to do about each thing that is missing. The exit
    status is 1 if something is in error.
    """
    from tt_xla.tools import doctor
    from tt_xla.tools.findings import Finding

    def report(found: Finding) -> None:
        if as_json:
            print_json(doctor.record(found))
        else:
            click.echo("\n".join(doctor.lines(found)))

    if not doctor.run(report, runs=not no_run):
        raise SystemExit(1)


@click.command()
@click.argument("processes", nargs=-1, type=click.IntRange(1), metavar="[PROCESS]...")
@click.option("--once", is_flag=True, help="Show the cards once and exit.")
@click.option("--json", "as_json", is_flag=True, help="Show the cards once, as JSON; also -s, --snapshot.")
@click.option("-s", "--snapshot", "is_snapshot", is_flag=True, hidden=True)
@click.option("-r", "--reset", is_flag=True, help="Reset the cards, for example when their memory is full.")
@click.option("-y", "--yes", is_flag=True, help="With -r: do not ask.")
def smi(processes: Sequence[int], once: bool, as_json: bool, is_snapshot: bool, reset: bool, yes: bool) -> None:
    """Show the cards in use, emulated or not, live.

    By process: memory, programs, clock and predicted utilisation.

    With -r, the cards of each PROCESS, or of all processes of this user, drop their programs before the next run. The
    command lists them and asks first. Without a terminal and without -y, it resets those of its own session, and lists
    the others.
    """
    from tt_xla.tools import smi as cards

    if reset:
        cards.reset(processes, ask=not yes)
    elif processes or yes:
        raise click.UsageError(f"{'PROCESS' if processes else '--yes'} belongs to --reset (-r).")
    else:
        cards.show(once=once, as_json=as_json or is_snapshot)
