"""What takes the most memory in a Program, for messages."""

from __future__ import annotations

from tt_xla.ir.program import LOAD_CACHED, TRACE, Function, Program
from tt_xla.runtime.transfer import describe


def largest_tensors(program: Program, count: int = 5) -> list[tuple[str, int]]:
    """The largest arguments and intermediate values: name and bytes with tile padding."""
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
    """The op with the largest result on the device, with its size and the user's line."""
    made = [
        (spec.layout.bytes, step.op, describe(spec.layout.dtype.value, spec.shape), step.location)
        for function in program.functions
        for step in function.body
        for spec in (function.values[value] for value in step.results)
        if spec.layout.on_device and step.op not in (TRACE, LOAD_CACHED)
    ]
    if not made:
        return "none"
    _, op, result, location = max(made)
    return f"{op} to {result}" + (f" at {location}" if location else "")


def _value_names(program: Program, function: Function) -> dict[int, str]:
    names = {result: step.op for step in function.body for result in step.results if step.op != TRACE}
    if function is program.functions[0]:
        declared = (f"argument '{argument.name}'" for argument in program.arguments)
        names |= dict(zip(function.arguments, declared, strict=True))
    return names
