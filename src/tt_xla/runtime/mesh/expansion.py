"""Expands a Program with a mesh to one without, in which each value exists once for every distinct shard.

What chips hold alike is computed once: an instruction is repeated for each distinct shard of its operands. An exchange
between chips becomes one instruction for each group, whose operand ``input`` is the list of the group's shards. Between
exchanges the instructions of one chip stay together, so that they fuse as they do in a program for one chip.

Where workers share the chips of a mesh, each expands the Program for its own chips. Before an exchange it sends the
shards that others need, and receives those that it lacks (:mod:`.transfers`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tt_xla.ir.mesh import Sharding
from tt_xla.ir.program import Argument, Function, Program, Result
from tt_xla.runtime.mesh.body import Body
from tt_xla.spmd.grid import NO_AXES, Axes, Grid
from tt_xla.spmd.variation import Variation


@dataclass(frozen=True)
class Expansion:
    """A Program without a mesh that computes what a mesh of chips does, and how its tensors correspond."""

    program: Program
    reads: tuple[tuple[int, int], ...]
    """For each argument of ``program``: position of the argument of the Program with the mesh, and the first chip that
    holds this shard."""
    returns: tuple[tuple[int, ...], ...]
    """For each result of the Program with the mesh: index of the result of ``program`` that each chip holds; of a
    worker, each of its own chips."""
    holders: tuple[tuple[int, int], ...]
    """For each result of ``program``: index of the result of the Program with the mesh, and the first chip that holds
    this tensor."""
    chips: Mapping[str, tuple[int, ...]]
    """For each function of ``program``: the first chip that runs each of its instructions."""
    origins: Mapping[str, str]
    """Name of the function of the Program with the mesh that each function of ``program`` was expanded from."""
    values: Mapping[str, Mapping[int, int]]
    """For each function of ``program``: the value of the function that it was expanded from, by its own values that are
    a shard each."""


def expand(
    program: Program, *, stacks: bool = True, shares: Sequence[Sequence[int]] | None = None, worker: int = 0
) -> Expansion:
    """Expands a Program with a mesh.

    Args:
        program: the Program.
        stacks: whether one instruction may compute the shards of several chips, stacked in one tensor.
        shares: positions of each worker's chips, where workers share them (:func:`tt_xla.spmd.grid.shares`).
        worker: number of the worker whose chips the Program is expanded for. Its expansion has what they hold alone.

    Raises:
        ExecutionError: chips would wait for each other in a loop or case that some of them leave earlier.
    """
    assert program.mesh is not None
    return Expander(program, Grid(program.mesh, shares, worker), stacks=stacks).expansion()


class Expander:
    """Expands the functions of one Program. A function that is called for other shardings is expanded for each."""

    def __init__(self, program: Program, grid: Grid, *, stacks: bool) -> None:
        self.program = program
        self.stacks = stacks
        self.grid = grid
        self.variation = Variation(program, grid)
        self.functions = {function.name: function for function in program.functions}
        self._names: dict[object, str] = {}
        self._expanded: dict[str, Function] = {}
        self._chips: dict[str, tuple[int, ...]] = {}
        self._origins: dict[str, str] = {}
        self._values: dict[str, Mapping[int, int]] = {}

    def expansion(self) -> Expansion:
        program, grid = self.program, self.grid
        entry = program.functions[0]
        arguments = [self._sharded(argument.sharding) for argument in program.arguments]
        flow = self.variation.flow(entry.name, arguments)
        self.function(entry.name, arguments, flow.results)
        reads = [(position, chip) for position, axes in enumerate(arguments) for chip in grid.representatives(axes)]
        returns: list[tuple[int, ...]] = []
        results: list[Result] = []
        holders: list[tuple[int, int]] = []
        for number, (result, axes) in enumerate(zip(program.results, flow.results, strict=True)):
            indices = {chip: len(results) + index for index, chip in enumerate(grid.representatives(axes))}
            holders += [(number, chip) for chip in indices]
            results += [replace(result, sharding=None, global_shape=None)] * len(indices)
            returns.append(tuple(indices[grid.representative(axes, chip)] for chip in grid.own))
        expanded = replace(
            program,
            arguments=tuple(self._argument(program.arguments[position], chip) for position, chip in reads),
            results=tuple(results),
            functions=tuple(self._expanded.values()),
            mesh=None,
        )
        return Expansion(
            expanded, tuple(reads), tuple(returns), tuple(holders), self._chips, self._origins, self._values
        )

    def function(
        self,
        name: str,
        arguments: Sequence[Axes],
        results: Sequence[Axes],
        own: Axes = NO_AXES,
        place: Mapping[int, int] | None = None,
    ) -> str:
        """Expands a function and returns the new name.

        Args:
            name: name of the function.
            arguments: axes along which its arguments differ.
            results: axes along which its caller takes its results to differ.
            own: axes along which chips call it on their own.
            place: coordinates of the calling chips along ``own``.
        """
        key = (name, tuple(arguments), tuple(results), own, tuple(sorted((place or {}).items())))
        if key not in self._names:
            self._names[key] = new_name = self._new_name(name)
            self._expanded[new_name] = self.functions[name]  # keeps its place in the order: the entry comes first
            flow = self.variation.flow(name, arguments, own)
            body = Body(self, self.functions[name], flow, own, place or {})
            self.add(body.function(new_name, arguments, results), name, body.chips)
            self._values[new_name] = body.origins
        return self._names[key]

    def _new_name(self, name: str) -> str:
        candidates = (f"{name}_{number}" for number in itertools.count(2))
        if name not in self._expanded:
            return name
        return next(new for new in candidates if new not in self._expanded and new not in self.functions)

    def add(self, function: Function, origin: str, chips: Sequence[int] = ()) -> None:
        """Adds a function to the expanded Program."""
        self._expanded[function.name] = function
        self._chips[function.name], self._origins[function.name] = tuple(chips), origin

    def _sharded(self, sharding: Sharding | None) -> Axes:
        return NO_AXES if sharding is None else sharding.axes & self.grid.axes

    def _argument(self, argument: Argument, chip: int) -> Argument:
        split = bool(self._sharded(argument.sharding))
        name = f"{argument.name} on chip {chip}" if split else argument.name
        return replace(argument, name=name, sharding=None, global_shape=None)
