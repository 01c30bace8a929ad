"""The values of an expanded function: shards of the chips, and shards of several chips stacked in one tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.runtime.mesh.stacking import scaled
from tt_xla.spmd.grid import Axes, Grid

Append = Callable[[Instruction, int], None]
"""Adds an instruction of a chip to the expanded function."""


class Values:
    """The expanded values of one function.

    A value exists once for each distinct shard, or stacked for groups of chips, or in both forms. A form that is asked
    for and does not exist is made of the other one, by an instruction that is added there and then.

    Args:
        specs: specs of the function's values.
        axes: axes along which each value differs.
        grid: the mesh.
        append: adds an instruction to the expanded function.
    """

    def __init__(self, specs: Sequence[TensorSpec], axes: Sequence[Axes], grid: Grid, append: Append) -> None:
        self._sources, self._axes, self._grid, self._append = specs, axes, grid, append
        self.specs: list[TensorSpec] = []
        """Specs of the expanded values."""
        self.origins: dict[int, int] = {}
        """Value of each expanded value that is a shard of its own."""
        self._shards: dict[tuple[int, int], int] = {}
        """Expanded value of a shard by value and chip."""
        self._stacks: dict[int, dict[tuple[Axes, int], dict[int, int]]] = {}
        """Expanded values of stacked shards by value, by axes and chip, and by stacked dimension."""
        self._names: Counter[int] = Counter()
        """Number of shards that are the same expanded value."""

    def new(self, spec: TensorSpec) -> int:
        """Returns the number of a new expanded value."""
        self.specs.append(spec)
        return len(self.specs) - 1

    def define(self, value: int, chip: int) -> int:
        """Returns a new expanded value for the shard of a value that a chip holds."""
        number = self.new(self._sources[value])
        self.origins[number] = value
        self.name(value, chip, number)
        return number

    def name(self, value: int, chip: int, number: int) -> None:
        """Makes an expanded value the shard of a value that a chip holds."""
        self._shards[value, self._grid.representative(self._axes[value], chip)] = number
        self._names[number] += 1

    def define_stack(self, value: int, axes: Axes, chip: int, dim: int) -> int:
        """Returns a new expanded value for the shards of a value along ``axes``, stacked along a dimension."""
        number = self.new(scaled(self._sources[value], dim, len(self._members(axes, chip))))
        self.name_stack(value, axes, chip, dim, number)
        return number

    def name_stack(self, value: int, axes: Axes, chip: int, dim: int, number: int) -> None:
        """Makes an expanded value the shards of a value along ``axes``, stacked along a dimension."""
        stacks = self._stacks.setdefault(value, {}).setdefault(self._stack_key(value, axes, chip), {})
        stacks[dim] = number
        self._names[number] += 1

    def shard(self, value: int, chip: int) -> int:
        """Returns the shard of a value that a chip holds."""
        key = value, self._grid.representative(self._axes[value], chip)
        if key not in self._shards:
            self._cut(value, chip)
        return self._shards[key]

    def stack(self, value: int, axes: Axes, chip: int, dim: int) -> int:
        """Returns the shards of a value along ``axes``, stacked along a dimension.

        A value that is the same on all these chips is repeated.
        """
        stacks = self._stacks.get(value, {}).get(self._stack_key(value, axes, chip))
        if stacks is None:
            return self._join(value, axes, chip, dim)
        if dim not in stacks:
            source = next(iter(stacks.values()))
            if len(self._members(axes, chip)) == 1:
                self.name_stack(value, axes, chip, dim, source)
                return source
            moved = self.define_stack(value, axes, chip, dim)
            shape = list(self.specs[moved].shape)
            self._append(Instruction("ttnn.reshape", {"input": source}, (moved,), {"shape": shape}), chip)
        return stacks[dim]

    def release(self, value: int, chip: int) -> Iterator[int]:
        """Yields the expanded values that end when a chip gives up its shard of a value: the last chip of its stack
        gives up the stack."""
        shard = self._shards.get((value, self._grid.representative(self._axes[value], chip)))
        numbers = [] if shard is None else [shard]
        own = self._axes[value]
        for key, stacks in self._stacks.get(value, {}).items():
            axes, _ = key
            if self._grid.is_last(own - axes, chip, own) and self._stack_key(value, axes, chip) == key:
                numbers += stacks.values()
        for number in numbers:
            self._names[number] -= 1
            if not self._names[number]:
                yield number

    def _stack_key(self, value: int, axes: Axes, chip: int) -> tuple[Axes, int]:
        return axes, self._grid.representative(self._axes[value] - axes, chip)

    def _members(self, axes: Axes, chip: int) -> list[int]:
        """Returns the chips whose shards are stacked along ``axes``: those of this worker."""
        return [member for member in self._grid.members(chip, tuple(sorted(axes))) if member in self._grid.own]

    def _cut(self, value: int, chip: int) -> None:
        """Adds the shard of a chip as a slice of a stack."""
        (axes, _), stacks = next(
            (key, stacks) for key, stacks in self._stacks[value].items() if key == self._stack_key(value, key[0], chip)
        )
        dim, number = next(iter(stacks.items()))
        spec = self._sources[value]
        members = self._members(axes, chip)
        if len(members) == 1:
            self.name(value, chip, number)
            return
        place = members.index(chip)
        begins, ends = [0] * len(spec.shape), list(spec.shape)
        begins[dim], ends[dim] = place * spec.shape[dim], (place + 1) * spec.shape[dim]
        attributes = {"begins": begins, "ends": ends, "step": [1] * len(begins)}
        self._append(Instruction("ttnn.slice_static", {"input": number}, (self.define(value, chip),), attributes), chip)

    def _join(self, value: int, axes: Axes, chip: int, dim: int) -> int:
        """Adds a stack of the shards of several chips, and returns it."""
        members = self._members(axes, chip)
        if len(members) == 1:
            number = self.shard(value, chip)
            self.name_stack(value, axes, chip, dim, number)
            return number
        if axes.isdisjoint(self._axes[value]):
            source = self.shard(value, chip)
            repeats = [1] * len(self._sources[value].shape)
            repeats[dim] = len(members)
            copy = Instruction("ttnn.repeat", {"input": source}, (), {"repeat_dims": repeats})
        else:
            shards = tuple(self.shard(value, member) for member in members)
            copy = Instruction("ttnn.concat", {"inputs": shards}, (), {"dim": dim})
        number = self.define_stack(value, axes, chip, dim)
        self._append(Instruction(copy.op, copy.operands, (number,), copy.attributes), chip)
        return number
