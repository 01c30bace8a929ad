"""Runs one trial in this process: ``python -m tt_xla.profiling.tune.trial FOLDER`` with a specification in a folder.

:mod:`tt_xla.profiling.bench` finds and measures the steps. Throughput depends on predicted times only, so trials that
run at the same time do not disturb each other.
"""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tt_xla.environment import set_variable, variables_in_force
from tt_xla.errors import TTXLAError
from tt_xla.profiling.precision.measures import correlation
from tt_xla.profiling.tune.choice import Choice, Outcome
from tt_xla.profiling.tune.reference import as_array, float32_results
from tt_xla.profiling.tune.trial_log import sources_of
from tt_xla.profiling.workload import CONFIGURATIONS, MODULES

if TYPE_CHECKING:
    import torch

    from tt_xla.ir.program import Program

SPEC_NAME, RESULT_NAME = "spec.json", "result.json"
"""Files of a trial's folder: its specification and its outcome."""

STEPS = 2
"""Number of steady steps that a trial measures."""


@dataclass(frozen=True)
class Spec:
    """Description of a trial."""

    choice: Choice
    program: str
    """A script, an experiment's YAML file, or a StableHLO module."""
    arguments: tuple[str, ...]
    batch_argument: str
    """Command-line option of the script that takes the batch size."""
    metric: str
    """Metric that the script must report, for which it runs to its end; empty if it may be ended early."""
    results: str
    """File of the reference's results: the reference's trial writes it, other trials read it."""
    folder: str = field(default_factory=lambda: str(Path.cwd()))
    """Folder that the user called the command in, and that the script runs in."""
    variables: dict[str, str] = field(default_factory=variables_in_force)
    """The user's environment variables that this package reads."""


def run(spec: Spec, folder: Path) -> Outcome:
    """Runs a trial in this process, with its files in a folder, and sets the process's compile options permanently."""
    own = json.loads(spec.variables.get("TTXLA_COMPILE_OPTIONS", "{}"))
    set_variable("TTXLA_COMPILE_OPTIONS", json.dumps(own | spec.choice.options()))
    try:
        recording = _run_module(spec) if spec.program.endswith(MODULES) else _run_script(spec, folder)
        if recording.error:
            return Outcome(spec.choice, error=recording.error)
        return _outcome(spec, recording)
    except TTXLAError as error:
        return Outcome(spec.choice, error=f"{type(error).__name__}: {error}")


def _run_script(spec: Spec, folder: Path) -> Any:
    from tt_xla.profiling.scripts import run_recorded
    from tt_xla.profiling.steps import Enough
    from tt_xla.profiling.workload import resolve

    script, arguments = resolve(spec.program, list(spec.arguments))
    if spec.choice.batch and spec.program.endswith(CONFIGURATIONS):
        arguments = ["--config", _with_batch(Path(spec.program), spec.choice.batch, folder), *spec.arguments]
    elif spec.choice.batch:
        arguments = [*arguments, spec.batch_argument, str(spec.choice.batch)]
    seed()
    enough = None if spec.metric else Enough(STEPS)
    return run_recorded(script, arguments, enough=enough, keep_results=True, keep_arguments=spec.choice.reference)


def _with_batch(path: Path, batch: int, folder: Path) -> str:
    """Writes a copy of an experiment's file with another batch size to a folder, and returns its path."""
    import yaml

    data = yaml.safe_load(path.read_text())
    script = {"script": str((path.parent / data["script"]).resolve())} if "script" in data else {}
    copy = folder / path.name
    copy.write_text(yaml.safe_dump(data | {"batch_size": batch} | script))
    return str(copy)


def seed() -> None:
    """Seeds the generators of Python, NumPy and torch, so that all trials have the same inputs."""
    import numpy
    import torch

    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


def _run_module(spec: Spec) -> Any:
    """Runs a module four times on random arguments."""
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.compiler.stablehlo.untrusted import checked
    from tt_xla.environment import selected_system
    from tt_xla.options import CompileOptions
    from tt_xla.profiling.observing import recorded
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    seed()
    with recorded(keep_results=True, keep_arguments=spec.choice.reference) as recording:
        module = parse_module(checked(Path(spec.program).read_bytes(), spec.program), spec.program)
        program = compile_module(module, CompileOptions.parse({}), load_target(selected_system()))
        executable = get_device().load(program)
        arguments = random_arguments(program)
        for _ in range(4):
            executable.run(arguments, [None] * len(arguments))
    return recording


def random_arguments(program: Program) -> list[torch.Tensor]:
    """Returns random arguments of a program, always the same: floats of a normal distribution, or small integers."""
    import numpy as np

    from tt_xla.ir.element_types import ElementType
    from tt_xla.testing.divergence.runs import random_array, tensors_of

    generator = np.random.default_rng(0)
    arrays = [random_array(generator, each.shape, ElementType(each.dtype)) for each in program.arguments]
    return tensors_of(arrays, program)


def _outcome(spec: Spec, recording: Any) -> Outcome:
    from tt_xla.ir.program import Role
    from tt_xla.profiling.bench import measure

    figures = measure(recording, STEPS)
    programs = [loaded.program for loaded in recording.programs]
    weights = {
        argument.name: math.prod(argument.shape)
        for program in programs
        for argument in program.arguments
        if argument.role is Role.PARAMETER and len(argument.shape) > 1
    }
    main = recording.longest_program()
    results, inexact = recording.results.get(main, []), ""
    if spec.choice.reference:
        import torch

        source, inexact = recording.source_of(main), "the program was not compiled in the trial's process"
        try:
            if source:
                name, arguments = recording.programs[main].program.name, recording.arguments[main]
                results, inexact = float32_results(source, name, arguments), ""
        except TTXLAError as error:
            inexact = str(error).splitlines()[0]
        torch.save(results, spec.results)
    return Outcome(
        spec.choice,
        step_ms=figures.card_ms,
        device_ms=figures.device_ms,
        dram_bytes=max((program.memory.dram_peak_bytes for program in programs), default=0),
        pcc=1.0 if spec.choice.reference else _pcc(results, spec.results),
        metrics=recording.metrics,
        sources=sources_of(recording.script) if spec.choice.reference and recording.script else (),
        weights=tuple(sorted(weights.items())),
        inexact=inexact,
    )


def _pcc(results: list[Any], reference: str) -> float | None:
    """Returns the least correlation of a result with the reference's; None if shapes differ or no result has floats."""
    import torch

    if not Path(reference).is_file():
        return None
    expected = torch.load(reference)
    if [tuple(result.shape) for result in results] != [tuple(tensor.shape) for tensor in expected]:
        return None
    if not any(tensor.is_floating_point() for tensor in expected):
        return None
    return correlation([as_array(result) for result in results], [as_array(tensor) for tensor in expected])


def main(folder: str) -> None:
    spec = msgspec.convert(json.loads((Path(folder) / SPEC_NAME).read_text()), Spec)
    outcome = run(spec, Path(folder))
    (Path(folder) / RESULT_NAME).write_text(json.dumps(msgspec.to_builtins(outcome)))


if __name__ == "__main__":
    main(*sys.argv[1:])
