"""The ``tt-xla`` command. Commands import heavy libraries when they run, so that ``--help`` answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tt_xla import __version__
from tt_xla.environment import selected_system
from tt_xla.tools.bench_command import bench_command
from tt_xla.tools.cache_command import cache_command
from tt_xla.tools.compare_command import compare_command
from tt_xla.tools.explorer.command import explore_command
from tt_xla.tools.first_steps import FIRST_STEPS, completion_command
from tt_xla.tools.inputs import Kind, check_input
from tt_xla.tools.machine_commands import doctor_command, info, smi
from tt_xla.tools.options import FOLDER, compile_options, inputs_option, json_option, out_option, parsed, system_option
from tt_xla.tools.profile_command import profile_command
from tt_xla.tools.reduce_command import reduce_command
from tt_xla.tools.report_command import report_command
from tt_xla.tools.running import run_command
from tt_xla.tools.script_command import ScriptCommand
from tt_xla.tools.tune_command import tune_command

_FILES = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="tt-xla")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile PyTorch and JAX programs for Tenstorrent chips, run, profile and tune them."""
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS, nl=False)


@cli.command("compile", cls=ScriptCommand)
@click.argument("files", nargs=-1, required=True, type=click.UNPROCESSED, metavar="MODULE...|SCRIPT [ARGUMENTS]")
@system_option("--arch")
@compile_options
@out_option(text="Write the program and the IR to this folder.")
@json_option("Print one JSON object per module, one per line.")
@click.option(
    "--explain",
    is_flag=True,
    help="Show each op's form, what bounds it, its distance to the roofline, the next best form, and the reason.",
)
@click.option("--mesh", default="", metavar="SHAPE", help="Mesh of TTIR text that names none, such as 2x4.")
@click.option(
    "--overrides",
    type=_FILES,
    metavar="FILE",
    help="Layouts, formats and configs of single ops, as tt-xla explore writes them.",
)
def compile_command(options: dict[str, object], overrides: Path | None, **settings: Any) -> None:
    """Compile modules and show ops, predicted time and memory.

    MODULE is StableHLO, text or bytecode, or TTIR or TTNN text of this compiler or of upstream's, or a folder of them.
    Its ops tell which. SCRIPT is run with its ARGUMENTS, and the programs that it compiles are the modules.

    With --out, the irs/ folder and the .ttnn file go to DIR; those of several modules to one folder each in DIR.
    """
    from tt_xla.tools.compile_files import compile_files

    if overrides is not None:
        options |= {"overrides": str(overrides)}
        parsed(options)
    if compile_files(options=options, **settings):
        raise SystemExit(1)


@cli.command()
@click.argument("programs", nargs=-1, required=True, type=_FILES, metavar="FILE...")
@system_option(text="System that TT-NN mocks (default: p150).", default="p150")
@compile_options
@click.option(
    "--ttnn-python",
    "python",
    type=_FILES,
    metavar="PATH",
    help="Python interpreter with ttnn (default: TTXLA_TTNN_PYTHON).",
)
@click.option(
    "--kernels", is_flag=True, help="Build every kernel, as for a card. The first build of a kernel takes seconds."
)
@json_option("Print one JSON object per file, one per line.")
def check(options: dict[str, object], **settings: Any) -> None:
    """Ask TT-NN, without a card, whether it accepts programs.

    FILE is a module, see `tt-xla compile`, or a .ttnn file. Every call is made on TT-NN's mock of the system. The exit
    status is 1 if TT-NN refuses a call.
    """
    from tt_xla.tools.check import check_files

    if check_files(options=parsed(options), **settings):
        raise SystemExit(1)


@cli.command("opt")
@click.argument("module", required=False, type=_FILES, metavar="[MODULE]")
@click.option("--pass", "passes", multiple=True, metavar="NAME[,NAME...]", help="Run these passes in this order.")
@click.option(
    "--pipeline", "pipeline_name", type=click.Choice(["ttir", "ttnn", "all"]), help="Run these stages of the compiler."
)
@click.option("--list", "listing", is_flag=True, help="List the passes with their reasons.")
@system_option("--target")
@compile_options
@out_option(metavar="FILE", text="Write the module to this file (default: standard output).")
@click.option("--verify", is_flag=True, help="Verify the module after each pass.")
@click.option("--generic", is_flag=True, help="Write the generic form, which every MLIR tool reads.")
@click.option("--locations", is_flag=True, help="Write source locations.")
@click.option("--unknown-ops", is_flag=True, help="Accept ops of unknown dialects.")
def opt_command(
    module: Path | None,
    passes: tuple[str, ...],
    pipeline_name: str | None,
    listing: bool,
    options: dict[str, object],
    out: Path | None,
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
    from tt_xla.tools.output import writing
    from tt_xla.tools.passes import listed, optimise, read_module

    if listing:
        click.echo("\n".join(listed()))
        return
    names = [name.strip() for text in passes for name in text.split(",") if name.strip()]
    given, arch = parsed(options), selected_system()
    optimised = optimise(
        read_module(module, given, arch, unknown_ops=unknown_ops), names, pipeline_name, given, arch, verify=verify
    )
    text = print_module(optimised, generic=generic, locations=locations)
    if out is None:
        click.echo(text, nl=False)
    else:
        with writing(out):
            out.write_text(text, encoding="utf-8")


@cli.command("estimate")
@click.argument("programs", nargs=-1, required=True, type=_FILES, metavar="FILE...")
@system_option("--target", text="System (default: the system of the file).", expose_value=True)
@json_option("Print one JSON object per file, one per line.")
def estimate_command(**settings: Any) -> None:
    """Show the predicted device time of a call, by op.

    FILE is a .ttnn file, or TTNN text of this compiler or of upstream's. Const-eval functions, which run once, do not
    count.
    """
    from tt_xla.tools.estimate import estimate_files

    if estimate_files(**settings):
        raise SystemExit(1)


@cli.command("show")
@click.argument("program", type=_FILES, metavar="FILE")
@json_option("Print one JSON object.")
def show_command(program: Path, as_json: bool) -> None:
    """Show the content of a .ttnn file.

    The output has functions, ops with shapes, layouts, costs and source lines, memory, constants and options.
    """
    from tt_xla.tools.show import show_file

    show_file(program, as_json)


@cli.command(cls=ScriptCommand)
@click.argument("files", nargs=-1, required=True, type=click.UNPROCESSED, metavar="FILE...|SCRIPT [ARGUMENTS]")
@system_option("--arch", text="System to compile modules for (default: TTXLA_SYSTEM, or n150).")
@compile_options
@out_option(required=True, text="Write the source to this folder.")
@click.option("--language", type=click.Choice(["py", "cpp"]), default="py", show_default=True, help="Python or C++.")
def codegen(**settings: Any) -> None:
    """Write programs as source code that calls TT-NN.

    FILE is a module, see `tt-xla compile`, a .ttnn file, or a folder of them. SCRIPT is run with its ARGUMENTS, and the
    programs that it compiles are written. The source of a single program, main.py or main.cpp and run, goes to DIR.
    Several programs go to DIR/graph_0, DIR/graph_1 and so on.
    """
    from tt_xla.tools.codegen_files import codegen_files

    if codegen_files(**settings):
        raise SystemExit(1)


@cli.command("run")
@click.argument("programs", nargs=-1, required=True, type=_FILES, metavar="FILE...")
@system_option("--arch", text="System to compile modules for (default: TTXLA_SYSTEM, or n150).")
@compile_options
@inputs_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random numbers.")
@out_option(metavar="NPZ", text="Write the results of a single program to this file.")
@json_option("Print one JSON object per file, one per line.")
def run_programs(programs: tuple[Path, ...], options: dict[str, object], out: Path | None, **settings: Any) -> None:
    """Run programs once on the emulated card; show results.

    FILE is a module, see `tt-xla compile`, or a .ttnn file.
    """
    from tt_xla.tools.run_files import run_files

    if out is not None and len(programs) > 1:
        raise click.UsageError("--out takes the results of a single program.")
    if run_files(programs, options=parsed(options), out=out, **settings):
        raise SystemExit(1)


for other in (
    *(bench_command, cache_command, compare_command, completion_command, doctor_command, explore_command, info),
    *(profile_command, reduce_command, report_command, smi, tune_command),
):
    cli.add_command(other)


@cli.command("models")
@click.argument("root", type=_FILES)
@click.argument("filters", nargs=-1, metavar="[FILTER]...")
@out_option("--report", default="models-report", show_default=True, text="Folder of the report.")
@click.option(
    "--test-config",
    "folders",
    multiple=True,
    type=FOLDER,
    help="Folder with test_config_*.yaml files; may be repeated (default test_config of ROOT or tests/runner).",
)
@system_option(
    "--arch", text="System to run on, whose arch_overrides apply (default: TTXLA_SYSTEM).", expose_value=True
)
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
    system: str | None,
    level: int | None,
    golden_f32: bool,
    jobs: int,
    timeout: float,
    memory: str,
    listing: bool,
    **settings: Any,
) -> None:
    """Run models, each in its own process, and report on them.

    The report has records.jsonl and index.html. ROOT contains <model>/{pytorch,jax}/loader.py. A FILTER is a part of a
    test's name, where * stands for any text; several filters must all match. Tests that the report already contains,
    with the same options, system and version, are not run again. The exit status is 1 if a test does not end as
    expected, or if a file of expectations has an error.
    """
    from tt_xla.testing.models.processes import Limits, memory_in_bytes
    from tt_xla.testing.models.suite import read_suite
    from tt_xla.tools import run_models

    check_input(root, Kind.FOLDER)
    limits = Limits(timeout, memory_in_bytes(memory), jobs)
    suite = read_suite(str(root), [str(folder) for folder in folders], Path.cwd(), root, system)
    for line in (*suite.discovery.problems, *suite.errors):
        click.echo(line, err=True)
    tasks = [task.with_options(level, golden_f32=golden_f32) for task in run_models.select(suite, filters)]
    passed = True
    if listing:
        for task in tasks:
            click.echo(f"{task.case.id} {task.expectation.status.value}")
    else:
        passed = run_models.run(tasks, out, limits, jobs=jobs, **settings)
    if suite.errors or not passed:
        raise SystemExit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``tt-xla`` and exits; see :mod:`.running` for the exit status."""
    run_command(cli, "tt-xla", arguments)


def tt_explorer() -> None:
    """Runs ``tt-explorer``, which is ``tt-xla explore`` under upstream's name."""
    run_command(explore_command, "tt-explorer")
