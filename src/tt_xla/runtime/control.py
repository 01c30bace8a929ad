"""Loops and cases as a host runs them: functions of the Program, called again and again or chosen among."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.program import CASE, WHILE_LOOP, Function, FunctionKind, Instruction, Program, loop_of, subprograms_of

Tensors = Sequence[torch.Tensor]
CallFunction = Callable[[str, Tensors], Tensors]
"""Runs the function of a name on arguments; its results."""


def run(instruction: Instruction, inputs: Tensors, call: CallFunction) -> Tensors:
    """The results of a loop or a case.

    Raises:
        ExecutionError: the step of a loop is 0.
    """
    return _loop(instruction, inputs, call) if instruction.op == WHILE_LOOP else _case(instruction, inputs, call)


def _loop(instruction: Instruction, inputs: Tensors, call: CallFunction) -> Tensors:
    """A counted loop looks at the device at most once, for its bounds; any other in every round."""
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
    """That a loop or a case calls functions that take and return what it gives and wants.

    Raises:
        ExecutionError: it does not.
    """
    functions = {each.name: each for each in program.functions if each.kind is FunctionKind.SUBPROGRAM}
    given = instruction.operands["inputs"]
    assert isinstance(given, tuple)
    wanted = [function.values[value] for value in given]
    condition = loop_of(instruction).condition if instruction.op == WHILE_LOOP else None
    for name in subprograms_of(instruction):
        callee = functions.get(name)
        if callee is None:
            raise _fault(instruction, f"calls '{name}', which is no function for loops and cases")
        if [callee.values[value] for value in callee.arguments] != wanted:
            raise _fault(instruction, f"gives '{name}' other tensors than it takes")
        returned = [callee.values[value] for value in callee.results]
        if name == condition:
            good = len(returned) == 1
        elif instruction.op == CASE:
            good = returned == [function.values[value] for value in instruction.results]
        else:
            good = returned == wanted[: loop_of(instruction).states]
        if not good:
            raise _fault(instruction, f"wants other results than '{name}' returns")


def _fault(instruction: Instruction, what: str) -> ExecutionError:
    return ExecutionError(
        f"{instruction.op} {what}.",
        hint="This is a fault of the compiler or of an edited Program; please report it.",
        location=instruction.location,
    )
