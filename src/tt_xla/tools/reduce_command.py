"""The command ``tt-xla reduce``."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tt_xla.errors import ExecutionError, OptionError
from tt_xla.options import CompileOptions
from tt_xla.publish import replaceable, unused_folder
from tt_xla.tools.inputs import Kind, check_input, is_file_name, kind_of_name
from tt_xla.tools.options import (
    NumberRange,
    compile_options,
    inputs_option,
    models_root_option,
    out_option,
    system_option,
)
from tt_xla.tools.output import publish_out, writing
from tt_xla.tools.running import FAILED
from tt_xla.tools.script_command import ScriptCommand

if TYPE_CHECKING:
    from tt_xla.testing.reduction.failures import Failure
    from tt_xla.testing.reduction.processes import Processes
    from tt_xla.testing.reduction.recording import Recorded
    from tt_xla.testing.reduction.reducer import Reduction, TrialRunner


@click.command("reduce", cls=ScriptCommand)
@click.argument("subject", metavar="SCRIPT|MODULE|MODEL")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--fails",
    metavar="FAILURE",
    help="What fails, as one or several of these, separated by |: crash, crash:TEXT, hang, differs (PCC below 0.99), "
    "differs>1e-3, pcc<0.99, host op, host op:NAME, slower than 2 s, compiles slower than 2 s, runs slower than 2 s. "
    "By default the first of crash, hang and differs that happens.",
)
@inputs_option
@click.option("--program", "index", type=int, metavar="N", help="Reduce this program of a script, counted from 0.")
@models_root_option
@system_option(text="System to run on (default: TTXLA_SYSTEM, or n150).")
@compile_options
@click.option(
    "--limit", type=NumberRange(0.1), metavar="SECONDS", help="Time of one try (default: 30 s for the first one)."
)
@click.option(
    "--budget", type=NumberRange(1), default=300.0, show_default=True, metavar="SECONDS", help="Time of all tries."
)
@click.option("--memory", default="", help="Memory of one try, such as 8G (default: 4/5 of the machine's memory).")
@click.option(
    "--import",
    "imports",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    metavar="FILE",
    help="Run this Python file in the process of the tries first; may be repeated.",
)
@out_option("--output", text="Folder to write (default: NAME-reduced).")
def reduce_command(
    subject: str,
    arguments: tuple[str, ...],
    fails: str | None,
    inputs: Path | None,
    index: int | None,
    models_root: Path | None,
    options: dict[str, object],
    limit: float | None,
    budget: float,
    memory: str,
    imports: tuple[Path, ...],
    out: Path | None,
) -> None:
    """Make a failing program small, and a test of it.

    The program is a StableHLO module, or the first program of a Python SCRIPT or of a MODEL that fails by itself. Ops,
    results, loops, sizes and values are left out as long as the rest fails in the same way. Each try is a child process
    with limits of time and memory. Ctrl-C ends the reduction and keeps the smallest program so far.

    DIR receives reduced.mlir, inputs.npz, test_reduced.py, report.txt, and report.zip with all of them. The exit status
    is 1 if nothing fails.
    """
    from tt_xla.testing.child_processes import default_memory
    from tt_xla.testing.models.processes import memory_in_bytes
    from tt_xla.testing.reduction.failures import ANY, Failure
    from tt_xla.testing.reduction.processes import Processes
    from tt_xla.testing.reduction.reducer import FIRST_LIMIT_S, TrialRunner

    try:
        failure = Failure.parse(fails or ANY)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    folder = _folder(out, subject)
    if is_file_name(subject):
        check_input(Path(subject), Kind.STABLEHLO, Kind.SCRIPT)
    with Processes(memory_in_bytes(memory) or default_memory(1), imports) as processes:
        candidates = _candidates(subject, arguments, inputs, options, models_root, imports, limit)
        runner = TrialRunner(
            processes, CompileOptions.parse(candidates[0].options), limit or FIRST_LIMIT_S, own_limit=limit is not None
        )
        begun = _first_failing(_chosen(candidates, index), failure, runner)
        if begun is None:
            raise SystemExit(FAILED)
        name, reduction = begun
        _run(name, reduction, runner, processes, budget)
    _write(folder, reduction, name, imports)


def _candidates(
    subject: str,
    arguments: Sequence[str],
    inputs: Path | None,
    own: dict[str, object],
    models_root: Path | None,
    imports: Sequence[Path],
    limit: float | None,
) -> list[Recorded]:
    """Returns the programs of a module, a script or a model.

    Raises:
        ExecutionError: the script or model compiles no program.
    """
    from tt_xla.testing.divergence.subjects import of_file
    from tt_xla.testing.models.suite import models_folder
    from tt_xla.testing.reduction import recorder, recording
    from tt_xla.testing.reduction.api import program_of

    is_script = kind_of_name(subject) is Kind.SCRIPT
    if is_file_name(subject) and not is_script:
        read = of_file(Path(subject), inputs)
        text = str(read.source.module.operation.get_asm(enable_debug_info=True))
        return [recording.Recorded(Path(subject).name, program_of(text, read.inputs), own)]
    script, rest = (subject, list(arguments)) if is_script else (recorder.MODEL, [])
    if not is_script:
        rest = [str(models_folder(models_root, Path())), subject, str(own.get("optimization_level", 0))]
    with tempfile.TemporaryDirectory(prefix="tt-xla-reduce-") as folder:
        click.echo(f"Running {subject} once to record its programs.", err=True)
        found = recording.record(Path(folder), script, rest, _SCRIPT_S if limit is None else 10 * limit, imports)
    if not found.programs:
        ending = f"ended with {found.ending} before it compiled a program" if found.ending else "compiled no program"
        raise ExecutionError(
            f"{subject} {ending}.\n{found.output}",
            hint="If a graph of PyTorch fails before it is StableHLO, PyTorch's minifier reduces it: run the script "
            "with TORCHDYNAMO_REPRO_AFTER=dynamo TORCHDYNAMO_REPRO_LEVEL=2, and then the file minifier_launcher.py "
            "that it names.",
        )
    if found.ending:
        click.echo(f"{subject} ended early: {found.ending}. It compiled {len(found.programs)} programs.", err=True)
    return [recording.Recorded(each.name, each.program, each.options | own) for each in found.programs]


_SCRIPT_S = 600.0
"""Seconds after which a script that is recorded is stopped, unless --limit is given."""


def _chosen(candidates: list[Recorded], index: int | None) -> list[Recorded]:
    if index is None:
        return candidates
    if not 0 <= index < len(candidates):
        raise OptionError(f"--program got {index}; there are {len(candidates)} programs, counted from 0.")
    return [candidates[index]]


def _first_failing(
    candidates: Sequence[Recorded], failure: Failure, runner: TrialRunner
) -> tuple[str, Reduction] | None:
    """Returns name and beginning of the reduction of the first program that fails by itself; None if none does."""
    from tt_xla.testing.reduction.api import begin

    endings: list[str] = []
    for candidate in candidates:
        runner.options = CompileOptions.parse(candidate.options)
        first = runner.outcome(candidate.program, failure)
        if failure.shown_by(first):
            return candidate.name, begin(candidate.program, first, runner, failure)
        endings.append(f"{candidate.name}: {first.text}.")
    reason = f"error: Nothing fails by '{failure.text}'. Check options, inputs and environment, or change --fails."
    click.echo("\n".join([*endings, reason]), err=True)
    return None


def _run(name: str, reduction: Reduction, runner: TrialRunner, processes: Processes, budget: float) -> None:
    """Reduces the program, with a line on a terminal that shows how far it is, and tries the result once more."""
    from rich.console import Console

    from tt_xla.testing.reduction.reducer import Reducer

    def show(now: Reduction) -> None:
        status.update(f"{now.ops} of {now.ops_before} ops, {now.trials} tries, {now.seconds:.0f} s: {now.step}")

    try:
        click.echo(f"{name} fails: {reduction.first.text}.", err=True)
        with Console(stderr=True).status("first try") as status:
            Reducer(reduction, runner, time.monotonic() + budget, show).run()
            processes.renew()
            confirmed = reduction.failure.shown_by(runner.outcome(reduction.program, reduction.failure))
    except KeyboardInterrupt:
        reduction.ended = "it was interrupted"
    else:
        if not confirmed:
            reduction.ended = "the result fails only in a process that has run other programs"


def _write(folder: Path, reduction: Reduction, name: str, imports: Sequence[Path]) -> None:
    from tt_xla.testing.reduction.report import files
    from tt_xla.tools.info import lines

    command = shlex.join(["tt-xla", *sys.argv[1:]])
    publish_out(folder, files(reduction, name, command, "\n".join(lines()), [str(path) for path in imports]))
    ended = f" It ended early: {reduction.ended}." if reduction.ended else ""
    click.echo(
        f"{reduction.ops_before} ops became {reduction.ops} in {reduction.seconds:.0f} s and {reduction.trials} tries: "
        f"{reduction.outcome.text}.{ended}"
    )
    click.echo(f"{folder / 'test_reduced.py'} is the test, {folder / 'report.zip'} the report.")


def _folder(out: Path | None, subject: str) -> Path:
    """Returns the folder to write: the one of --out, or a new one named after the subject.

    Raises:
        OutputError: the folder of --out has files of others in these places.
    """
    from tt_xla.testing.reduction.report import FILE_NAMES

    if out is not None:
        with writing(out):  # before minutes of work
            replaceable(out, FILE_NAMES)
        return out
    return unused_folder(Path(f"{Path(subject).stem}-reduced"), "-")
