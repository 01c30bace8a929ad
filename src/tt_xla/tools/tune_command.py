"""The command ``tt-xla tune``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tt_xla.publish import create_folder
from tt_xla.tools.inputs import Kind
from tt_xla.tools.options import Decorator, NumberRange, json_option, out_option, system_option
from tt_xla.tools.output import console, print_json, progress_bar, table
from tt_xla.tools.profile_command import check_workload
from tt_xla.tools.script_command import ScriptCommand

if TYPE_CHECKING:
    from tt_xla.profiling.tune.choice import Outcome


def _list_option(name: str, default: str, choices: Mapping[str, Any], text: str) -> Decorator:
    """An option that takes names, separated by commas; the command gets the values that they stand for."""

    def parse(context: click.Context, parameter: click.Parameter, value: str) -> tuple[Any, ...]:
        names = [each.strip() for each in value.split(",") if each.strip()]
        if not names or not {*names} <= choices.keys():
            raise click.BadParameter(f"{value!r} is not a list of {', '.join(choices)}.")
        return tuple(choices[each] for each in names)

    return click.option(name, default=default, show_default=True, callback=parse, help=text)


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Parses a list of positive integers separated by commas."""
    try:
        sizes = tuple(sorted({int(size) for size in text.split(",") if size.strip()}))
    except ValueError:
        sizes = (0,)
    if any(size < 1 for size in sizes):
        raise click.BadParameter(f"{text!r} is not a list of positive numbers.")
    return sizes


@click.command("tune", cls=ScriptCommand)
@click.argument("program", metavar="SCRIPT|CONFIG|MODULE")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--batches", default="", callback=_sizes, metavar="N,N...", help="Batch sizes to try, such as 1,2,4,8,16."
)
@click.option(
    "--batch-argument", default="--batch-size", show_default=True, help="Argument of the script for the batch size."
)
@_list_option("--levels", "0,1,2", {"0": 0, "1": 1, "2": 2}, "Optimization levels to try.")
@_list_option(
    *("--weights", "bf16,bfp8,bfp4,mixed", {name: name for name in ("bf16", "bfp8", "bfp4", "mixed")}),
    text="Weight formats to try; `mixed` chooses a format per group.",
)
@_list_option(
    *("--fidelities", "default,hifi2,lofi"),
    {"default": "", "lofi": "lofi", "hifi2": "hifi2", "hifi3": "hifi3", "hifi4": "hifi4"},
    text="Math fidelities to try.",
)
@_list_option("--traces", "off,on", {"off": False, "on": True}, "Whether to try traces: off,on.")
@click.option(
    "--pcc",
    type=NumberRange(0, 1),
    default=0.99,
    show_default=True,
    help="Smallest acceptable correlation; with --metric, smallest part of the exact program's metric.",
)
@click.option("--metric", default="", metavar="NAME", help="Judge by a metric that the script reports instead of PCC.")
@click.option(
    "--accuracy",
    type=NumberRange(),
    help="Find the precision of each layer instead of compile options, with at least this accuracy; with --measure, "
    "--mixed-groups and -o.",
)
@click.option(
    "--measure",
    metavar="NAME",
    help="Accuracy of --accuracy: pcc (default), top1, or module:function, which takes results and expected ones.",
)
@click.option("--grid", is_flag=True, help="Try all combinations instead of one option after another.")
@click.option(
    "--mixed-groups",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Number of groups of weights for `mixed` and --accuracy.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of trials that run at the same time.  [default: 2; 1 on the card of TTXLA_RUNTIME=ttnn]",
)
@click.option("--ray", "address", metavar="ADDRESS", help="Run trials on the Ray cluster at ADDRESS.")
@out_option(default="generated/tune", show_default=True, text="Folder of the results.")
@click.option(
    "--mesh",
    metavar="RxC",
    help="Find shardings over a mesh of chips, such as 2x4, instead of compile options; `auto` takes the mesh of the "
    "program, or all chips of the system. Only --system, --code and --json apply besides.",
)
@system_option(text="System to run on, or of the mesh (default: TTXLA_SYSTEM, or n150).")
@click.option(
    "--code",
    type=click.Choice(["jax", "torch"]),
    help="Framework of the code that --mesh prints (default: that of the program).",
)
@json_option("Print the outcome as one JSON object; tables go to standard error.")
@click.pass_context
def tune_command(
    context: click.Context,
    program: str,
    arguments: tuple[str, ...],
    batch_argument: str,
    accuracy: float | None,
    measure: str | None,
    jobs: int | None,
    address: str | None,
    out: Path,
    mesh: str | None,
    code: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Find the fastest compile options that are accurate enough.

    With --accuracy, it finds the precision of each layer, with --mesh shardings. The program is a SCRIPT, an
    experiment's CONFIG or a StableHLO MODULE. Each trial runs in its own process. DIR receives chosen.json, tune.html
    and trials.jsonl. A search that was interrupted continues when it is started again with the same DIR.

    With --accuracy, the command finds the number format, math fidelity and accumulation of each layer on the inputs of
    the program's first run, and writes precision.yaml, which the compile option `precision` takes, and precision.html.

    With --mesh, the command tries ways to split the program's arguments over the chips of a mesh. A table shows the
    predicted time of each, what of it is exchange between chips, and the memory that each chip needs. The chosen way
    is printed as code. Of a SCRIPT, the longest program counts. TTXLA_COMPILE_OPTIONS sets compile options.

    \b
    tt-xla tune --accuracy 0.99 examples/minilm.py
    tt-xla tune --mesh 2x4 --system n300-llmbox model.mlir
    tt-xla tune --mesh auto --system n300 examples/smollm2.py
    """
    from tt_xla.environment import selected_runtime, selected_system
    from tt_xla.profiling.tune.executors import LocalExecutor, RayExecutor
    from tt_xla.profiling.tune.page import CHOSEN_NAME, HTML_NAME, write_chosen, write_page
    from tt_xla.profiling.tune.search import Search, Space

    check_workload(program, Kind.SCRIPT, Kind.WORKLOAD, Kind.STABLEHLO)
    _check_options(context)
    if mesh is not None:
        from tt_xla.tools.tune_shardings import tune_shardings

        tune_shardings(program, arguments, mesh, selected_system(), code or "", as_json)
        return
    create_folder(out)
    if accuracy is not None:
        from tt_xla.tools.tune_precision import tune_precision

        ended = tune_precision(program, arguments, accuracy, measure or "pcc", settings["mixed_groups"], out, as_json)
        context.exit(0 if ended else 130)
    space = Space(**settings)
    jobs = jobs or (1 if selected_runtime() == "ttnn" else 2)
    executor = RayExecutor(address) if address else LocalExecutor(jobs)
    search = Search(program, arguments, space, out, executor, batch_argument)
    try:
        with progress_bar() as search.progress:
            outcomes = search.run()
    except KeyboardInterrupt:
        click.echo(f"interrupted; the same command continues the search ({out}).", err=True)
        context.exit(130)
    finally:
        executor.stop()
    chosen = search.best(outcomes)
    write_page(out / HTML_NAME, program, outcomes, chosen, space.metric)
    _show(outcomes, chosen, space.metric)
    if chosen is None:
        least = f"a {space.metric or 'PCC'} of {search.least_accuracy:.4g}"
        click.echo(f"error: no trial reaches {least}; {out / HTML_NAME} shows all trials.", err=True)
        context.exit(1)
    write_chosen(out / CHOSEN_NAME, chosen, space.metric)
    click.echo(f"chosen: {out / CHOSEN_NAME}")
    if as_json:
        print_json(json.loads((out / CHOSEN_NAME).read_text()))


_SEARCHES = {"mesh": {"mesh", "code"}, "accuracy": {"accuracy", "measure", "mixed_groups", "out"}}
"""Options of the searches for other things than compile options, by the option that asks for the search."""
_EVERY_SEARCH = {"system", "as_json"}


def _check_options(context: click.Context) -> None:
    """Checks that every option on the command line belongs to the search that the command makes.

    Raises:
        UsageError: An option would do nothing.
    """
    options = [parameter for parameter in context.command.params if isinstance(parameter, click.Option)]
    names = {option.name or "": option.opts[-1] for option in options}
    given = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    wanted = next((name for name in _SEARCHES if name in given), "")
    shared = {"mixed_groups", "out"}
    own = _SEARCHES[wanted] if wanted else names.keys() - (_SEARCHES["mesh"] | _SEARCHES["accuracy"] - shared)
    for name in given:
        if name not in own | _EVERY_SEARCH:
            needs = next((names[search] for search, of_search in _SEARCHES.items() if name in of_search - shared), "")
            reason = f"does nothing with {names[wanted]}" if wanted else f"needs {needs}"
            raise click.UsageError(f"{names[name]} {reason}.")


def _show(outcomes: Sequence[Outcome], chosen: Outcome | None, metric: str) -> None:
    from tt_xla.profiling.tune.choice import pareto
    from tt_xla.profiling.tune.page import unit

    front = pareto(outcomes, metric)
    shown = table("Pareto front", unit(front[0]) if front else "", metric or "PCC", "step ms", "")
    for outcome in front:
        accuracy = outcome.accuracy(metric) or 0.0
        mark = "chosen" if chosen is not None and outcome.choice == chosen.choice else ""
        figures = (f"{outcome.throughput:.4g}", f"{accuracy:.5f}", f"{outcome.step_ms:.4g}")
        shown.add_row(outcome.choice.label, *figures, mark)
    console().print(shown)
    for outcome in outcomes:
        if outcome.choice.reference and not metric:
            click.echo(f"PCC is computed with {outcome.compared_with}")
        if outcome.error:
            click.echo(f"{outcome.choice.label}: {outcome.error[:200]}")
