"""The ``tt-xla`` command. Commands import heavy libraries when they run, so that ``--help`` answers at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tt_xla import __version__
from tt_xla.environment import selected_system, unknown_name, variable
from tt_xla.errors import TTXLAError
from tt_xla.runtime.exit_note import EXIT_NOTE
from tt_xla.target import system_names
from tt_xla.tools.bench_command import bench_command
from tt_xla.tools.cache_command import cache_command
from tt_xla.tools.explorer.command import explore_command
from tt_xla.tools.first_steps import WAY, completion_command
from tt_xla.tools.inputs import check_input, models_root_of
from tt_xla.tools.machine_commands import doctor_command, info, smi
from tt_xla.tools.options import option_values, parsed_options
from tt_xla.tools.profile_command import profile_command
from tt_xla.tools.reduce_command import reduce_command
from tt_xla.tools.report_command import report_command
from tt_xla.tools.tune_command import tune_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="tt-xla")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile PyTorch and JAX programs for Tenstorrent chips, run, profile and tune them."""
    if context.invoked_subcommand is None:
        click.echo(WAY, nl=False)


@cli.command("compile")
@click.argument("modules", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MODULE...")
@click.option(
    "--arch",
    type=click.Choice(system_names()),
    help="System to compile for (default: TTXLA_SYSTEM, or n150).",
)
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the program and the IR to this folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per module, one per line.")
@click.option(
    "--explain",
    "explain",
    flag_value="table",
    help="Show each op's form, what bounds it, its distance to the roofline, the next best form, and the reason.",
)
@click.option("--explain-json", "explain", flag_value="json", help="Same as --explain, as one JSON object per module.")
@click.option(
    "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
)
@click.option("--mesh", metavar="SHAPE", help="Mesh of TTIR text that names none, such as 2x4.")
@click.option(
    "--overrides",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Layouts, formats and configs of single ops, as tt-xla explore writes them.",
)
def compile_command(
    modules: tuple[Path, ...],
    arch: str | None,
    level: int | None,
    out: Path | None,
    as_json: bool,
    explain: str | None,
    option_texts: tuple[str, ...],
    mesh: str | None,
    overrides: Path | None,
) -> None:
    """Compile modules and show their ops and predicted costs.

    MODULE is StableHLO, text or bytecode, or TTIR or TTNN text of this compiler or of upstream's. Its ops tell which.

    With --out, the irs/ folder and the .ttnn file go to DIR; those of several modules to one folder each in DIR.
    """
    from tt_xla.tools.compile_files import compile_files

    if overrides is not None:
        option_texts = (*option_texts, f"overrides={overrides}")
    options = parsed_options(level, option_texts)
    arguments = (modules, arch or selected_system(), options, out, as_json, report_error, explain or "", mesh or "")
    if compile_files(*arguments):
        raise SystemExit(1)


@cli.command()
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level of modules: 0 (default), 1 or 2.")
@click.option(
    "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
)
@click.option(
    "--ttnn-python",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Python interpreter with ttnn (default: TTXLA_TTNN_PYTHON).",
)
@click.option(
    "--kernels", is_flag=True, help="Build every kernel, as for a card. The first build of a kernel takes seconds."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, one per line.")
def check(
    programs: tuple[Path, ...],
    level: int | None,
    option_texts: tuple[str, ...],
    ttnn_python: Path | None,
    kernels: bool,
    as_json: bool,
) -> None:
    """Ask TT-NN whether it accepts programs. No card is needed.

    FILE is a module, see `tt-xla compile`, or a .ttnn file. Every call is made on TT-NN's mock p150. The exit
    status is 1 if TT-NN refuses a call.
    """
    from tt_xla.tools.check import check_files

    options = parsed_options(level, option_texts)
    if check_files(programs, "p150", options, ttnn_python, report_error, kernels=kernels, as_json=as_json):
        raise SystemExit(1)


@cli.command("opt")
@click.argument("module", required=False, type=click.Path(path_type=Path), metavar="[MODULE]")
@click.option("--pass", "passes", multiple=True, metavar="NAME[,NAME...]", help="Run these passes in this order.")
@click.option(
    "--pipeline", "pipeline_name", type=click.Choice(["ttir", "ttnn", "all"]), help="Run these stages of the compiler."
)
@click.option("--list", "listing", is_flag=True, help="List the passes with their reasons.")
@click.option("--target", "arch", type=click.Choice(system_names()), help="System (default: TTXLA_SYSTEM, or n150).")
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
@click.option(
    "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
)
@click.option("--verify", is_flag=True, help="Verify the module after each pass.")
@click.option("--generic", is_flag=True, help="Write the generic form, which every MLIR tool reads.")
@click.option("--locations", is_flag=True, help="Write source locations.")
@click.option("--unknown-ops", is_flag=True, help="Accept ops of unknown dialects.")
def opt_command(
    module: Path | None,
    passes: tuple[str, ...],
    pipeline_name: str | None,
    listing: bool,
    arch: str | None,
    level: int | None,
    option_texts: tuple[str, ...],
    verify: bool,
    generic: bool,
    locations: bool,
    unknown_ops: bool,
) -> None:
    """Read a module, run passes on it, and print it.

    MODULE is StableHLO, TTIR or TTNN, of this compiler or dumped by upstream's; by default it is read from standard
    input. Without --pass and --pipeline, the module is verified and printed.
    """
    from tt_xla.ir.text import print_module
    from tt_xla.tools.passes import listed, optimise, read_module

    if listing:
        click.echo("\n".join(listed()))
        return
    options = parsed_options(level, option_texts)
    names = [name.strip() for text in passes for name in text.split(",") if name.strip()]
    system = arch or selected_system()
    parsed = read_module(module, options, system, unknown_ops=unknown_ops)
    optimised = optimise(parsed, names, pipeline_name, options, system, verify=verify)
    click.echo(print_module(optimised, generic=generic, locations=locations), nl=False)


@cli.command("estimate")
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--target", "arch", type=click.Choice(system_names()), help="System (default: the system of the file).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, one per line.")
def estimate_command(programs: tuple[Path, ...], arch: str | None, as_json: bool) -> None:
    """Show the predicted device time of a call, by op.

    FILE is a .ttnn file, or TTNN text of this compiler or of upstream's. Const-eval functions, which run once, do not
    count.
    """
    from tt_xla.tools.estimate import estimate_files

    estimate_files(programs, arch, as_json)


@cli.command("show")
@click.argument("program", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_command(program: Path, as_json: bool) -> None:
    """Show the content of a .ttnn file.

    The output has functions, ops with shapes, layouts, costs and source lines, memory, constants and options.
    """
    from tt_xla.tools.show import show_file

    show_file(program, as_json)


@cli.command()
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the source to this folder.",
)
@click.option(
    "--arch",
    type=click.Choice(system_names()),
    help="System to compile modules for (default: TTXLA_SYSTEM, or n150).",
)
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level of modules: 0 (default), 1 or 2.")
@click.option(
    "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
)
@click.option("--language", type=click.Choice(["py", "cpp"]), default="py", show_default=True)
def codegen(
    programs: tuple[Path, ...],
    out: Path,
    arch: str | None,
    level: int | None,
    option_texts: tuple[str, ...],
    language: str,
) -> None:
    """Write programs as source code that calls TT-NN.

    FILE is a module, see `tt-xla compile`, or a .ttnn file. The source of a single program, main.py or
    main.cpp and run, goes to DIR. Several programs go to DIR/graph_0, DIR/graph_1 and so on.
    """
    from tt_xla.tools.codegen_files import codegen_files

    options = parsed_options(level, option_texts)
    if codegen_files(programs, arch or selected_system(), options, out, language, report_error):
        raise SystemExit(1)


@cli.command("run")
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--arch", type=click.Choice(system_names()), help="System to compile modules for (default: TTXLA_SYSTEM, or n150)."
)
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level of modules: 0 (default), 1 or 2.")
@click.option(
    "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
)
@click.option(
    "--inputs",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A .npz file with the arguments in order (default: random numbers).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="NPZ", help="Write the results of a single program to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, one per line.")
def run_programs(
    programs: tuple[Path, ...],
    arch: str | None,
    level: int | None,
    option_texts: tuple[str, ...],
    inputs: Path | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run programs once on the emulated card and show their results.

    FILE is a module, see `tt-xla compile`, or a .ttnn file.
    """
    from tt_xla.tools.run_files import run_files

    if out is not None and len(programs) > 1:
        raise click.UsageError("--out takes the results of a single program.")
    options = parsed_options(level, option_texts)
    if run_files(programs, arch or selected_system(), options, inputs, out, seed, as_json, report_error):
        raise SystemExit(1)


_OTHERS = (
    *(bench_command, cache_command, completion_command, doctor_command, explore_command, info, profile_command),
    *(reduce_command, report_command, smi, tune_command),
)
for other in _OTHERS:
    cli.add_command(other)


@cli.command("compare")
@click.argument("model")
@click.argument("arguments", nargs=-1)
@click.option(
    "--models-root", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder with model loaders."
)
@click.option(
    "--inputs", type=click.Path(path_type=Path, exists=True), help="A .npz file with the arguments of a StableHLO file."
)
@click.option("--program", "index", type=int, metavar="N", help="Compare only this program of a model, counted from 0.")
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
    type=float,
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
@click.option(
    "--reproduce",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write a part as a module with a test to this folder.",
)
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
@click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
@click.option(
    "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per program, one per line.")
def compare_command(
    model: str,
    arguments: tuple[str, ...],
    models_root: Path | None,
    inputs: Path | None,
    index: int | None,
    by: str,
    required: float,
    shown: int,
    bisect: str | None,
    span: str | None,
    reproduce: Path | None,
    against: str,
    ulp: int | None,
    level: int | None,
    option_texts: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show where a program on the emulated card differs from float32 on the CPU, or from TT-NN, and by how much.

    MODEL is a StableHLO file, or the id of a model's test, or its beginning; the model is below --models-root (default
    third_party/tt_forge_models, or models). Each part runs alone on exact inputs, and in the whole program. With
    --against ttnn, each TTNN instruction runs alone on the operands that TT-NN had, and in the whole program; the first
    one that is not within --pcc or --ulp is named. The exit status is 1 if results are not within it.

    MODEL may also be a Python script that calls ttnn, with its ARGUMENTS after --. Each call runs in float32 too.
    """
    from tt_xla.testing.divergence import subjects
    from tt_xla.tools import compare

    if against == "ttnn" and (by not in ("op", "instruction") or bisect or span or reproduce):
        raise click.UsageError(
            "--against ttnn compares TTNN instructions; it takes no --by, --bisect, --range, --reproduce."
        )
    if ulp is not None and against != "ttnn":
        raise click.UsageError("--ulp is for --against ttnn; float32 on the CPU is compared by --pcc.")
    if by == "instruction" and (bisect or span or reproduce):
        raise click.UsageError("--bisect, --range and --reproduce take parts of StableHLO; use --by op, line or layer.")
    if model.endswith(".py"):
        if bisect or span or reproduce or option_texts or level is not None:
            raise click.UsageError("A script that calls ttnn has no compile options, and no parts to write or bisect.")
        script = compare.compare_script(Path(model), arguments, required=required, shown=shown, as_json=as_json)
        raise SystemExit(not script.passed)
    options = parsed_options(level, option_texts)
    parts = compare.span_of(span) if span else None
    if Path(model).is_file():
        check_input(Path(model))
        programs = [subjects.of_file(Path(model), inputs)]
    else:
        programs = subjects.of_model(models_root_of(models_root), model, options.optimization_level)
    passed = True
    for subject in compare.selected(programs, index):
        if against == "ttnn":
            from tt_xla.tools import compare_ttnn as ttnn

            tolerance = ttnn.Tolerance(required, ulp)
            passed = ttnn.compare(subject, options, tolerance, shown=shown, as_json=as_json) and passed
            continue
        if bisect is not None:
            compare.show_bisection(subject, options, bisect, parts, by, required, shown)
            continue
        result = compare.compare(subject, options, by=by, required=required, shown=shown, as_json=as_json)
        passed = passed and result.passed
        if reproduce is not None:
            path = compare.reproduce(subject, result, reproduce, parts, by, option_values(level, option_texts))
            click.echo(f"{path} runs the part.", err=as_json)
    if not passed:
        raise SystemExit(1)


@cli.command("models")
@click.argument("root", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("filters", nargs=-1, metavar="[FILTER]...")
@click.option(
    "--report",
    "out",
    type=click.Path(path_type=Path),
    default=Path("models-report"),
    show_default=True,
    help="Folder of the report.",
)
@click.option(
    "--test-config",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with test_config_*.yaml files; may be repeated (default test_config of ROOT or tests/runner).",
)
@click.option("--arch", help="Apply the arch_overrides of this architecture.")
@click.option(
    "--level",
    type=click.IntRange(0, 2),
    help="Optimization level of all models, instead of the levels in their entries.",
)
@click.option("--golden-f32", is_flag=True, help="Compare torch models with float32 instead of bfloat16 on the CPU.")
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Number of models that run at the same time."
)
@click.option("--timeout", type=float, default=1800.0, show_default=True, help="Time limit of one model in seconds.")
@click.option(
    "--memory",
    default="",
    help="Memory limit of one model, such as 8G (default: 4/5 of the machine's memory, shared by the jobs).",
)
@click.option(
    "--against",
    "before",
    type=click.Path(path_type=Path, exists=True),
    help="Report of a previous run, to show regressions.",
)
@click.option("--ray", metavar="ADDRESS", help="Run on this Ray cluster.")
@click.option("--lenient", is_flag=True, help="Do not fail models that pass although they are expected to fail.")
@click.option("--list", "listing", is_flag=True, help="List the tests without running them.")
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
    """Run the models below ROOT, each in its own process, and write records.jsonl and index.html.

    ROOT contains <model>/{pytorch,jax}/loader.py. A FILTER is a part of a test's name, where * stands for any text;
    several filters must all match. Tests that the report already contains, with the same options, system and version,
    are not run again. The exit status is 1 if a test does not end as expected, or if a file of expectations has an
    error.
    """
    from tt_xla.testing.models.config import ARCHS
    from tt_xla.testing.models.processes import Limits, memory_in_bytes
    from tt_xla.testing.models.suite import read_suite
    from tt_xla.tools import run_models

    if arch is not None and arch not in ARCHS:
        raise unknown_name("arch", arch, ARCHS)
    limits = Limits(timeout, memory_in_bytes(memory), jobs)
    suite = read_suite(str(root), [str(folder) for folder in folders], Path.cwd(), root, arch)
    for line in (*suite.discovery.problems, *suite.errors):
        click.echo(line, err=True)
    tasks = [task.with_options(level, golden_f32=golden_f32) for task in run_models.select(suite, filters)]
    passed = True
    if listing:
        for task in tasks:
            click.echo(f"{task.case.id} {task.expectation.status.value}")
    else:
        passed = run_models.run(tasks, out, limits, jobs=jobs, before=before, ray=ray, lenient=lenient)
    if suite.errors or not passed:
        raise SystemExit(1)


def report_error(error: BaseException) -> None:
    """Prints an error as one paragraph on standard error, after a traceback if the log level is VERBOSE."""
    if variable("TTXLA_LOGGER_LEVEL").upper() == "VERBOSE":
        import traceback

        traceback.print_exception(error)
    click.echo(f"error: {_message(error)}", err=True)


def _message(error: BaseException) -> str:
    if isinstance(error, TTXLAError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        message = error.strerror or str(error) or type(error).__name__
        path = f"'{error.filename}': " if error.filename is not None else ""
        return f"{path}{message}. {_next_step(error)}"
    return (
        f"{type(error).__name__}: {' '.join(str(error).split())}. This is a bug in tt-xla; please report it. "
        "TTXLA_LOGGER_LEVEL=VERBOSE shows where it happened."
    )


def _next_step(error: OSError) -> str:
    """Returns a hint for the user on an error of the operating system."""
    if isinstance(error, FileNotFoundError):
        return "Check the path, relative to the current folder."
    if isinstance(error, IsADirectoryError):
        return "Give one or more files."
    if isinstance(error, PermissionError):
        return "Check its permissions, or give another path."
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "Give --out a folder, or a path that does not exist yet."
    return "Check that the disk has space and that the path can be read and written."


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``tt-xla`` and exits with status 0, with 1 after an error, or with 2 after wrong usage."""
    run_command(cli, "tt-xla", arguments)


def tt_explorer() -> None:
    """Runs ``tt-explorer``, which is ``tt-xla explore`` under upstream's name."""
    run_command(explore_command, "tt-explorer")


def run_command(command: click.Command, name: str, arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits as :func:`main` does."""
    EXIT_NOTE.wanted = False
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
