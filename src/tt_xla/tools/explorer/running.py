"""Runs of programs on the emulated card, beside float32, and on a card by TT-NN."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt_xla import environment
from tt_xla.compiler.reading import is_stablehlo
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Function, Instruction, Program
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.expansion import Expansion
from tt_xla.runtime.observation import observed_kernels
from tt_xla.testing.divergence.instructions import Float32Observer
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.parts import Error, Golden
from tt_xla.testing.divergence.runs import Array, random_array, tensors_of, to_array
from tt_xla.tools.explorer.results import Accuracy
from tt_xla.tools.explorer.subjects import Subject


class _Watching(Float32Observer):
    """Tells how many instructions have run."""

    def __init__(self, program: Program, progress: Callable[[str], None]) -> None:
        super().__init__(program)
        self._progress, self._done = progress, 0

    def timed(self, executable: Any, function: Function, step: Any, call: Any) -> Any:
        run_both = super().timed(executable, function, step, call)
        total = sum(len(each.body) for each in executable.program.functions)

        def counted(*tensors: Any) -> Any:
            self._done += 1
            if self._done % 25 == 1:
                self._progress(f"ran {self._done} of about {total} ops")
            return run_both(*tensors)

        return counted


def run(subject: Subject, program: Program, runtime: str, progress: Callable[[str], None]) -> Accuracy:
    """Runs a program once, on the emulated card with each of its instructions in float32 too.

    The reference is StableHLO in float32 on the CPU where the source is StableHLO, else the float32 instructions of a
    program for one chip. On several chips an instruction has the largest error among its shards.

    Args:
        subject: the program's source and arguments.
        runtime: a value of ``TTXLA_RUNTIME``. Runtimes other than ``emulated`` run no float32 instructions.
        progress: receives lines about progress.

    Raises:
        TTXLAError: the program does not run, or the runtime is missing.
    """
    before = environment.variables_in_force()
    environment.set_variable("TTXLA_RUNTIME", runtime)
    try:
        environment.selected_runtime()
        return _run(subject, program, progress)
    finally:
        environment.set_variables_in_force(before)


def _run(subject: Subject, program: Program, progress: Callable[[str], None]) -> Accuracy:
    arrays = _inputs(subject, program)
    progress("loading the program")
    started = time.perf_counter()
    observer = _Watching(program, progress)
    with observed_kernels(observer):
        executable: Any = get_device(program.target).load(program)
    tensors = tensors_of(arrays, program)
    expansion = executable.expansion if isinstance(executable, MeshExecutable) else None
    returned = executable.run(tensors, [None] * len(tensors)) if expansion is None else executable.run_whole(tensors)
    results = [to_array(each) for each in returned]
    seconds = time.perf_counter() - started
    progress("computing the reference")
    reference, expected = _reference(subject, program, arrays, observer)
    error = Error.of(results, expected) if expected is not None else Error(float("nan"), float("nan"))
    return Accuracy(
        error.pcc,
        error.relative,
        reference,
        seconds,
        environment.selected_runtime(),
        _by_node(program, expansion, observer),
    )


def _inputs(subject: Subject, program: Program) -> list[Array]:
    """Returns the arguments: those of the script's run, or random ones."""
    if subject.inputs is not None and program.mesh is None:
        return [to_array(tensor) for tensor in subject.inputs]
    generator = np.random.default_rng(0)
    return [
        random_array(generator, argument.global_shape or argument.shape, ElementType(argument.dtype))
        for argument in program.arguments
    ]


def _by_node(
    program: Program, expansion: Expansion | None, observer: Float32Observer
) -> dict[str, tuple[float | None, float | None]]:
    """Returns the correlations of each node by itself and so far, the worst of its shards on several chips."""
    positions = {function.name: _positions(function) for function in program.functions}
    by_node: dict[str, tuple[float | None, float | None]] = {}
    for function, instruction, *errors in observer.errors():
        name, key = function.name, _identity(instruction)
        if expansion is not None:
            origins = expansion.values.get(name, {})
            results = tuple(origins[value] for value in instruction.results if value in origins)
            name, key = expansion.origins[name], (instruction.op, results)
        index = positions[name].get(key)
        if index is not None:
            node = f"{name}:{index}"
            known = by_node.get(node, (None, None))
            alone, running = (_lower(old, error) for old, error in zip(known, errors, strict=True))
            by_node[node] = alone, running
    return by_node


def _lower(known: float | None, error: Error | None) -> float | None:
    """Returns the lower of a known correlation and that of an error."""
    if error is None:
        return known
    return error.pcc if known is None or math.isnan(known) else min(known, error.pcc)


def _positions(function: Function) -> dict[tuple[str, tuple[int, ...]], int]:
    return {_identity(instruction): index for index, instruction in enumerate(function.body)}


def _identity(instruction: Instruction) -> tuple[str, tuple[int, ...]]:
    """Returns the op and the values of an instruction, which identify it in a copy of its function too."""
    return instruction.op, instruction.results or tuple(instruction.operand_values())


def _reference(
    subject: Subject, program: Program, arrays: Sequence[Array], observer: Float32Observer
) -> tuple[str, list[Array] | None]:
    """Returns the results to compare with, and what they are; None if there are none."""
    source = subject.source
    raw = source.encode() if isinstance(source, str) else source
    if raw is not None and is_stablehlo(raw):
        module = Source(raw, subject.name)
        if len(module.arguments) == len(arrays):
            return "StableHLO in float32 on the CPU", Golden(module, arrays, module.returned).of(module.returned)
    found = observer.results()
    if found is None:
        return "nothing", None
    values = [
        to_array(tensor.reshape(declared.shape)) for (tensor, _), declared in zip(found, program.results, strict=True)
    ]
    return "the same instructions in float32", values
