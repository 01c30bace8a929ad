"""The command ``tt-xla compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tt_xla.tools.inputs import Kind, check_input, is_file_name, kind_of_name
from tt_xla.tools.options import (
    NumberRange,
    compile_options,
    inputs_option,
    json_option,
    models_root_option,
    out_option,
    parsed,
    system_option,
)
from tt_xla.tools.running import FAILED, INTERRUPTED
from tt_xla.tools.script_command import ScriptCommand

if TYPE_CHECKING:
    from tt_xla.testing.divergence.subjects import Subject


@click.command("compare", cls=ScriptCommand)
@click.argument("model", metavar="MODULE|SCRIPT|TEST")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@models_root_option
@inputs_option
@click.option(
    "--program",
    "index",
    type=click.IntRange(0),
    metavar="N",
    help="Compare only this program of a script or model, counted from 0.",
)
@click.option(
    "--by",
    type=click.Choice(["op", "line", "layer", "instruction"]),
    default="op",
    show_default=True,
    help="How to cut the program: one op each, at each change of the source line, or by layer, where the source "
    "returns to an earlier line. `instruction` compares TTNN instructions.",
)
@click.option(
    "--pcc",
    "required",
    type=NumberRange(-1, 1),
    default=0.99,
    show_default=True,
    help="Smallest correlation that counts as agreement.",
)
@click.option("--top", "shown", type=click.IntRange(1), default=10, show_default=True, help="Number of parts to show.")
@click.option(
    "--bisect",
    type=click.Choice(["fusion", "format"]),
    help="Find the rewrite, or the number format and weight, that causes the error.",
)
@click.option(
    "--range",
    "span",
    metavar="A[:B]",
    help="Bisect or write these parts instead of the whole program or the worst part.",
)
@out_option("--reproduce", text="Write a part as a module with a test to this folder.")
@click.option(
    "--against",
    type=click.Choice(["float32", "ttnn"]),
    default="float32",
    show_default=True,
    help="What to compare with: float32 on the CPU, or TT-NN on a card or a simulator, instruction by instruction.",
)
@click.option(
    "--ulp",
    type=click.IntRange(0),
    metavar="N",
    help="Largest distance from TT-NN's values, instead of --pcc; 0: bits.",
)
@system_option(text="System to run on (default: TTXLA_SYSTEM, or n150).")
@compile_options
@json_option("Print one JSON object per program, one per line.")
def compare_command(
    model: str,
    arguments: tuple[str, ...],
    models_root: Path | None,
    inputs: Path | None,
    index: int | None,
    bisect: str | None,
    span: str | None,
    out: Path | None,
    against: str,
    ulp: int | None,
    options: dict[str, object],
    **settings: Any,
) -> None:
    """Show where results differ from float32, or from TT-NN.

    MODULE is StableHLO. SCRIPT is run with its ARGUMENTS; the programs that it compiles are compared, and its calls of
    ttnn. TEST is the id of a model's test below --models-root (default third_party/tt_forge_models, or models), or the
    beginning of an id. Each part of a program runs alone on exact inputs, and in the whole program on the emulated
    card, and is compared with float32 on the CPU.

    With --against ttnn, each TTNN instruction runs alone on the operands that TT-NN had, and in the whole program; the
    first one that is not within --pcc or --ulp is named. The exit status is 1 if results are not within it.
    """
    from tt_xla.environment import selected_runtime
    from tt_xla.testing.divergence.modules import check_range
    from tt_xla.tools import compare

    view = compare.View(**settings)
    takes_parts = bisect or span or out
    if against == "ttnn" and (view.by not in ("op", "instruction") or takes_parts):
        raise click.UsageError(
            "--against ttnn compares TTNN instructions; it takes no --by, --bisect, --range, --reproduce."
        )
    if ulp is not None and against != "ttnn":
        raise click.UsageError("--ulp is for --against ttnn; float32 on the CPU is compared by --pcc.")
    if view.by == "instruction" and takes_parts:
        raise click.UsageError("--bisect, --range and --reproduce take parts of StableHLO; use --by op, line or layer.")
    if view.by == "instruction" and against != "ttnn" and selected_runtime() != "emulated":
        raise click.UsageError(
            f"--by instruction reads the operands of each instruction on the emulated card, and TTXLA_RUNTIME="
            f"{selected_runtime()} leaves them on another. Unset it, or compare by op; --against ttnn compares both."
        )
    parts = compare.span_of(span) if span else None
    passed = True
    if kind_of_name(model) is Kind.SCRIPT:
        check_input(Path(model), Kind.SCRIPT)
        script = compare.compare_script(Path(model), arguments, view)
        programs = script.programs
        passed = not script.error and (script.calls is None or script.calls.passed)
        if script.error:
            click.echo(f"error: The script ended early ({script.error}); what it did before is compared.", err=True)
        if not programs and (takes_parts or options):
            raise click.UsageError("The script calls ttnn alone; its calls have no compile options and are no parts.")
    else:
        programs = _programs_of(model, inputs, models_root, options)
    chosen = compare.selected(programs, index)
    if parts is not None:
        for subject in chosen:
            check_range(subject.source.parts(view.by), *parts)
    for subject in chosen:
        compiling = parsed(subject.options | options)
        if against == "ttnn":
            from tt_xla.tools import compare_ttnn as ttnn

            tolerance = ttnn.Tolerance(view.required, ulp)
            passed = ttnn.compare(subject, compiling, tolerance, view) and passed
        elif bisect is not None:
            compare.show_bisection(subject, compiling, bisect, parts, view)
        else:
            result = compare.compare(subject, compiling, view)
            passed = passed and result.passed
            if result.interrupted:
                raise SystemExit(INTERRUPTED)
            if out is not None:
                path = compare.reproduce(subject, result, out, parts, view.by, subject.options | options)
                click.echo(f"{path} runs the part.")
    if not passed:
        raise SystemExit(FAILED)


def _programs_of(
    model: str, inputs: Path | None, models_root: Path | None, options: dict[str, object]
) -> list[Subject]:
    """Returns the program of a module, or those that a model's test compiles."""
    from tt_xla.testing.divergence import subjects
    from tt_xla.testing.models.suite import models_folder

    path = Path(model)
    if is_file_name(model):
        check_input(path, Kind.STABLEHLO, Kind.SCRIPT)
        return [subjects.of_file(path, inputs)]
    return subjects.of_model(models_folder(models_root, Path()), model, parsed(options).optimization_level)
