"""What is compared: a StableHLO file, or the programs of a model below a folder of loaders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tt_xla.errors import ExecutionError, OptionError, TTXLAError
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.runs import Array, load_inputs, random_inputs


@dataclass(frozen=True)
class Subject:
    """A program and what it is given."""

    name: str
    source: Source
    inputs: Sequence[Array]


def of_file(path: Path, inputs: Path | None) -> Subject:
    """A StableHLO module, text or bytecode, with its inputs in a ``.npz``, or with random ones.

    Raises:
        MalformedModuleError: it is no StableHLO module, or takes another number of inputs.
    """
    if path.suffix == ".ttnn":
        raise OptionError(
            f"'{path}' is compiled: what it means is no longer in it.",
            hint="Give the StableHLO module, such as irs/shlo_*.mlir that export_path writes.",
        )
    source = Source(path.read_bytes(), str(path))
    types = [argument.type for argument in source.arguments]
    return Subject(path.name, source, load_inputs(inputs, len(types)) if inputs else random_inputs(types))


def of_model(root: Path, name: str, level: int) -> list[Subject]:
    """The programs that a model runs as, each with what it was first given.

    Args:
        root: folder with loaders.
        name: id of a test, or the beginning of one: ``bert/masked_lm/pytorch-small``.

    Raises:
        OptionError: no test is named so.
        ExecutionError: the model does not come as far as a program.
    """
    from tt_xla.compiler.pipeline import recorded_compilations
    from tt_xla.runtime import recorded_runs
    from tt_xla.testing.models import loading
    from tt_xla.testing.models.config import Expectation
    from tt_xla.testing.models.discovery import discover
    from tt_xla.testing.models.execution import tester_of

    cases = [case for case in discover(root).cases if case.parallelism == "single_device"]
    case = next((case for case in cases if case.id == name or case.id.startswith(f"{name}-")), None)
    if case is None:
        raise OptionError(f"No model below '{root}' is named '{name}'.", hint=f"tt-xla models {root} --list shows all.")
    expectation = replace(Expectation(), optimization_level=level, assert_pcc=False)
    problem: TTXLAError | None = None
    with recorded_compilations(texts=True) as compilations, recorded_runs() as runs:
        loader = loading.make_loader(root, case.model, case.variant)
        try:
            tester_of(case, loader, expectation, lambda stage: None).test()
        except TTXLAError as error:
            problem = error
    if not compilations:
        raise ExecutionError(f"{case.id} did not come as far as a program: {problem or 'nothing was compiled'}.")
    found: list[Subject] = []
    for compilation in compilations:
        source = Source(compilation.source, compilation.name)
        given: Any = next((tensors for program, tensors in runs if program == compilation.program), None)
        types = [argument.type for argument in source.arguments]
        inputs = random_inputs(types) if given is None else [_array(tensor) for tensor in given]
        found.append(Subject(f"{case.id} {compilation.name}", source, inputs))
    return found


def _array(tensor: Any) -> Array:
    import torch

    return tensor.float().numpy() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.numpy()
