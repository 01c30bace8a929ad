"""Prepares the functions of a Program for binding: one step for each instruction, checked before anything runs."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from tt_xla.errors import ExecutionError
from tt_xla.ir.program import (
    CASE,
    DEALLOCATE,
    LOAD_CACHED,
    TRACE,
    WHILE_LOOP,
    Function,
    FunctionKind,
    Instruction,
    Operand,
    Program,
)
from tt_xla.runtime import control
from tt_xla.runtime.binding import Code, Step
from tt_xla.runtime.emulator.context import Context, Specs
from tt_xla.runtime.emulator.registry import find
from tt_xla.target import load_target

COPY = "ttnn.copy"

CONTROL = (WHILE_LOOP, CASE)
"""Ops that the host runs by calling other functions of the Program."""

_WHOLE_KEY_BYTES = 512
"""Maximum length of a key of the program cache, in bytes. Longer keys, mostly those of constants, are hashed."""

_TRACE_CALLEES = {
    "allocate_slots_callee": FunctionKind.TRACE_ALLOCATE_SLOTS,
    "capture_callee": FunctionKind.TRACE_CAPTURE,
    "execute_callee": FunctionKind.TRACE_EXECUTE,
}
"""Kind of the function that each callee attribute of a trace instruction names."""


def code_of(program: Program, function: Function, chips: Sequence[int] = ()) -> Code:
    """Returns the steps of a function. A ``deallocate`` instruction becomes a drop of the step before it.

    Args:
        program: the Program.
        function: one of its functions.
        chips: for each instruction, the first chip that runs it; empty in a Program for one chip.

    Raises:
        ExecutionError: the function calls a function that the Program lacks, or has an op without a kernel.
    """
    steps: list[Step] = []
    for instruction, chip in zip(function.body, chips or itertools.repeat(0), strict=False):
        inputs = tuple(instruction.operand_values())
        if instruction.op == DEALLOCATE:
            if steps:
                steps[-1].drops += inputs
            continue
        if instruction.op == COPY and instruction.operands["dst"] in function.arguments:
            # Nothing reads the slot before this copy, so the source tensor becomes the slot without copying.
            instruction = Instruction(COPY, {"input": inputs[0]}, (inputs[1],), {}, instruction.location)
            inputs = inputs[:1]
        step = Step(instruction, inputs, [], chip=chip)
        if instruction.op in (LOAD_CACHED, TRACE):
            _check_call(program, function, instruction)
        elif instruction.op in CONTROL:
            control.check(program, function, instruction)
        else:
            find(instruction.op, instruction.location)
            step.context = context_of(program, function, instruction)
            step.key = _key(step.context, instruction)
        steps.append(step)
    if function.kind is not FunctionKind.TRACE:
        return Code(function.name, steps, function.arguments, function.results)
    # The last arguments of a traced function are slots that its copies fill, so they are results here.
    filled = {value for step in steps if step.instruction.op == COPY for value in step.instruction.results}
    inputs = [value for value in function.arguments if value not in filled]
    return Code(function.name, steps, inputs, [value for value in function.arguments if value in filled])


def _check_call(program: Program, function: Function, instruction: Instruction) -> None:
    """Checks that a call is in the entry and that its callees exist and have the right kind.

    Raises:
        ExecutionError: they do not.
    """
    called = {"callee": FunctionKind.CONST_EVAL} if instruction.op == LOAD_CACHED else _TRACE_CALLEES
    entry, functions = program.functions[0], {callee.name: callee for callee in program.functions}
    if function is not entry:
        raise ExecutionError(
            f"{instruction.op} is in function '{function.name}'; only the entry '{entry.name}' may call functions.",
            hint="This is a fault of the compiler; please report it.",
        )
    for name, kind in called.items():
        callee = str(instruction.attributes.get(name))
        if callee not in functions or functions[callee].kind is not kind:
            known = [other.name for other in program.functions if other.kind is kind]
            raise ExecutionError(
                f"{instruction.op} calls '{callee}', which is not a {kind} function of program "
                f"'{program.name}'; it has {', '.join(known) or 'none'}.",
                hint="This is a fault of the compiler; please report it.",
            )


def context_of(program: Program, function: Function, instruction: Instruction) -> Context:
    """Returns the facts that the kernel of an instruction is bound to."""

    def specs(operand: Operand) -> Specs:
        if isinstance(operand, int):
            return function.values[operand]
        return tuple(function.values[value] for value in operand)

    context = Context(
        instruction.op,
        str(program.options.get("numerics", "silicon")),
        {name: specs(operand) for name, operand in instruction.operands.items()},
        tuple(function.values[value] for value in instruction.results),
    )
    return replace(context, grid=load_target(program.target).grid) if context.bit_exact else context


def _key(context: Context, instruction: Instruction) -> bytes:
    """Returns the key of an instruction's kernel in the program cache."""
    parts = (context.op, context.numerics, instruction.attributes, context.operands, context.results, context.grid)
    key = msgspec.msgpack.encode(parts)
    return key if len(key) <= _WHOLE_KEY_BYTES else hashlib.blake2b(key, digest_size=32).digest()
