"""Loops and cases as Python's ``for``, ``while`` and ``if``, around calls of functions of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tt_xla.codegen.formatting import INDENT, Group, call, lay_out
from tt_xla.ir.program import Instruction, loop_of


def loop(
    instruction: Instruction,
    given: Sequence[str],
    carried: str,
    functions: Mapping[str, str],
    bind: Callable[[], Sequence[str]],
) -> list[str]:
    """Statements of a ``ttcore.while_loop``.

    Args:
        given: names of its operands.
        carried: a free name for the list of its states.
        functions: names in the file of the functions that it calls.
        bind: gives its results their names, once its operands are read.
    """
    found = loop_of(instruction)
    arguments = ["device", f"*{carried}", *given[found.states :]]
    lines = lay_out(f"{carried} = ", Group("[", tuple(given[: found.states]), "]"), indent=1)
    if found.condition is None:
        bounds = [
            str(number) if operand is None else f"utils.scalar({given[operand]})" for number, operand in found.bounds
        ]
        text = ", ".join(bounds if bounds[2] != "1" else bounds[1:] if bounds[0] == "0" else bounds)
        lines.append(f"{INDENT}for _ in range({text.removesuffix(', 1')}):")
    else:
        condition = call(f"utils.scalar({functions[found.condition]}", arguments)
        lines += lay_out("while ", condition, "[0]):", indent=1)
    lines += lay_out(f"{carried} = ", call(functions[found.body], arguments), indent=2)
    names = bind()
    if tuple(found.outputs) == tuple(range(found.states)):
        return [*lines, *lay_out("", Group("[", tuple(names), "]"), f" = {carried}", indent=1)]
    taken = (f"{INDENT}{name} = {carried}[{index}]" for name, index in zip(names, found.outputs, strict=True))
    return [*lines, *taken]


def case(
    instruction: Instruction,
    index: str,
    given: Sequence[str],
    chosen: str,
    functions: Mapping[str, str],
    bind: Callable[[], Sequence[str]],
) -> list[str]:
    """Statements of a ``ttcore.case``; ``chosen`` is a free name for the function that is taken."""
    branches = tuple(functions[name] for name in instruction.attributes["branch_programs"])
    lines = lay_out(f"{chosen} = utils.pick", Group("(", (index, *branches), ")", fill=True), indent=1)
    source = call(chosen, ["device", *given])
    return [*lines, *lay_out(f"[{', '.join(bind())}] = ", source, indent=1)]
