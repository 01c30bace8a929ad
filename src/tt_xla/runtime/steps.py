"""The steps of a Program's functions: what is known of each instruction before anything runs."""

from __future__ import annotations

import hashlib

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

COPY = "ttnn.copy"

CONTROL = (WHILE_LOOP, CASE)

_WHOLE_KEY_BYTES = 512
"""Longer keys of the program cache, of constants above all, are replaced by their digest."""

_TRACE_CALLEES = {
    "allocate_slots_callee": FunctionKind.TRACE_ALLOCATE_SLOTS,
    "capture_callee": FunctionKind.TRACE_CAPTURE,
    "execute_callee": FunctionKind.TRACE_EXECUTE,
}


def code_of(program: Program, function: Function) -> Code:
    """A function's instructions as steps, those that free values as what the steps before them drop.

    Raises:
        ExecutionError: it calls a function that the Program lacks, or has an op without a kernel.
    """
    steps: list[Step] = []
    for instruction in function.body:
        inputs = tuple(instruction.operand_values())
        if instruction.op == DEALLOCATE:
            if steps:
                steps[-1].drops += inputs
            continue
        if instruction.op == COPY and instruction.operands["dst"] in function.arguments:
            # Nothing reads the slot before: it becomes the tensor that would be copied there.
            instruction = Instruction(COPY, {"input": inputs[0]}, (inputs[1],), {}, instruction.location)
            inputs = inputs[:1]
        step = Step(instruction, inputs, [])
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
    # Its last arguments are slots, which its copies fill.
    filled = {value for step in steps if step.instruction.op == COPY for value in step.instruction.results}
    inputs = [value for value in function.arguments if value not in filled]
    return Code(function.name, steps, inputs, [value for value in function.arguments if value in filled])


def _check_call(program: Program, function: Function, instruction: Instruction) -> None:
    called = {"callee": FunctionKind.CONST_EVAL} if instruction.op == LOAD_CACHED else _TRACE_CALLEES
    entry, functions = program.functions[0], {each.name: each for each in program.functions}
    if function is not entry:
        raise ExecutionError(
            f"{instruction.op} stands in function '{function.name}'; only the entry '{entry.name}' may call.",
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
    """What a kernel is bound to for an instruction."""

    def specs(operand: Operand) -> Specs:
        if isinstance(operand, int):
            return function.values[operand]
        return tuple(function.values[value] for value in operand)

    return Context(
        instruction.op,
        str(program.options.get("numerics", "silicon")),
        {name: specs(operand) for name, operand in instruction.operands.items()},
        tuple(function.values[value] for value in instruction.results),
    )


def _key(context: Context, instruction: Instruction) -> bytes:
    parts = (context.op, context.numerics, instruction.attributes, context.operands, context.results)
    key = msgspec.msgpack.encode(parts)
    return key if len(key) <= _WHOLE_KEY_BYTES else hashlib.blake2b(key, digest_size=32).digest()
