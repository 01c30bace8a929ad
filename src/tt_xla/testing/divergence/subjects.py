"""The programs to compare: a StableHLO file, or the programs that a model of a loader runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tt_xla.errors import ExecutionError, OptionError, TTXLAError
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.runs import Array, load_inputs, random_inputs


@dataclass(frozen=True)
class Subject:
    """A program and its arguments.

    Attributes:
        name: name of the program, for messages.
        source: the StableHLO module.
        inputs: the arguments.
    """

    name: str
    source: Source
    inputs: Sequence[Array]


def of_file(path: Path, inputs: Path | None) -> Subject:
    """Reads a StableHLO module.

    Args:
        path: text or bytecode of the module.
        inputs: a ``.npz`` file with the arguments; None for random arguments.

    Raises:
        MalformedModuleError: the file is not a StableHLO module, or takes another number of arguments.
        OptionError: the file is a compiled program.
    """
    if path.suffix == ".ttnn":
        raise OptionError(
            f"'{path}' is compiled and no longer has the StableHLO to compare with.",
            hint="Give the StableHLO module, such as irs/shlo_*.mlir in the folder of option export_path.",
        )
    source = Source(path.read_bytes(), str(path))
    types = [argument.type for argument in source.arguments]
    return Subject(path.name, source, load_inputs(inputs, len(types)) if inputs else random_inputs(types))


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
    from tt_xla.compiler.recording import recorded_compilations
    from tt_xla.runtime import recorded_runs

    name, run = model_named(root, name, level)
    problem: TTXLAError | None = None
    with recorded_compilations(texts=True) as compilations, recorded_runs() as runs:
        try:
            run()
        except TTXLAError as error:
            problem = error
    if not compilations:
        raise ExecutionError(
            f"{name} failed before a program was compiled: {problem or 'it ran no compiled function'}."
        )
    subjects: list[Subject] = []
    for compilation in compilations:
        source = Source(compilation.source, compilation.name)
        tensors_of_run: Any = next((tensors for program, tensors in runs if program == compilation.program), None)
        types = [argument.type for argument in source.arguments]
        inputs = random_inputs(types) if tensors_of_run is None else [array_of(tensor) for tensor in tensors_of_run]
        subjects.append(Subject(f"{name} {compilation.name}", source, inputs))
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


def array_of(tensor: Any) -> Array:
    """Returns the elements of a program's argument as an array; 16-bit floats as float32."""
    import torch

    return tensor.float().numpy() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.numpy()
