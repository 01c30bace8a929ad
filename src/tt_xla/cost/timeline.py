"""The kernels of one call of a Program, one after another, with their predicted times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tt_xla.cost.program import predicted_device_us, rounds, subprograms, traced_function
from tt_xla.cost.rates import rates_of
from tt_xla.ir.device_operations import TRANSFERS, device_operation
from tt_xla.ir.program import HOST_OPS, Function, FunctionKind, Program
from tt_xla.target import Target

MOST_KERNELS = 4096
"""Number of kernels of a loop up to which each of them is listed. A longer loop is listed as one kernel."""


class Slice(NamedTuple):
    """One kernel of a call.

    Attributes:
        name: its device operation, such as ``MatmulDeviceOperation``.
        op: the op, such as ``ttnn.matmul``.
        location: the user's source line.
        start_ns: time since the call began, in nanoseconds.
        duration_ns: nanoseconds.
    """

    name: str
    op: str
    location: str
    start_ns: int
    duration_ns: int


def timeline(program: Program, target: Target) -> list[Slice]:
    """Returns the kernels that each chip runs in a call of a program after the first ones, in order.

    Times are those of :func:`~tt_xla.cost.program.predicted_device_us`, but that kernels do not overlap with exchanges
    between chips. Const-eval functions, transfers over PCIe and computations on the host have no kernels.
    """
    functions = {function.name: function for function in program.functions}
    rates = rates_of(target)
    slices: list[Slice] = []
    now = 0.0
    for name, op, location, duration, traced in _kernels(program, target, program.functions[0], functions):
        start = now + (rates.gap_traced if traced else rates.gap_untraced)
        now = start + duration
        slices.append(Slice(name, op, location, round(1e3 * start), round(1e3 * now) - round(1e3 * start)))
    return slices


_Kernel = tuple[str, str, str, float, bool]
"""Device operation, op, location, predicted microseconds, and whether the kernel is part of a trace."""


def _kernels(
    program: Program,
    target: Target,
    function: Function,
    functions: dict[str, Function],
    above: frozenset[str] = frozenset(),
    traced: bool = False,
) -> Iterator[_Kernel]:
    above |= {function.name}
    traced = traced or function.kind is FunctionKind.TRACE
    for instruction in function.body:
        callee = traced_function(instruction, functions, above)
        if callee is not None:
            yield from _kernels(program, target, callee, functions, above, traced)
            continue
        inner = [
            kernel
            for each in subprograms(instruction, functions, above)
            for kernel in _kernels(program, target, each, functions, above, traced)
        ]
        trips = rounds(instruction)
        if len(inner) * trips > MOST_KERNELS:
            us = sum(
                predicted_device_us(each, target, program.functions, program.mesh)
                for each in subprograms(instruction, functions, above)
            )
            yield f"{instruction.op} ({trips} rounds)", instruction.op, instruction.location, trips * us, traced
        else:
            yield from inner * trips
        name = instruction.op.rpartition(".")[2]
        if instruction.cost.total_us and instruction.op not in HOST_OPS and name not in TRANSFERS:
            inputs = [function.values[value] for value in instruction.operand_values()]
            outputs = [function.values[value] for value in instruction.results]
            code, _ = device_operation(instruction, inputs, outputs)
            yield code, instruction.op, instruction.location, instruction.cost.total_us, traced


__all__ = ["MOST_KERNELS", "Slice", "timeline"]
