"""Finds along which axes of the mesh each value of a Program differs between chips.

An argument differs along the axes of its sharding. A result differs along every axis along which an operand does;
exchanges between chips remove axes or add them. States of a loop start as its operands do and grow until the body
returns nothing that varies more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from tt_xla.cost.residency import called
from tt_xla.errors import ExecutionError
from tt_xla.ir.program import (
    CASE,
    LOAD_CACHED,
    TRACE,
    WHILE_LOOP,
    Function,
    Instruction,
    Program,
    loop_of,
    subprograms_of,
)
from tt_xla.spmd.collectives import (
    EXCHANGES,
    JOINING,
    MESH_PARTITION,
    POINT_TO_POINT,
    group_axes,
    written_value,
)
from tt_xla.spmd.grid import NO_AXES, Axes, Grid, union


@dataclass(frozen=True)
class Flow:
    """The axes along which the values of one function differ, for arguments that differ along certain axes."""

    values: tuple[Axes, ...]
    """Axes of each value, by number."""
    results: tuple[Axes, ...]
    """Axes of each result of the function."""


@dataclass(frozen=True)
class ControlFlow:
    """How a loop or case runs on a mesh."""

    own: Axes
    """Axes along which its condition differs: along these, each chip runs a loop or case of its own."""
    operands: tuple[Axes, ...]
    """Axes of the operands of its functions, as they enter them in every round; ``own`` included."""
    results: tuple[Axes, ...]
    """Axes of what its functions return: states of a loop or results of a case; ``own`` included."""


class Variation:
    """The axes along which values of a Program differ.

    Args:
        program: the Program.
        grid: its mesh.

    Raises:
        ExecutionError: chips would wait for each other in a loop or case that some of them leave earlier.
    """

    def __init__(self, program: Program, grid: Grid) -> None:
        self._functions = {function.name: function for function in program.functions}
        self._grid = grid
        self._flows: dict[tuple[str, tuple[Axes, ...], Axes], Flow] = {}

    def flow(self, name: str, arguments: Sequence[Axes], own: Axes = NO_AXES) -> Flow:
        """Returns the axes of a function's values.

        Args:
            name: name of the function.
            arguments: axes along which its arguments differ.
            own: axes along which each chip calls the function on its own, so that no value differs along them.
        """
        key = (name, tuple(arguments), own)
        if key not in self._flows:
            self._flows[key] = self._compute(self._functions[name], key[1], own)
        return self._flows[key]

    def axes(self, name: str) -> tuple[Axes, ...]:
        """Returns the axes of a function's values in all flows that were asked for, or that these flows call."""
        flows = [flow.values for (function, _, _), flow in self._flows.items() if function == name]
        if not flows:
            return (NO_AXES,) * len(self._functions[name].values)
        return tuple(union(axes) for axes in zip(*flows, strict=True))

    def split_control(self) -> Iterator[tuple[Instruction, Axes]]:
        """Yields the loops and cases of these flows whose condition differs between chips, and along which axes."""
        for (name, _, own), flow in [*self._flows.items()]:
            for instruction in self._functions[name].body:
                operands = [flow.values[value] for value in instruction.operand_values()]
                if instruction.op == WHILE_LOOP:
                    control = self.loop(instruction, operands, own)
                elif instruction.op == CASE:
                    control = self.case(instruction, operands, own)
                else:
                    continue
                if control.own:
                    yield instruction, control.own

    def traced(self, instruction: Instruction, operands: Sequence[Axes]) -> tuple[Function, tuple[Axes, ...], int]:
        """Returns the function behind a trace, the axes of its arguments, and its number of slots for results."""
        (function,) = called(instruction, self._functions)
        slots = len(function.arguments) - len(operands)
        flow = self.flow(function.name, (*operands, *([NO_AXES] * slots)))
        return function, tuple(flow.values[value] for value in function.arguments), slots

    def loop(self, instruction: Instruction, operands: Sequence[Axes], own: Axes) -> ControlFlow:
        """Returns how a loop runs whose operands differ along these axes."""
        loop = loop_of(instruction)
        axes, decided = list(operands), NO_AXES
        while True:
            inner = [value - decided for value in axes]
            body = self.flow(loop.body, inner, own | decided)
            if loop.condition is None:
                condition = union(axes[operand] for _, operand in loop.bounds if operand is not None)
            else:
                condition = self.flow(loop.condition, inner, own | decided).results[0]
            grown = decided | condition
            states = [before | after | grown for before, after in zip(axes, body.results, strict=False)]
            if grown == decided and states == axes[: loop.states]:
                return ControlFlow(decided, tuple(axes), tuple(states))
            axes[: loop.states], decided = states, grown

    def case(self, instruction: Instruction, operands: Sequence[Axes], own: Axes) -> ControlFlow:
        """Returns how a case runs; ``operands`` are the axes of its index, then of the arguments of its branches."""
        decided, *arguments = operands
        inner = [value - decided for value in arguments]
        flows = [self.flow(name, inner, own | decided) for name in subprograms_of(instruction)]
        results = [union(axes) | decided for axes in zip(*(flow.results for flow in flows), strict=True)]
        return ControlFlow(decided, tuple(arguments), tuple(results))

    def _compute(self, function: Function, arguments: tuple[Axes, ...], own: Axes) -> Flow:
        values = [NO_AXES] * len(function.values)
        for value, axes in zip(function.arguments, arguments, strict=True):
            values[value] = axes
        wider: dict[int, Axes] = {}
        """Axes that a value has because something that differs along them is written to its memory."""
        while True:
            changed = False
            for instruction in function.body:
                operands = [values[value] for value in instruction.operand_values()]
                for value, axes in zip(instruction.results, self._results(instruction, operands, own), strict=True):
                    values[value] = axes | wider.get(value, NO_AXES)
                written = written_value(instruction)
                if written is not None and not union(operands) <= values[written]:
                    values[written] = wider[written] = values[written] | union(operands)
                    changed = True
            if not changed:
                break
        return Flow(tuple(values), tuple(values[value] for value in function.results))

    def _results(self, instruction: Instruction, operands: Sequence[Axes], own: Axes) -> Sequence[Axes]:
        """Returns the axes of an instruction's results."""
        op = instruction.op
        if op in EXCHANGES or op == POINT_TO_POINT:
            return [self._exchanged(instruction, operands, own)]
        if op == MESH_PARTITION:
            return [union(operands) | (self._grid.axes.intersection(group_axes(instruction, self._grid.mesh)) - own)]
        if op == LOAD_CACHED:
            return self.flow(str(instruction.attributes["callee"]), operands).results
        if op == TRACE:
            _, axes, slots = self.traced(instruction, operands)
            return axes[len(axes) - slots :]
        if op == WHILE_LOOP:
            states = self.loop(instruction, operands, own).results
            return [states[index] for index in loop_of(instruction).outputs]
        if op == CASE:
            return self.case(instruction, operands, own).results
        return [union(operands)] * len(instruction.results)

    def _exchanged(self, instruction: Instruction, operands: Sequence[Axes], own: Axes) -> Axes:
        mesh = self._grid.mesh
        axes = frozenset(group_axes(instruction, mesh)) & self._grid.axes
        if axes & own:
            self._refuse(instruction, axes & own)
        if instruction.op in JOINING:
            return union(operands) - axes
        return union(operands) | axes

    def _refuse(self, instruction: Instruction, axes: Axes) -> NoReturn:
        names = ", ".join(f"'{self._grid.mesh.axes[axis]}'" for axis in sorted(axes))
        raise ExecutionError(
            f"{instruction.op} is in a loop or case whose condition differs between chips along the mesh axis {names}, "
            "along which the op exchanges tensors. Chips that leave the loop, or take another branch, would let the "
            "others wait for ever.",
            hint="Make the condition the same on these chips, for example by a sum or maximum over the axis.",
            location=instruction.location,
        )
