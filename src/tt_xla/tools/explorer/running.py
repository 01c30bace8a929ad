"""Runs of programs on the emulated card, beside float32."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt_xla.compiler.reading import is_stablehlo
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Function, Instruction, Program
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.executable import MeshExecutable
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
        self._total = sum(len(function.body) for function in program.functions)

    def timed(self, executable: Any, function: Function, step: Any, call: Any) -> Any:
        run_both = super().timed(executable, function, step, call)

        def counted(*tensors: Any) -> Any:
            self._done += 1
            if self._done % 25 == 1:
                self._progress(f"ran {self._done} of about {self._total} ops")
            return run_both(*tensors)

        return counted


def run_beside_float32(subject: Subject, program: Program, progress: Callable[[str], None]) -> Accuracy:
    """Runs a program once, and each of its instructions in float32 too.

    The reference is StableHLO in float32 on the CPU where the source is StableHLO, else the float32 instructions.
    Programs for several chips run without the float32 instructions, and need StableHLO as the reference.

    Raises:
        TTXLAError: the program does not run.
    """
    arrays = _inputs(subject, program)
    progress("loading the program")
    started = time.perf_counter()
    if program.mesh is not None:
        executable: Any = get_device(program.target).load(program)
        tensors = tensors_of(arrays, program)
        whole = isinstance(executable, MeshExecutable)
        results = executable.run_whole(tensors) if whole else executable.run(tensors, [None] * len(tensors))
        return _accuracy(subject, program, arrays, [to_array(each) for each in results], None, started, progress)
    observer = _Watching(program, progress)
    with observed_kernels(observer):
        executable = get_device(program.target).load(program)
    tensors = tensors_of(arrays, program)
    results = [to_array(each) for each in executable.run(tensors, [None] * len(tensors))]
    return _accuracy(subject, program, arrays, results, observer, started, progress)


def _inputs(subject: Subject, program: Program) -> list[Array]:
    """Returns the arguments: those of the script's run, or random ones."""
    if subject.inputs is not None and program.mesh is None:
        return [to_array(tensor) for tensor in subject.inputs]
    generator = np.random.default_rng(0)
    return [
        random_array(generator, argument.global_shape or argument.shape, ElementType(argument.dtype))
        for argument in program.arguments
    ]


def _accuracy(
    subject: Subject,
    program: Program,
    arrays: Sequence[Array],
    results: Sequence[Array],
    observer: Float32Observer | None,
    started: float,
    progress: Callable[[str], None],
) -> Accuracy:
    seconds = time.perf_counter() - started
    progress("computing the reference")
    reference, expected = _reference(subject, program, arrays, observer)
    error = Error.of(results, expected) if expected is not None else Error(float("nan"), float("nan"))
    by_node: dict[str, tuple[float | None, float | None]] = {}
    if observer is not None:
        positions = {function.name: _positions(function) for function in program.functions}
        for function, instruction, alone, running in observer.errors():
            index = positions[function.name].get(_key(instruction))
            if index is not None:
                pccs = alone.pcc if alone else None, running.pcc if running else None
                by_node[f"{function.name}:{index}"] = pccs
    return Accuracy(error.pcc, error.relative, reference, seconds, by_node)


def _positions(function: Function) -> dict[tuple[str, tuple[int, ...]], int]:
    return {_key(instruction): index for index, instruction in enumerate(function.body)}


def _key(instruction: Instruction) -> tuple[str, tuple[int, ...]]:
    """Returns what tells an instruction from the others of its function, also in a copy of it."""
    return instruction.op, instruction.results or tuple(instruction.operand_values())


def _reference(
    subject: Subject, program: Program, arrays: Sequence[Array], observer: Float32Observer | None
) -> tuple[str, list[Array] | None]:
    """Returns the results to compare with, and what they are; None if there are none."""
    source = subject.source
    raw = source.encode() if isinstance(source, str) else source
    if raw is not None and is_stablehlo(raw):
        module = Source(raw, subject.name)
        if len(module.arguments) == len(arrays):
            return "StableHLO in float32 on the CPU", Golden(module, arrays, module.returned).of(module.returned)
    found = observer.results() if observer is not None else None
    if found is None:
        return "nothing", None
    values = [
        to_array(tensor.reshape(declared.shape)) for (tensor, _), declared in zip(found, program.results, strict=True)
    ]
    return "the same instructions in float32", values
