"""Finds which chips of a mesh hold the same shard of a value, so that the host computes for each shard once."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import Function, Program
from tt_xla.spmd.grid import NO_AXES, Grid, union
from tt_xla.spmd.variation import Variation


class SharedShards:
    """The chips that hold the same shards of the values of a Program with a mesh.

    Args:
        program: the Program.

    Raises:
        UnsupportedOpError: a loop or case has a condition that differs between chips. Generated source decides once,
            for all chips.
        ExecutionError: chips would wait for each other in such a loop.
    """

    def __init__(self, program: Program) -> None:
        assert program.mesh is not None
        self._grid = Grid(program.mesh)
        self._variation = Variation(program, self._grid)
        arguments = [
            NO_AXES if argument.sharding is None else argument.sharding.axes & self._grid.axes
            for argument in program.arguments
        ]
        self._variation.flow(program.functions[0].name, arguments)
        for instruction, axes in self._variation.split_control():
            names = ", ".join(f"'{program.mesh.axes[axis]}'" for axis in sorted(axes))
            raise UnsupportedOpError(
                f"The condition of a {instruction.op} of program '{program.name}' differs between chips along the mesh "
                f"axis {names}. TT-NN runs one loop or branch for all chips of a mesh device.",
                hint="Make the condition the same on all chips, for example by a sum or maximum over the axis, or run "
                "the program on the emulated card: unset TTXLA_RUNTIME, and compile without backend=codegen_py or "
                "_cpp.",
                location=instruction.location,
            )

    def holders(self, function: Function, values: Sequence[int]) -> tuple[int, ...] | None:
        """Returns for each chip the first chip that holds the same shards of some values of a function.

        Returns:
            One chip for each position of the mesh; None if all chips hold the same tensors.
        """
        of_function = self._variation.axes(function.name)
        axes = union(of_function[value] for value in values)
        if not axes:
            return None
        return tuple(self._grid.representative(axes, position) for position in range(self._grid.mesh.size))
