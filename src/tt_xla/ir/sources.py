"""Finds the argument and the line of the user's program that values of a Program come from."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.ir.program import LOAD_CACHED, Function, Instruction, Program, Role


def weight_names(program: Program) -> dict[str, dict[int, str]]:
    """Returns, per function, the values computed from a single parameter or constant, with that argument's name."""
    functions = {function.name: function for function in program.functions}
    entry = program.functions[0]
    roots = {
        value: argument.name
        for value, argument in zip(entry.arguments, program.arguments, strict=False)
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


def line_of(program: Program, function: Function, results: Sequence[int]) -> str:
    """Returns the line of the first instruction that uses values, for instructions that the compiler added.

    Args:
        program: the program.
        function: the function that has the values.
        results: numbers of the values.

    Returns:
        ``file:line``; empty if only instructions without a line use them.
    """
    wanted = set(results)
    for instruction in function.body:
        if wanted.isdisjoint(instruction.operand_values()):
            continue
        if instruction.location:
            return instruction.location
        wanted.update(instruction.results)
    entry = program.functions[0]
    returned = [index for index, value in enumerate(function.results) if value in wanted]
    for instruction in entry.body if function is not entry else ():
        if instruction.op == LOAD_CACHED and _callee(instruction) == function.name:
            return line_of(program, entry, [instruction.results[index] for index in returned])
    return ""


def _callee(instruction: Instruction) -> str:
    return str(instruction.attributes["callee"])
