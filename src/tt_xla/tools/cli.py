"""The ``tt-xla`` command. Heavy imports happen inside commands, so that ``--help`` answers at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tt_xla import __version__
from tt_xla.errors import OptionError, TTXLAError
from tt_xla.options import environment, selected_system
from tt_xla.target import system_names
from tt_xla.tools.bench_command import bench_command
from tt_xla.tools.profile_command import profile_command
from tt_xla.tools.report_command import report_command
from tt_xla.tools.tune_command import tune_command

if TYPE_CHECKING:
    from tt_xla.options import CompileOptions


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tt-xla")
def cli() -> None:
    """PyTorch and JAX programs compiled for Tenstorrent chips."""


@cli.command("compile")
@click.argument("modules", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MODULE...")
@click.option(
    "--arch",
    type=click.Choice(system_names()),
    help="System to compile for; TTXLA_SYSTEM or n150 when left out.",
)
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the Program and the IR here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per module, each on a line.")
@click.option("--explain", "explain", flag_value="table", help="Show each op's layout, the next best one, and why.")
@click.option("--explain-json", "explain", flag_value="json", help="The same as one JSON object per module.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="A compile option; may be repeated.")
def compile_command(
    modules: tuple[Path, ...],
    arch: str | None,
    level: int | None,
    out: Path | None,
    as_json: bool,
    explain: str | None,
    given: tuple[str, ...],
) -> None:
    """Compile StableHLO modules, text or bytecode, and show what they became and what they would cost.

    With --out, a single module's irs/ and .ttnn file go to DIR, those of several to one folder each in DIR.
    """
    from tt_xla.tools.compile_files import compile_files

    options = _options(level, given)
    failed = compile_files(modules, arch or selected_system(), options, out, as_json, report_error, explain or "")
    if failed:
        raise SystemExit(1)


def _options(level: int | None, given: tuple[str, ...]) -> CompileOptions:
    """Compile options from --level and --option.

    Raises:
        UsageError: one is unknown, has a bad value, or contradicts another.
    """
    from tt_xla.options import CompileOptions

    values: dict[str, object] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator:
            raise click.UsageError(f"--option was given {text!r}; it takes NAME=VALUE, as in enable_trace=true.")
        values[name.strip()] = value.strip()
    if level is not None:
        if str(values.get("optimization_level", level)) != str(level):
            raise click.UsageError(
                f"--level {level} and --option optimization_level={values['optimization_level']} contradict each other."
            )
        values["optimization_level"] = level
    try:
        return CompileOptions.parse(values)
    except OptionError as error:
        raise click.UsageError(str(error)) from error


@cli.command()
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level of modules: 0 (default), 1 or 2.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="A compile option; may be repeated.")
@click.option(
    "--ttnn-python",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Python interpreter that has ttnn; TTXLA_TTNN_PYTHON when left out.",
)
@click.option("--kernels", is_flag=True, help="Build every kernel, as for a card; takes seconds for each at first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, each on a line.")
def check(
    programs: tuple[Path, ...],
    level: int | None,
    given: tuple[str, ...],
    ttnn_python: Path | None,
    kernels: bool,
    as_json: bool,
) -> None:
    """Ask TT-NN, without a card, whether it takes programs: StableHLO modules, or .ttnn files as they are.

    Every call is made on TT-NN's mock p150. The exit status is 1 when one is refused.
    """
    from tt_xla.tools.check import check_files

    options = _options(level, given)
    if check_files(programs, "p150", options, ttnn_python, report_error, kernels=kernels, as_json=as_json):
        raise SystemExit(1)


@cli.command("opt")
@click.argument("module", required=False, type=click.Path(path_type=Path), metavar="[MODULE]")
@click.option("--pass", "passes", multiple=True, metavar="NAME[,NAME...]", help="Run these passes, in this order.")
@click.option(
    "--pipeline", "whole", type=click.Choice(["ttir", "ttnn", "all"]), help="Run these stages of the compiler."
)
@click.option("--list", "listing", is_flag=True, help="Show the passes, each with its reason.")
@click.option("--target", "arch", type=click.Choice(system_names()), help="System; TTXLA_SYSTEM or n150 when left out.")
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="A compile option; may be repeated.")
@click.option("--verify", is_flag=True, help="Check the module after each pass.")
@click.option("--generic", is_flag=True, help="Write the generic form, which any MLIR reads.")
@click.option("--locations", is_flag=True, help="Write source locations.")
@click.option("--unknown-ops", is_flag=True, help="Keep ops that no dialect here has.")
def opt_command(
    module: Path | None,
    passes: tuple[str, ...],
    whole: str | None,
    listing: bool,
    arch: str | None,
    level: int | None,
    given: tuple[str, ...],
    verify: bool,
    generic: bool,
    locations: bool,
    unknown_ops: bool,
) -> None:
    """Read a module, run passes on it, and write it: StableHLO, TTIR or TTNN, ours or a dump of upstream's.

    Without MODULE, standard input is read. Without --pass and --pipeline, the module is checked and written again.
    """
    from tt_xla.ir.text import print_module
    from tt_xla.tools.passes import listed, optimise, read_module

    if listing:
        click.echo("\n".join(listed()))
        return
    options = _options(level, given)
    names = [name.strip() for each in passes for name in each.split(",") if name.strip()]
    found = read_module(module, unknown_ops=unknown_ops)
    found = optimise(found, names, whole, options, arch or selected_system(), verify=verify)
    click.echo(print_module(found, generic=generic, locations=locations), nl=False)


@cli.command("estimate")
@click.argument("programs", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE...]")
@click.option("--target", "arch", type=click.Choice(system_names()), help="System; the file's own when left out.")
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="CSV",
    help="Times measured on a card, to compare with.",
)
@click.option("--rows", type=click.IntRange(min=0), default=100, show_default=True, help="Measured rows to show.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, each on a line.")
def estimate_command(
    programs: tuple[Path, ...], arch: str | None, measured: tuple[Path, ...], rows: int, as_json: bool
) -> None:
    """Show the predicted device time of a call by op: of .ttnn files, or of TTNN text, ours or upstream's.

    What runs once and is kept counts nothing. --measured shows instead how near predictions are to measured times: of
    a profiler's ops_perf_results CSV, or of public collections of them. Several files count as one.
    """
    if bool(programs) == bool(measured):
        raise click.UsageError("Give programs, or files of measured times with --measured.")
    if measured:
        from tt_xla.tools.measured import compare_files

        compare_files(measured, arch or "", rows, as_json)
        return
    from tt_xla.tools.estimate import estimate_files

    estimate_files(programs, arch, as_json)


@cli.command("show")
@click.argument("program", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_command(program: Path, as_json: bool) -> None:
    """Show a .ttnn file: functions, ops with shapes, layouts, costs and source lines, memory, constants, options."""
    from tt_xla.tools.show import show_file

    show_file(program, as_json)


@cli.command()
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Write the source here."
)
@click.option(
    "--arch",
    type=click.Choice(system_names()),
    help="System to compile modules for; TTXLA_SYSTEM or n150 when left out.",
)
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level of modules: 0 (default), 1 or 2.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="A compile option; may be repeated.")
@click.option("--language", type=click.Choice(["py", "cpp"]), default="py", show_default=True)
def codegen(
    programs: tuple[Path, ...],
    out: Path,
    arch: str | None,
    level: int | None,
    given: tuple[str, ...],
    language: str,
) -> None:
    """Write programs as source that calls TT-NN: StableHLO modules, or .ttnn files as they are.

    A single one's main.py or main.cpp and run go to DIR, those of several to DIR/graph_0, DIR/graph_1 and so on.
    """
    from tt_xla.tools.codegen_files import codegen_files

    options = _options(level, given)
    if codegen_files(programs, arch or selected_system(), options, out, language, report_error):
        raise SystemExit(1)


cli.add_command(bench_command)
cli.add_command(profile_command)
cli.add_command(report_command)
cli.add_command(tune_command)


@cli.command()
def info() -> None:
    """Show versions, systems, folders and the environment variables in force."""
    from tt_xla.tools.info import lines

    for line in lines():
        click.echo(line)


@cli.command("compare")
@click.argument("model")
@click.option("--models-root", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of loaders.")
@click.option("--inputs", type=click.Path(path_type=Path, exists=True), help="A .npz with the arguments of a file.")
@click.option("--program", "index", type=int, metavar="N", help="The Nth program of a model only; the first is 0.")
@click.option(
    "--by",
    type=click.Choice(["op", "line", "layer", "instruction"]),
    default="op",
    show_default=True,
    help="Cut the program op by op, at each change of the source line, or where the source goes back; or look at the "
    "TTNN instructions that it becomes.",
)
@click.option("--pcc", "required", type=float, default=0.99, show_default=True, help="Least correlation.")
@click.option("--top", "shown", type=click.IntRange(1), default=10, show_default=True, help="Parts to show.")
@click.option("--bisect", type=click.Choice(["fusion", "format"]), help="Find the rewrite, or the format and weight.")
@click.option("--range", "span", metavar="A[:B]", help="Bisect or write these parts, not the program or the worst.")
@click.option("--reproduce", type=click.Path(path_type=Path), metavar="DIR", help="Write a part as a module and test.")
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="A compile option; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per program, each on a line.")
def compare_command(
    model: str,
    models_root: Path | None,
    inputs: Path | None,
    index: int | None,
    by: str,
    required: float,
    shown: int,
    bisect: str | None,
    span: str | None,
    reproduce: Path | None,
    level: int | None,
    given: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run each op of a program on the emulated card and in float32 on the CPU; show where they part, and by how much.

    MODEL is a StableHLO file, or a model below --models-root (third_party/tt_forge_models, else models) by the id of
    its test, or the beginning of it. Each part runs alone on exact inputs, and as a part of the whole. The exit status
    is 1 when results are below --pcc.
    """
    from tt_xla.testing.divergence import subjects
    from tt_xla.tools import compare

    if by == "instruction" and (bisect or span or reproduce):
        raise click.UsageError("--bisect, --range and --reproduce take parts of StableHLO: --by op, line or layer.")
    options = _options(level, given)
    parts = compare.span_of(span) if span else None
    if Path(model).is_file():
        found = [subjects.of_file(Path(model), inputs)]
    else:
        found = subjects.of_model(_models_root(models_root), model, options.optimization_level)
    passed = True
    for subject in compare.chosen(found, index):
        if bisect is not None:
            compare.show_bisection(subject, options, bisect, parts, by, required, shown)
            continue
        result = compare.compare(subject, options, by=by, required=required, shown=shown, as_json=as_json)
        passed = passed and result.passed
        if reproduce is not None:
            path = compare.reproduce(subject, result, reproduce, parts, by, _given(level, given))
            click.echo(f"{path} runs it.", err=as_json)
    if not passed:
        raise SystemExit(1)


def _given(level: int | None, given: tuple[str, ...]) -> dict[str, str | int]:
    found: dict[str, str | int] = {} if level is None else {"optimization_level": level}
    return found | {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in given)}


def _models_root(given: Path | None) -> Path:
    candidates = [given] if given else [Path("third_party/tt_forge_models"), Path("models")]
    for path in candidates:
        if path.is_dir():
            return path.resolve()
    raise click.UsageError("MODEL is no file, and there is no folder of models here; --models-root names one.")


@cli.command("models")
@click.argument("root", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("filters", nargs=-1, metavar="[FILTER]...")
@click.option("--report", "out", type=click.Path(path_type=Path), default=Path("models-report"), show_default=True)
@click.option("--test-config", "folders", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--arch", help="Apply arch_overrides of this architecture.")
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level of all, in place of what entries say.")
@click.option("--golden-f32", is_flag=True, help="Compare torch models with float32 on the CPU, not with bfloat16.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Models at a time.")
@click.option("--timeout", type=float, default=1800.0, show_default=True, help="Seconds for one model.")
@click.option("--memory", default="", help="Memory for one model, as in 8G; 4/5 of the machine's shared, left out.")
@click.option("--against", "before", type=click.Path(path_type=Path, exists=True), help="Report of a previous run.")
@click.option("--ray", metavar="ADDRESS", help="Run on this Ray cluster.")
@click.option("--lenient", is_flag=True, help="A model that is expected to fail and passes is no failure.")
@click.option("--list", "listing", is_flag=True, help="Show the tests, and run nothing.")
def models_command(
    root: Path,
    filters: tuple[str, ...],
    out: Path,
    folders: tuple[Path, ...],
    arch: str | None,
    level: int | None,
    golden_f32: bool,
    jobs: int,
    timeout: float,
    memory: str,
    before: Path | None,
    ray: str | None,
    lenient: bool,
    listing: bool,
) -> None:
    """Run models below ROOT, each in a process of its own, and write records.jsonl and index.html.

    ROOT has <model>/{pytorch,jax}/loader.py. A FILTER is a part of a test's name, * stands for anything; several must
    all match. Tests that the report has are not run again. The exit status is 1 when one does not go as expected.
    """
    from tt_xla.testing.models.processes import Limits, memory_in_bytes
    from tt_xla.tools import run_models

    tasks = run_models.select(root, folders, filters, arch, lambda line: click.echo(line, err=True))
    tasks = [task.with_options(level, golden_f32=golden_f32) for task in tasks]
    if listing:
        for task in tasks:
            click.echo(f"{task.case.id} {task.expectation.status.value}")
        return
    limits = Limits(timeout, memory_in_bytes(memory) or run_models.default_memory(jobs))
    if not run_models.run(root.resolve(), tasks, out, limits, jobs=jobs, before=before, ray=ray, lenient=lenient):
        raise SystemExit(1)


@cli.command()
@click.option("--once", is_flag=True, help="Show them once, and end.")
@click.option("--json", "as_json", is_flag=True, help="Show them once, as JSON.")
@click.option("-r", "--reset", is_flag=True, help="Reset them, as a process that hangs or cards that are full need.")
def smi(once: bool, as_json: bool, reset: bool) -> None:
    """Show the emulated cards in use: memory, programs, clock and predicted utilisation by process, live."""
    from tt_xla.tools import smi as cards

    if reset:
        cards.reset()
    else:
        cards.show(once=once, as_json=as_json)


def report_error(error: BaseException) -> None:
    """One paragraph on standard error; a traceback before it where the log level asks for everything."""
    if environment("TTXLA_LOGGER_LEVEL").upper() == "VERBOSE":
        import traceback

        traceback.print_exception(error)
    click.echo(f"error: {_message(error)}", err=True)


def _message(error: BaseException) -> str:
    if isinstance(error, TTXLAError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        what = error.strerror or str(error) or type(error).__name__
        where = f"'{error.filename}': " if error.filename is not None else ""
        return f"{where}{what}. {_next_step(error)}"
    return (
        f"{type(error).__name__}: {' '.join(str(error).split())}. This is a mistake in tt-xla, please report it; "
        "TTXLA_LOGGER_LEVEL=VERBOSE shows where it happened."
    )


def _next_step(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "Check the path, relative to the current folder."
    if isinstance(error, IsADirectoryError):
        return "Give a file with a StableHLO module, or several."
    if isinstance(error, PermissionError):
        return "Check its permissions, or give another path."
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "Give --out a folder, or a path that does not exist yet."
    return "Check that the disk has room and the path can be read and written."


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``tt-xla`` and exits: 0, 1 for an error that one paragraph explains, 2 for wrong usage."""
    run_command(cli, "tt-xla", arguments)


def run_command(command: click.Command, name: str, arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits as :func:`main` does."""
    try:
        status = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else name
        message = " ".join(error.format_message().split())
        click.echo(f"error: {message} See '{command} --help'.", err=True)
        status = 2
    except click.Abort:
        status = 130
    except BrokenPipeError:
        sys.stderr.close()
        status = 1
    except Exception as error:
        report_error(error)
        status = 1
    sys.exit(status)
