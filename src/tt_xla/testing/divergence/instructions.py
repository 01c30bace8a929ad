"""Compares each TTNN instruction of a program on the emulated card with the same instruction in float32.

A difference comes from the instruction itself: from the formats of its results and of its arithmetic. Whether these are
the right instructions is another question, which the comparison with the StableHLO module answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from tt_xla.compiler import compile_module
from tt_xla.environment import selected_system
from tt_xla.errors import TTXLAError
from tt_xla.ir.program import Function, Instruction, Program, TensorSpec
from tt_xla.ir.sources import weight_names
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.float32 import float32_call_of
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.observation import observed_kernels
from tt_xla.runtime.ownership import as_base
from tt_xla.target import load_target
from tt_xla.testing.divergence.float32 import Float32Copies, as_sequence, type_text, worse
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.parts import Comparison, Error, Golden, Line, Row
from tt_xla.testing.divergence.runs import Array, rounded, tensors_of, to_array


def compare_instructions(
    source: Source, inputs: Sequence[Array], options: CompileOptions, *, required: float = 0.99
) -> Comparison:
    """Runs a program once, and each of its instructions in float32 as well.

    A row's ``alone`` is the error of the instruction on the operands that the card computed. A row's ``running`` also
    has the errors of the instructions before. An instruction in a loop counts once, with its worst round.

    The arguments are those of :func:`~tt_xla.testing.divergence.parts.compare_parts`.

    Returns:
        One row per instruction. ``in_float32`` is the error of all instructions in float32, which the compiler causes.
    """
    module, values = source.module_returning(source.returned)
    rounded_inputs = [rounded(array, value.type) for array, value in zip(inputs, source.arguments, strict=True)]
    golden = Golden(source, rounded_inputs, [*values, *source.returned])
    expected = golden.of(source.returned)
    observer: Float32Observer | None = None
    try:
        untraced = dataclasses.replace(options, enable_trace=False)
        program = compile_module(module, untraced, load_target(selected_system()))
        observer = Float32Observer(program)
        with observed_kernels(observer):
            executable = get_device(selected_system()).load(program)
        tensors = tensors_of(golden.of(values), program)
        results = [to_array(result) for result in executable.run(tensors, [None] * len(tensors))]
    except TTXLAError as error:
        ran = [] if observer is None else observer.rows()  # a trap stops at one of them
        return Comparison(ran, None, required, str(error))
    float32_results = observer.results()
    in_float32 = (
        None
        if float32_results is None
        else Error.of([to_array(x.reshape(y.shape)) for x, y in float32_results], expected)
    )
    return Comparison(observer.rows(), Error.of(results, expected), required, in_float32=in_float32)


class Float32Observer:
    """Runs a float32 copy of each instruction, and keeps the errors of both kinds.

    Args:
        program: the program whose executable is loaded while the observer is added.
    """

    def __init__(self, program: Program) -> None:
        self._weight_names = weight_names(program)
        self._program = program
        self._copies = Float32Copies()
        self._errors: dict[int, tuple[Step, Function, Error | None, Error | None]] = {}
        """Steps with the largest errors `alone` and `running`, by the identity of the step."""
        self._entry_values: dict[int, Any] = {}
        """Values of the entry function in float32, by number."""

    def timed(self, executable: Executable, function: Function, step: Step, call: Call) -> Call:
        """Returns a call that runs the instruction as it is and in float32."""
        context, instruction = step.context, step.instruction
        assert context is not None
        float32_call = float32_call_of(context, instruction)

        def run_both(*tensors: torch.Tensor) -> Any:
            alone, running = self._copies.called(float32_call, tensors)
            # The runtime replaces views that it keeps, so that a view's counterpart would not be found again.
            results = [as_base(tensor) for tensor in as_sequence(call(*tensors))]
            self._keep(function, step, results, alone, running)
            return tuple(results) if len(results) != 1 else results[0]

        return run_both

    def _keep(self, function: Function, step: Step, results: Sequence[torch.Tensor], alone: Any, running: Any) -> None:
        """Keeps the float32 results of a step, and its errors if they are larger than those known."""
        counterparts = self._copies.keep(results, running)
        if function is self._program.functions[0]:
            self._entry_values |= zip(step.instruction.results, counterparts, strict=True)
        if not results:
            return
        actual = [to_array(tensor) for tensor in results]
        known = self._errors.get(id(step), (step, function, None, None))
        errors = (worse(old, actual, new) for old, new in zip(known[2:], (alone, running), strict=True))
        self._errors[id(step)] = (step, function, *errors)  # type: ignore[assignment]

    def errors(self) -> Iterator[tuple[Function, Instruction, Error | None, Error | None]]:
        """Yields each instruction that ran, its function, and its errors alone and running."""
        for step, function, alone, running in self._errors.values():
            yield function, step.instruction, alone, running

    def rows(self) -> list[Row]:
        """Returns one row per instruction that ran, in the order of their first runs."""
        rows: list[Row] = []
        for index, (step, function, alone, running) in enumerate(self._errors.values()):
            instruction = step.instruction
            names = self._weight_names.get(function.name, {})
            weights = [names[value] for value in step.inputs if value in names]
            name = f"{instruction.op} of {', '.join(dict.fromkeys(weights))}" if weights else instruction.op
            result_types = ", ".join(type_text(function.values[value]) for value in instruction.results)
            rows.append(Row(Line(index, name, result_types, instruction.location), alone, running))
        return rows

    def results(self) -> list[tuple[torch.Tensor, TensorSpec]] | None:
        """Returns the program's results in float32, with their declared shapes; None if one was not computed."""
        entry = self._program.functions[0]
        if not all(value in self._entry_values for value in entry.results):
            return None
        return [(self._entry_values[value], entry.values[value]) for value in entry.results]

    def called(self, executable: Executable, function: Function, step: Step, start: int, end: int) -> None: ...
    def record_memory(self, step: Step, dram_bytes: int, l1_bytes: int) -> None: ...
    def began(self, executable: Executable, tensors: Sequence[Any]) -> None: ...
    def returned(self, executable: Executable, results: Sequence[Any]) -> None: ...
    def ended(self, executable: Executable, state: str, start: int) -> None: ...
