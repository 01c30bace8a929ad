"""Compares each TTNN instruction of a program on the emulated card with the same instruction in float32.

A difference comes from the instruction itself: from the formats of its results and of its arithmetic. Whether these are
the right instructions is another question, which the comparison with the StableHLO module answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import torch
from torch.utils.weak import WeakTensorKeyDictionary

from tt_xla.compiler import compile_module
from tt_xla.environment import selected_system
from tt_xla.errors import TTXLAError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import HOST_OPS, LOAD_CACHED, Function, Instruction, Program, Role, TensorSpec
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Call, Context, Specs, Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.observation import observed_kernels
from tt_xla.target import load_target
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.parts import Comparison, Error, Golden, Line, Row
from tt_xla.testing.divergence.runs import Array, rounded, tensors_of, to_array

_WITHOUT_FLOAT32 = ("ttnn.constant", "ttnn.bitcast_convert", *HOST_OPS)
"""Instructions that depend on the bits or types of their operands, so that they have no meaning in float32."""


def compare_instructions(
    source: Source, inputs: Sequence[Array], options: CompileOptions, *, required: float = 0.99
) -> Comparison:
    """Runs a program once, and each of its instructions in float32 as well.

    A row's ``alone`` is the error of the instruction on the operands that the card computed. A row's ``running`` also
    has the errors of the instructions before. An instruction in a loop counts once, with its worst round.

    Args:
        source: the program.
        inputs: arguments of its ``@main``.
        options: compile options.
        required: the least correlation that counts as agreement.

    Returns:
        One row per instruction. ``in_float32`` is the error of all instructions in float32, which the compiler causes.
    """
    module, values = source.module_returning(source.returned)
    rounded_inputs = [rounded(array, value.type) for array, value in zip(inputs, source.arguments, strict=True)]
    golden = Golden(source, rounded_inputs, [*values, *source.returned])
    expected = golden.of(source.returned)
    try:
        untraced = dataclasses.replace(options, enable_trace=False)
        program = compile_module(module, untraced, load_target(selected_system()))
        observer = _Float32Observer(program)
        with observed_kernels(observer):
            executable = get_device(selected_system()).load(program)
        tensors = tensors_of(golden.of(values), program)
        results = [to_array(result) for result in executable.run(tensors, [None] * len(tensors))]
    except TTXLAError as error:
        return Comparison([], None, required, str(error))
    float32_results = observer.results()
    in_float32 = (
        None
        if float32_results is None
        else Error.of([to_array(x.reshape(y.shape)) for x, y in float32_results], expected)
    )
    return Comparison(observer.rows(), Error.of(results, expected), required, in_float32=in_float32)


class _Float32Observer:
    """Runs a float32 copy of each instruction, and keeps the errors of both kinds."""

    def __init__(self, program: Program) -> None:
        self._weight_names = _weight_names(program)
        self._program = program
        self._float32_tensors = WeakTensorKeyDictionary()
        """Float32 counterparts of tensors on the card."""
        self._errors: dict[int, tuple[Step, Function, Error | None, Error | None]] = {}
        """Steps with the largest errors `alone` and `running`, by the identity of the step."""
        self._entry_values: dict[int, Any] = {}
        """Values of the entry function in float32, by number."""

    def timed(self, executable: Executable, function: Function, step: Step, call: Call) -> Call:
        """Returns a call that runs the instruction as it is and in float32."""
        float32_call = _float32_kernel(step)

        def run_both(*tensors: torch.Tensor) -> Any:
            operands = [self._float32_of(tensor) for tensor in tensors]
            alone = _try_call(float32_call, [_float32(tensor) for tensor in tensors])
            running = _try_call(float32_call, operands)
            returned = call(*tensors)
            self._keep(function, step, returned, alone, running)
            return returned

        return run_both

    def _float32_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the float32 counterpart of a tensor on the card; a copy of it if there is none yet."""
        counterpart = self._float32_tensors.get(tensor)
        if counterpart is None:
            counterpart = self._float32_tensors[tensor] = _float32(tensor)
        return counterpart

    def _keep(self, function: Function, step: Step, returned: Any, alone: Any, running: Any) -> None:
        """Keeps the float32 results of a step, and its errors if they are larger than those known."""
        results = _as_sequence(returned)
        counterparts = [_float32(tensor) for tensor in results] if running is None else _as_sequence(running)
        for tensor, counterpart in zip(results, counterparts, strict=True):
            self._float32_tensors[tensor] = counterpart
        if function is self._program.functions[0]:
            self._entry_values |= zip(step.instruction.results, counterparts, strict=True)
        if not results:
            return
        actual = [to_array(tensor) for tensor in results]
        known = self._errors.get(id(step), (step, function, None, None))
        errors = (_worse(old, actual, new) for old, new in zip(known[2:], (alone, running), strict=True))
        self._errors[id(step)] = (step, function, *errors)  # type: ignore[assignment]

    def rows(self) -> list[Row]:
        """Returns one row per instruction that ran, in the order of their first runs."""
        rows: list[Row] = []
        for index, (step, function, alone, running) in enumerate(self._errors.values()):
            instruction = step.instruction
            names = self._weight_names.get(function.name, {})
            weights = [names[value] for value in step.inputs if value in names]
            name = f"{instruction.op} of {', '.join(dict.fromkeys(weights))}" if weights else instruction.op
            result_types = ", ".join(_type_text(function.values[value]) for value in instruction.results)
            rows.append(Row(Line(index, name, result_types, instruction.location), alone, running))
        return rows

    def results(self) -> list[tuple[torch.Tensor, TensorSpec]] | None:
        """Returns the program's results in float32, with their declared shapes; None if one was not computed."""
        entry = self._program.functions[0]
        if not all(value in self._entry_values for value in entry.results):
            return None
        return [(self._entry_values[value], entry.values[value]) for value in entry.results]

    def record_memory(self, step: Step, dram_bytes: int, l1_bytes: int) -> None: ...
    def began(self, executable: Executable, tensors: Sequence[torch.Tensor]) -> None: ...
    def returned(self, executable: Executable, results: Sequence[torch.Tensor]) -> None: ...
    def ended(self, executable: Executable, state: str, start: int) -> None: ...


def _float32_kernel(step: Step) -> Call | None:
    """Returns the kernel of an instruction with float32 operands and results; None if it has no meaning in float32."""
    context, instruction = step.context, step.instruction
    assert context is not None
    if instruction.op in _WITHOUT_FLOAT32:
        return None
    operands = {name: _float32_specs(specs) for name, specs in context.operands.items()}
    results = tuple(map(_float32_spec, context.results))
    kernel = bind(Context(context.op, "exact", operands, results), instruction.attributes, instruction.location)
    return kernel.call if isinstance(kernel, Weighted) else kernel


def _float32_specs(specs: Specs) -> Specs:
    return tuple(map(_float32_spec, specs)) if isinstance(specs, tuple) else _float32_spec(specs)


def _float32_spec(spec: TensorSpec) -> TensorSpec:
    """Returns the spec with type float32 if its type is a float, and unchanged otherwise."""
    if not spec.layout.dtype.is_float:
        return spec
    return msgspec.structs.replace(spec, layout=spec.layout.retyped(DataType.F32))


def _float32(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy, in float32 if the tensor is a float. Instructions that write to their operands need a copy."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.clone()


def _as_sequence(returned: Any) -> Sequence[torch.Tensor]:
    return returned if isinstance(returned, tuple) else (returned,)


def _try_call(call: Call | None, tensors: Sequence[torch.Tensor]) -> Any:
    """Returns results in float32; None without a call.

    Kernels and torch refuse float32 with errors of several types; None is returned for those as well.
    """
    if call is None:
        return None
    try:
        return call(*tensors)
    except (RuntimeError, TypeError, ValueError):
        return None


def _worse(known: Error | None, actual: Sequence[Array], exact: Any) -> Error | None:
    """Returns the larger of a known error and the error of further results; the known one without exact results."""
    if exact is None:
        return known
    error = Error.of(actual, [to_array(tensor) for tensor in _as_sequence(exact)])
    return error if known is None or error.weight > known.weight else known


def _type_text(spec: TensorSpec) -> str:
    return "x".join(map(str, (*spec.shape, spec.layout.dtype.value)))


def _weight_names(program: Program) -> dict[str, dict[int, str]]:
    """Returns, per function, the values computed from a single parameter or constant, with that argument's name."""
    functions = {function.name: function for function in program.functions}
    entry = program.functions[0]
    roots = {
        value: argument.name
        for value, argument in zip(entry.arguments, program.arguments, strict=True)
        if argument.role is not Role.INPUT
    }
    names_by_function: dict[str, dict[int, str]] = {}

    def walk(function: Function, names: dict[int, str]) -> None:
        names_by_function[function.name] = names
        for instruction in function.body:
            operands = instruction.operand_values()
            if instruction.op == LOAD_CACHED:
                callee = functions[_callee(instruction)]
                pairs = zip(callee.arguments, operands, strict=True)
                walk(callee, {inner: names[outer] for inner, outer in pairs if outer in names})
            operand_names = {names[value] for value in operands if value in names}
            if len(operand_names) == 1 and all(value in names for value in operands):
                names |= dict.fromkeys(instruction.results, operand_names.pop())

    walk(entry, roots)
    return names_by_function


def _callee(instruction: Instruction) -> str:
    return str(instruction.attributes["callee"])
