"""Implements ``tt-xla tune --mesh``: finds shardings of a program's arguments over a mesh."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tt_xla.compiler import parse_module
from tt_xla.compiler.auto_sharding import Outcome, Trial, jax_code, partition_spec, torch_code
from tt_xla.compiler.pipeline import search_shardings
from tt_xla.compiler.recording import recorded_compilations
from tt_xla.compiler.stablehlo.untrusted import checked
from tt_xla.errors import ExecutionError, OptionError
from tt_xla.ir.program import Role
from tt_xla.options import AUTO, CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.inputs import Kind, kind_of_name
from tt_xla.tools.output import console, print_json, progress_bar, table


def tune_shardings(program: str, arguments: Sequence[str], mesh: str, system: str, code: str, as_json: bool) -> None:
    """Searches, and prints the trials and the chosen shardings; see ``tt-xla tune --help``.

    Raises:
        TTXLAError: the program cannot be read or compiled, the system lacks the chips or links of the mesh, or no
            trial fits in the memory of its chips.
    """
    options = CompileOptions.parse({"auto_sharding": mesh if mesh == AUTO else mesh.split("x")})
    if options.auto_sharding_shape and math.prod(options.auto_sharding_shape) == 1:
        raise OptionError(
            f"A mesh of shape {mesh} is one chip, over which nothing can be split.",
            hint="Ask for several chips, such as --mesh 1x2, or for all of the system with --mesh auto.",
        )
    target = load_target(system)
    if kind_of_name(program) in (Kind.SCRIPT, Kind.WORKLOAD):
        data = _main_module(program, arguments)
    else:
        data = checked(Path(program).read_bytes(), program)
    outcome = _search(data, program, options, target)
    if as_json:
        print_json(_record(outcome, system))
    else:
        _show(outcome, system)
        click.echo(_code(outcome, code))


def _main_module(program: str, arguments: Sequence[str]) -> bytes:
    """Runs a script until it has taken two steps, and returns the module of its longest program."""
    from tt_xla.profiling.scripts import run_recorded
    from tt_xla.profiling.steps import Enough
    from tt_xla.profiling.workload import resolve

    script, script_arguments = resolve(program, list(arguments))
    with recorded_compilations(texts=True) as compilations:
        recording = run_recorded(script, script_arguments, enough=Enough(2))
    compiled = [item for item in compilations if item.program is not None and item.source]
    if not compiled:
        reason = f" ({recording.error})" if recording.error else ""
        raise ExecutionError(
            f"'{program}' compiled no program{reason}.",
            hint="Compile the model with backend 'tt' or for JAX's platform 'tt', or give a StableHLO module.",
        )
    longest = max(compiled, key=lambda item: item.program.predicted_device_us if item.program else 0.0)
    return longest.source.encode()


def _search(data: bytes, program: str, options: CompileOptions, target: Any) -> Outcome:
    search = search_shardings(parse_module(data, program), options.auto_sharding_shape, options, target)
    with progress_bar("shardings") as progress:
        search.progress = lambda _, coming: progress(coming, "")
        return search.run()


_LABEL = 400
"""Greatest length of the description of a trial."""


def _label(outcome: Outcome, trial: Trial) -> str:
    """Returns which arguments a trial splits; those of repeated layers count as one."""
    named: dict[str, None] = {}
    for argument, sharding in zip(outcome.arguments, trial.shardings, strict=True):
        if not sharding.is_replicated:
            name = re.sub(r"\d+", "#", argument.name)
            named[f"{name}{partition_spec(sharding, outcome.mesh)}".replace("None", "-").replace('"', "")] = None
    text = " ".join(named)
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 4]} ..."


def _show(outcome: Outcome, system: str) -> None:
    sizes = ", ".join(f"{name}={size}" for name, size in zip(outcome.mesh.axes, outcome.mesh.shape, strict=True))
    headings = (">predicted us", ">computing us", ">between chips us", ">MB on each chip")
    shown = table("", *headings, "split arguments", title=f"Mesh ({sizes}) of {system}")
    shown.title_justify = "left"
    failed: list[Trial] = []
    for trial in outcome.trials:
        if math.isinf(trial.us):
            failed.append(trial)
            continue
        label = _label(outcome, trial) or "none: each chip computes everything"
        figures = (trial.us, trial.us - trial.link_us, trial.link_us, trial.dram_bytes / 1e6)
        mark = "chosen" if trial is outcome.chosen else ""
        shown.add_row(mark, *(f"{figure:,.1f}" for figure in figures), label)
    console(folds=True).print(shown)
    for trial in failed:
        click.echo(f"Not possible: {_label(outcome, trial) or 'no split'}: {trial.error[:160]}")
    click.echo()


def _code(outcome: Outcome, code: str) -> str:
    """Returns the chosen shardings as code."""
    if not code:
        code = "torch" if any(argument.role is Role.PARAMETER for argument in outcome.arguments) else "jax"
    write = torch_code if code == "torch" else jax_code
    return write(outcome.arguments, outcome.chosen.shardings, outcome.mesh)


def _record(outcome: Outcome, system: str) -> dict[str, Any]:
    """Returns the outcome as plain data, for JSON."""
    return {
        "system": system,
        "mesh": dict(zip(outcome.mesh.axes, outcome.mesh.shape, strict=True)),
        "arguments": [argument.name for argument in outcome.arguments],
        "trials": [
            {
                "predicted_us": None if math.isinf(trial.us) else trial.us,
                "between_chips_us": trial.link_us,
                "dram_bytes": trial.dram_bytes,
                "error": trial.error,
                "shardings": [[[outcome.mesh.axes[axis] for axis in axes] for axes in s.dims] for s in trial.shardings],
            }
            for trial in outcome.trials
        ],
    }
