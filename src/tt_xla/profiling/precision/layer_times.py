"""Predicted times of a program by layer: the parameters that are weights of matrix products and convolutions."""

from __future__ import annotations

from tt_xla.ir.program import LOAD_CACHED, FunctionKind, Instruction, Program, Role

_WEIGHTS = {"ttnn.matmul": "b", "ttnn.linear": "b", "ttnn.conv2d": "weight"}
"""Name of the operand that holds the weight, by op."""


def layer_times(program: Program) -> dict[frozenset[str], float]:
    """Returns the predicted microseconds of the ops of each layer.

    An op whose weight consists of several parameters, such as queries, keys and values, counts for all of them as one.
    """
    names = {
        value: frozenset((argument.name,))
        for value, argument in zip(program.functions[0].arguments, program.arguments, strict=False)
        if argument.role is not Role.INPUT
    }
    function = next((each for each in program.functions if each.kind is FunctionKind.FORWARD), program.functions[0])
    defined = {value: instruction for instruction in function.body for value in instruction.results}
    times: dict[frozenset[str], float] = {}
    for instruction in function.body:
        operand = instruction.operands.get(_WEIGHTS.get(instruction.op, ""))
        found = _names(operand, defined, names) if isinstance(operand, int) else None
        if found:
            times[found] = times.get(found, 0.0) + instruction.cost.total_us
    return times


def _names(value: int, defined: dict[int, Instruction], known: dict[int, frozenset[str]]) -> frozenset[str] | None:
    """Returns the names of the parameters that a value depends on; None if it depends on anything else."""
    if value in known:
        return known[value]
    instruction = defined.get(value)
    if instruction is None:
        return None
    if instruction.op != LOAD_CACHED and len(instruction.operand_values()) != 1:
        return None
    found = [_names(operand, defined, known) for operand in instruction.operand_values()]
    return None if None in found else frozenset().union(*(each for each in found if each is not None))
