"""Names the largest tensors and the largest op of a Program, for error messages about memory."""

from __future__ import annotations

from tt_xla.ir.program import LOAD_CACHED, TRACE, Function, Program
from tt_xla.runtime.transfer import describe


def largest_tensors(program: Program, count: int = 5) -> list[tuple[str, int]]:
    """Returns the largest arguments and intermediate values on the device, each as its name and its bytes.

    Args:
        program: the Program.
        count: maximum number of tensors to return.

    Returns:
        Pairs of a description and a size in bytes with tile padding, the largest first.
    """
    sizes: list[tuple[str, int]] = []
    for function in program.functions:
        names = _value_names(program, function)
        entry = function is program.functions[0]
        sizes += [
            (f"{names[value]} {describe(spec.layout.dtype.value, spec.shape)}", spec.layout.bytes)
            for value, spec in enumerate(function.values)
            if value in names and spec.layout.on_device and (entry or value not in function.arguments)
        ]
    return sorted(sizes, key=lambda size: -size[1])[:count]


def largest_op(program: Program) -> str:
    """Returns a description of the op with the largest result on the device and the user's line, or ``none``."""
    results = [
        (spec.layout.bytes, step.op, describe(spec.layout.dtype.value, spec.shape), step.location)
        for function in program.functions
        for step in function.body
        for spec in (function.values[value] for value in step.results)
        if spec.layout.on_device and step.op not in (TRACE, LOAD_CACHED)
    ]
    if not results:
        return "none"
    _, op, result, location = max(results)
    return f"{op} to {result}" + (f" at {location}" if location else "")


def _value_names(program: Program, function: Function) -> dict[int, str]:
    """Returns the op that computes each value of a function, or the argument's name."""
    names = {result: step.op for step in function.body for result in step.results if step.op != TRACE}
    if function is program.functions[0]:
        declared = (f"argument '{argument.name}'" for argument in program.arguments)
        names |= dict(zip(function.arguments, declared, strict=True))
    return names
