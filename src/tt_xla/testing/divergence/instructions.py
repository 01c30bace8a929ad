"""Each TTNN instruction of a program on the emulated card beside the same instruction in float32.

What parts the two is the instruction's own: the format of its result and of what it computes in. That the instructions
are the right ones is another question, which the StableHLO module answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import torch
from torch.utils.weak import WeakTensorKeyDictionary

from tt_xla.compiler import compile_module
from tt_xla.errors import TTXLAError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import HOST_OPS, LOAD_CACHED, Function, Instruction, Program, Role, TensorSpec
from tt_xla.options import CompileOptions, selected_system
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
"""Instructions that mean the bits or the types that they are given."""


def compare_instructions(
    source: Source, inputs: Sequence[Array], options: CompileOptions, *, required: float = 0.99
) -> Comparison:
    """Runs a program once, and each of its instructions in float32 beside it.

    A row's ``alone`` is the instruction on what the card gave it; its ``running`` has the errors of those before. What
    a loop runs counts once, with its worst round. ``in_float32`` is the error of all instructions in float32, which is
    the compiler's.
    """
    module, taken = source.module_returning(source.returned)
    given = [rounded(array, value.type) for array, value in zip(inputs, source.arguments, strict=True)]
    golden = Golden(source, given, [*taken, *source.returned])
    expected = golden.of(source.returned)
    try:
        untraced = dataclasses.replace(options, enable_trace=False)
        program = compile_module(module, untraced, load_target(selected_system()))
        watch = _Watch(program)
        with observed_kernels(watch):
            executable = get_device(selected_system()).load(program)
        tensors = tensors_of(golden.of(taken), program)
        results = [to_array(result) for result in executable.run(tensors, [None] * len(tensors))]
    except TTXLAError as error:
        return Comparison([], None, required, str(error))
    wide = watch.results()
    exact = None if wide is None else Error.of([to_array(x.reshape(y.shape)) for x, y in wide], expected)
    return Comparison(watch.rows(), Error.of(results, expected), required, in_float32=exact)


class _Watch:
    """Runs a second, float32 copy of each instruction, and keeps the errors of both kinds."""

    def __init__(self, program: Program) -> None:
        self._names = _weights(program)
        self._program = program
        self._wide = WeakTensorKeyDictionary()
        """Tensors on the card to what they would be in float32."""
        self._errors: dict[int, tuple[Step, Function, Error | None, Error | None]] = {}
        self._last: dict[int, Any] = {}
        """Values of the entry, in float32."""

    def timed(self, executable: Executable, function: Function, step: Step, call: Call) -> Call:
        exact = _exact(step)

        def both(*tensors: torch.Tensor) -> Any:
            wide = [self._of(tensor) for tensor in tensors]
            alone = _tried(exact, [_float32(tensor) for tensor in tensors])
            running = _tried(exact, wide)
            made = call(*tensors)
            self._keep(function, step, made, alone, running)
            return made

        return both

    def _of(self, tensor: torch.Tensor) -> torch.Tensor:
        found = self._wide.get(tensor)
        if found is None:
            found = self._wide[tensor] = _float32(tensor)
        return found

    def _keep(self, function: Function, step: Step, made: Any, alone: Any, running: Any) -> None:
        results = _each(made)
        wide = [_float32(tensor) for tensor in results] if running is None else _each(running)
        for tensor, exact in zip(results, wide, strict=True):
            self._wide[tensor] = exact
        if function is self._program.functions[0]:
            self._last |= zip(step.instruction.results, wide, strict=True)
        if not results:
            return
        actual = [to_array(tensor) for tensor in results]
        known = self._errors.get(id(step), (step, function, None, None))
        errors = (_worse(old, actual, new) for old, new in zip(known[2:], (alone, running), strict=True))
        self._errors[id(step)] = (step, function, *errors)  # type: ignore[assignment]

    def rows(self) -> list[Row]:
        """One a kernel that ran, as they ran first."""
        rows: list[Row] = []
        for index, (step, function, alone, running) in enumerate(self._errors.values()):
            instruction = step.instruction
            names = self._names.get(function.name, {})
            of = [names[value] for value in step.inputs if value in names]
            name = f"{instruction.op} of {', '.join(dict.fromkeys(of))}" if of else instruction.op
            made = ", ".join(_described(function.values[value]) for value in instruction.results)
            rows.append(Row(Line(index, name, made, instruction.location), alone, running))
        return rows

    def results(self) -> list[tuple[torch.Tensor, TensorSpec]] | None:
        """Those of the program in float32, with the shapes that it gives; None where a kernel did not make one."""
        entry = self._program.functions[0]
        if not all(value in self._last for value in entry.results):
            return None
        return [(self._last[value], entry.values[value]) for value in entry.results]

    def taken(self, step: Step, dram_bytes: int, l1_bytes: int) -> None: ...
    def began(self, executable: Executable, tensors: Sequence[torch.Tensor]) -> None: ...
    def returned(self, executable: Executable, results: Sequence[torch.Tensor]) -> None: ...
    def ended(self, executable: Executable, state: str, start: int) -> None: ...


def _exact(step: Step) -> Call | None:
    """The kernel of an instruction as float32 would have it; None where there is no such thing."""
    context, instruction = step.context, step.instruction
    assert context is not None
    if instruction.op in _WITHOUT_FLOAT32:
        return None
    operands = {name: _widened(specs) for name, specs in context.operands.items()}
    results = tuple(map(_wide_spec, context.results))
    found = bind(Context(context.op, "exact", operands, results), instruction.attributes, instruction.location)
    return found.call if isinstance(found, Weighted) else found


def _widened(specs: Specs) -> Specs:
    return tuple(map(_wide_spec, specs)) if isinstance(specs, tuple) else _wide_spec(specs)


def _wide_spec(spec: TensorSpec) -> TensorSpec:
    if not spec.layout.dtype.is_float:
        return spec
    return msgspec.structs.replace(spec, layout=spec.layout.retyped(DataType.F32))


def _float32(tensor: torch.Tensor) -> torch.Tensor:
    """A copy, as some instructions write to what they are given."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.clone()


def _each(made: Any) -> Sequence[torch.Tensor]:
    return made if isinstance(made, tuple) else (made,)


def _tried(call: Call | None, tensors: Sequence[torch.Tensor]) -> Any:
    """Results in float32; None where the kernel has no float32 form, of whatever kind its refusal is."""
    if call is None:
        return None
    try:
        return call(*tensors)
    except Exception:
        return None


def _worse(known: Error | None, actual: Sequence[Array], exact: Any) -> Error | None:
    """The larger of an error and that of other results."""
    if exact is None:
        return known
    found = Error.of(actual, [to_array(tensor) for tensor in _each(exact)])
    return found if known is None or found.weight > known.weight else known


def _described(spec: TensorSpec) -> str:
    return "x".join(map(str, (*spec.shape, spec.layout.dtype.value)))


def _weights(program: Program) -> dict[str, dict[int, str]]:
    """For each function the values that are made of one parameter or constant alone, with its name."""
    functions = {function.name: function for function in program.functions}
    entry = program.functions[0]
    roots = {
        value: argument.name
        for value, argument in zip(entry.arguments, program.arguments, strict=True)
        if argument.role is not Role.INPUT
    }
    found: dict[str, dict[int, str]] = {}

    def walk(function: Function, names: dict[int, str]) -> None:
        found[function.name] = names
        for instruction in function.body:
            operands = instruction.operand_values()
            if instruction.op == LOAD_CACHED:
                callee = functions[_callee(instruction)]
                given = zip(callee.arguments, operands, strict=True)
                walk(callee, {inner: names[outer] for inner, outer in given if outer in names})
            named = {names[value] for value in operands if value in names}
            if len(named) == 1 and all(value in names for value in operands):
                names |= dict.fromkeys(instruction.results, named.pop())

    walk(entry, roots)
    return found


def _callee(instruction: Instruction) -> str:
    return str(instruction.attributes["callee"])
