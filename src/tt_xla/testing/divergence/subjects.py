"""The programs to compare: a StableHLO file, or the programs that a model of a loader runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tt_xla.compiler.stablehlo.untrusted import checked
from tt_xla.errors import ExecutionError, OptionError, TTXLAError
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.runs import Array, declared, load_inputs, random_inputs, to_array
from tt_xla.testing.recorded import RecordedProgram, recorded_programs


@dataclass(frozen=True)
class Subject:
    """A program and its arguments.

    Attributes:
        name: name of the program, for messages.
        source: the StableHLO module.
        inputs: the arguments.
        options: compile options that a script set, by name.
    """

    name: str
    source: Source
    inputs: Sequence[Array]
    options: dict[str, Any] = field(default_factory=dict)


def of_file(path: Path, inputs: Path | None) -> Subject:
    """Reads a StableHLO module.

    Args:
        path: text or bytecode of the module.
        inputs: a ``.npz`` file with the arguments; None for random arguments.

    Raises:
        MalformedModuleError: the file is not a StableHLO module, or takes other arguments.
    """
    source = Source(checked(path.read_bytes(), str(path)), str(path))
    types = [argument.type for argument in source.arguments]
    return Subject(path.name, source, load_inputs(inputs, declared(types)) if inputs else random_inputs(types))


def of_model(root: Path, name: str, level: int) -> list[Subject]:
    """Runs a model, and returns its programs with the arguments of their first run.

    Args:
        root: folder with loaders.
        name: id of a test or the beginning of one, such as ``bert/masked_lm/pytorch-small``.
        level: optimization level.

    Raises:
        OptionError: no test has that name.
        ExecutionError: the model fails before a program is compiled.
    """
    name, run = model_named(root, name, level)
    try:
        recorded = recorded_programs(run)
    except TTXLAError as error:
        raise ExecutionError(f"{name} failed before a program was compiled: {error}") from error
    if not recorded:
        raise ExecutionError(f"{name} ran no compiled function.")
    return recorded_subjects(name, recorded)


def recorded_subjects(name: str, recorded: Sequence[RecordedProgram]) -> list[Subject]:
    """Returns the programs of a model or a script; those that never ran get random arguments."""
    subjects: list[Subject] = []
    for number, each in enumerate(recorded):
        source = Source(each.compilation.source, each.compilation.name)
        types = [argument.type for argument in source.arguments]
        inputs = random_inputs(types) if each.inputs is None else [to_array(tensor) for tensor in each.inputs]
        title = f"{name} {each.compilation.name}" + (f" {number}" if len(recorded) > 1 else "")
        subjects.append(Subject(title, source, inputs, each.options))
    return subjects


def model_named(root: Path, name: str, level: int) -> tuple[str, Callable[[], object]]:
    """Returns the id of a model's test, and a function that runs the model; see :func:`of_model`.

    Raises:
        OptionError: no test has that name.
    """
    from tt_xla.testing.models import loading
    from tt_xla.testing.models.config import Expectation
    from tt_xla.testing.models.discovery import discover
    from tt_xla.testing.models.execution import tester_of

    cases = [case for case in discover(root).cases if case.parallelism == "single_device"]
    case = next((case for case in cases if case.id == name or case.id.startswith(f"{name}-")), None)
    if case is None:
        raise OptionError(
            f"No model below '{root}' is named '{name}'.", hint=f"List all with: tt-xla models {root} --list"
        )
    expectation = replace(Expectation(), optimization_level=level, assert_pcc=False)

    def run() -> object:
        loader = loading.make_loader(root, case.model, case.variant)
        return tester_of(case, loader, expectation).test()

    return case.id, run
