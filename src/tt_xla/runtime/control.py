"""Runs loops and cases on the host: a loop calls functions of the Program repeatedly, a case chooses one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.program import CASE, WHILE_LOOP, Function, FunctionKind, Instruction, Program, loop_of, subprograms_of

Tensors = Sequence[torch.Tensor]
CallFunction = Callable[[str, Tensors], Tensors]
"""Runs the function with a name on arguments and returns its results."""


def run(instruction: Instruction, inputs: Tensors, call: CallFunction) -> Tensors:
    """Runs a loop or a case.

    Args:
        instruction: the loop or case.
        inputs: its operands.
        call: runs a function of the Program.

    Returns:
        The results of the instruction.

    Raises:
        ExecutionError: the step of a counted loop is 0.
    """
    return _loop(instruction, inputs, call) if instruction.op == WHILE_LOOP else _case(instruction, inputs, call)


def _loop(instruction: Instruction, inputs: Tensors, call: CallFunction) -> Tensors:
    """Runs a loop. A counted loop reads the device once, for bounds that are tensors; other loops read their condition
    in every round."""
    loop = loop_of(instruction)
    states, captured = list(inputs[: loop.states]), inputs[loop.states :]
    if loop.condition is None:
        bounds = [number if operand is None else int(inputs[operand].item()) for number, operand in loop.bounds]
        if bounds[2] == 0:
            raise ExecutionError("A counted loop has step 0.", location=instruction.location)
        for _ in range(*bounds):
            states = list(call(loop.body, [*states, *captured]))
    else:
        while bool(call(loop.condition, [*states, *captured])[0].item()):
            states = list(call(loop.body, [*states, *captured]))
    return [states[index] for index in loop.outputs]


def _case(instruction: Instruction, inputs: Tensors, call: CallFunction) -> Tensors:
    branches = instruction.attributes["branch_programs"]
    index = int(inputs[0].item())
    return call(branches[index if 0 <= index < len(branches) else -1], inputs[1:])


def check(program: Program, function: Function, instruction: Instruction) -> None:
    """Checks that the functions of a loop or a case exist and have matching arguments and results.

    Args:
        program: the Program.
        function: the function that the instruction is in.
        instruction: the loop or case.

    Raises:
        ExecutionError: a function is missing, or its arguments or results do not match.
    """
    functions = {callee.name: callee for callee in program.functions if callee.kind is FunctionKind.SUBPROGRAM}
    operands = instruction.operands["inputs"]
    assert isinstance(operands, tuple)
    operand_specs = [function.values[value] for value in operands]
    condition = loop_of(instruction).condition if instruction.op == WHILE_LOOP else None
    for name in subprograms_of(instruction):
        callee = functions.get(name)
        if callee is None:
            raise _fault(instruction, f"calls '{name}', which is not a function for loops and cases")
        if [callee.values[value] for value in callee.arguments] != operand_specs:
            raise _fault(instruction, f"passes tensors to '{name}' that differ from its declared arguments")
        returned = [callee.values[value] for value in callee.results]
        if name == condition:
            matches = len(returned) == 1
        elif instruction.op == CASE:
            matches = returned == [function.values[value] for value in instruction.results]
        else:
            matches = returned == operand_specs[: loop_of(instruction).states]
        if not matches:
            raise _fault(instruction, f"expects results that differ from those of '{name}'")


def _fault(instruction: Instruction, problem: str) -> ExecutionError:
    return ExecutionError(
        f"{instruction.op} {problem}.",
        hint="This is a fault of the compiler or of an edited Program; please report it.",
        location=instruction.location,
    )
