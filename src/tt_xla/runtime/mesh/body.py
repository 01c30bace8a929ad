"""The expansion of one function of a Program with a mesh: which instruction computes which shards, in what order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tt_xla.ir.program import (
    CALL,
    CASE,
    DEALLOCATE,
    LOAD_CACHED,
    TRACE,
    WHILE_LOOP,
    Function,
    Instruction,
    Operand,
    loop_of,
    subprograms_of,
)
from tt_xla.runtime.mesh.stacking import STARTING, Stacked, depends_on_rows, elements, scaled, stacked
from tt_xla.runtime.mesh.transfers import TRANSFER, transfer
from tt_xla.runtime.mesh.values import Values
from tt_xla.spmd.collectives import (
    EXCHANGES,
    JOINING,
    MESH_PARTITION,
    POINT_TO_POINT,
    group_axes,
    written_value,
)
from tt_xla.spmd.grid import NO_AXES, Axes, Grid, union
from tt_xla.spmd.variation import ControlFlow, Flow

if TYPE_CHECKING:
    from tt_xla.runtime.mesh.expansion import Expander

ASSIGN = "ttnn.assign"


@dataclass(frozen=True)
class _Item:
    """An instruction that is repeated for each distinct shard among the chips."""

    axes: Axes
    emit: Callable[[int], None]
    """Adds the copy of one chip."""
    after_last: bool = False
    """Whether a copy waits for the last chip that shares its shard, as a deallocation does."""


class Body:
    """The expansion of one function."""

    def __init__(self, expander: Expander, function: Function, flow: Flow, own: Axes, place: Mapping[int, int]) -> None:
        self._expander, self._variation = expander, expander.variation
        self._function, self._flow, self._own, self._place = function, flow, own, place
        self._grid = expander.grid.narrowed(place)
        self._values = Values(function.values, flow.values, self._grid, self._append)
        self._stack_axes: dict[int, Axes] = {}
        """Axes along which a value is stacked, for values that are."""
        self._written = {written_value(instruction) for instruction in function.body}
        """Values that instructions write to. They are never stacked, since a copy would miss the write."""
        self._instructions: list[Instruction] = []
        self._segment: list[_Item] = []
        """Instructions since the last one that all chips wait for."""
        self._early = set(function.arguments)
        """Values that exist before the first instruction of any chip: arguments and const-eval results."""
        self.chips: list[int] = []

    def function(self, name: str, arguments: Sequence[Axes], results: Sequence[Axes]) -> Function:
        """Returns the expanded function, whose arguments and results are the shards in order."""
        function, grid = self._function, self._grid
        numbers: list[int] = []
        for value, axes in zip(function.arguments, arguments, strict=True):
            widened = axes != self._flow.values[value]
            shards = [
                self._values.new(function.values[value]) if widened else self._values.define(value, chip)
                for chip in grid.representatives(axes)
            ]
            numbers += shards
            if widened:
                self._copy_apart(value, dict(zip(grid.representatives(axes), shards, strict=True)), axes)
        for instruction in function.body:
            self._add(instruction)
        self._flush()
        returned = [
            self._values.shard(value, chip)
            for value, axes in zip(function.results, results, strict=True)
            for chip in grid.representatives(axes)
        ]
        return Function(
            name, function.kind, tuple(numbers), tuple(returned), tuple(self._values.specs), tuple(self._instructions)
        )

    @property
    def origins(self) -> Mapping[int, int]:
        """Value of the function for each value of the expanded function that is a shard of its own."""
        return self._values.origins

    # Values

    def _axes(self, instruction: Instruction) -> Axes:
        values = (*instruction.operand_values(), *instruction.results)
        return union(self._flow.values[value] for value in values)

    def _copy_apart(self, value: int, shards: Mapping[int, int], axes: Axes) -> None:
        """Copies an argument for each chip, because chips write different elements to it."""
        for chip in self._grid.representatives(self._flow.values[value]):
            source = shards[self._grid.representative(axes, chip)]
            self._append(Instruction(ASSIGN, {"input": source}, (self._values.define(value, chip),), {}), chip)

    # Instructions

    def _append(self, instruction: Instruction, chip: int) -> None:
        self._instructions.append(instruction)
        self.chips.append(self._grid.moved(chip, self._place))

    def _add(self, instruction: Instruction) -> None:
        op = instruction.op
        if op == DEALLOCATE:
            self._deallocate(instruction)
        elif op in EXCHANGES:
            self._flush()
            self._exchange(instruction)
        elif op == POINT_TO_POINT:
            self._flush()
            self._send(instruction)
        elif op == LOAD_CACHED:
            self._load_cached(instruction)
        elif op == TRACE:
            self._flush()
            self._trace(instruction)
        elif op in (WHILE_LOOP, CASE):
            self._flush()
            self._control(instruction)
        elif not self._add_stacked(instruction):
            axes = self._axes(instruction)
            if written_value(instruction) is not None and not union(item.axes for item in self._segment) <= axes:
                self._flush()  # what other chips read before the write comes before it
            partition = op == MESH_PARTITION
            self._segment.append(
                _Item(
                    axes,
                    lambda chip: self._repeat(instruction, chip, self._part(instruction, chip) if partition else {}),
                )
            )

    def _add_stacked(self, instruction: Instruction) -> bool:
        """Adds an instruction on stacked shards. Returns False if it computes each shard on its own."""
        axes = self._stacking_axes(instruction) if self._expander.stacks else NO_AXES
        if not axes:
            return False
        differing = [value for value in instruction.operand_values() if self._flow.values[value] & axes]
        touched = {*differing, *instruction.results}
        if not self._written.isdisjoint(touched) or any(not axes <= self._flow.values[value] for value in touched):
            return False
        specs = self._function.values
        count = len(self._grid.representatives(axes))
        if depends_on_rows(instruction, specs, count):
            count = math.prod(self._grid.mesh.shape[axis] for axis in axes)
        outcome = stacked(instruction, specs, differing.__contains__, count)
        if outcome is None:
            return False
        apart = [value for value in differing if self._stack_axes.get(value) != axes]
        copied = sum(elements(specs[value]) for value in apart)
        if instruction.op not in STARTING and copied > sum(elements(specs[value]) for value in instruction.results):
            return False
        if not self._early.issuperset(apart):
            self._flush()  # the copy into one tensor waits for the shards of all chips
        self._stack_axes.update(dict.fromkeys((*apart, *instruction.results), axes))
        item = _Item(
            self._axes(instruction) - axes, lambda chip: self._repeat_stacked(instruction, outcome, axes, chip, count)
        )
        self._segment.append(item)
        return True

    def _stacking_axes(self, instruction: Instruction) -> Axes:
        """Returns the axes along which an instruction may take its operands stacked; none where it may not."""
        operands = instruction.operand_values()
        stacked_along = {self._stack_axes[value] for value in operands if value in self._stack_axes}
        if stacked_along or instruction.op not in STARTING:
            return stacked_along.pop() if len(stacked_along) == 1 else NO_AXES
        first, *others = operands
        return self._flow.values[first] - union(self._flow.values[value] for value in others)

    def _repeat_stacked(self, instruction: Instruction, outcome: Stacked, axes: Axes, chip: int, count: int) -> None:
        """Adds an instruction on the stacked shards of ``count`` chips along ``axes``.

        If they are more than the worker has, the stacks of its own chips are filled up with zeros.
        """
        members = self._grid.members(chip, tuple(sorted(axes)))
        own = [place for place, member in enumerate(members) if member in self._grid.own]
        filled: list[int] = []

        def stack(value: int, dim: int) -> int:
            number = self._values.stack(value, axes, chip, dim)
            if count == len(own):
                return number
            size = self._function.values[value].shape[dim]
            padding = [0] * (2 * len(self._function.values[value].shape))
            padding[2 * dim : 2 * dim + 2] = own[0] * size, (count - 1 - own[-1]) * size
            number_filled = self._values.new(scaled(self._function.values[value], dim, count))
            filled.append(number_filled)
            self._append(Instruction("ttnn.pad", {"input": number}, (number_filled,), {"padding": padding}), chip)
            return number_filled

        def numbers(name: str, operand: Operand) -> Operand:
            dim = outcome.operands.get(name)
            values = (operand,) if isinstance(operand, int) else operand
            expanded = tuple(self._values.shard(value, chip) if dim is None else stack(value, dim) for value in values)
            return expanded[0] if isinstance(operand, int) else expanded

        operands = {name: numbers(name, operand) for name, operand in instruction.operands.items()}
        attributes = {**instruction.attributes, **outcome.attributes}
        if count == len(own):
            results = tuple(
                self._values.define_stack(value, axes, chip, dim)
                for value, dim in zip(instruction.results, outcome.results, strict=True)
            )
            self._append(replace(instruction, operands=operands, results=results, attributes=attributes), chip)
            return
        specs = [self._function.values[value] for value in instruction.results]
        results = tuple(
            self._values.new(scaled(spec, dim, count)) for spec, dim in zip(specs, outcome.results, strict=True)
        )
        self._append(replace(instruction, operands=operands, results=results, attributes=attributes), chip)
        for value, number, dim, spec in zip(instruction.results, results, outcome.results, specs, strict=True):
            begins, ends = [0] * len(spec.shape), list(spec.shape)
            begins[dim], ends[dim] = own[0] * spec.shape[dim], (own[-1] + 1) * spec.shape[dim]
            cut = {"begins": begins, "ends": ends, "step": [1] * len(begins)}
            part = self._values.define_stack(value, axes, chip, dim)
            self._append(Instruction("ttnn.slice_static", {"input": number}, (part,), cut), chip)
        self._drop((*filled, *results))

    def _flush(self) -> None:
        """Adds the instructions since the last one that all chips wait for, chip by chip."""
        among = union(item.axes for item in self._segment)
        for chip in self._grid.representatives(among):
            for item in self._segment:
                if item.after_last:
                    due = self._grid.is_last(item.axes, chip, among)
                else:
                    due = self._grid.representative(item.axes, chip) == chip
                if due:
                    item.emit(chip)
        self._segment.clear()

    def _repeat(self, instruction: Instruction, chip: int, extra: Mapping[str, Any]) -> None:
        """Adds the copy of an instruction for one chip."""

        def numbers(operand: Operand) -> Operand:
            if isinstance(operand, int):
                return self._values.shard(operand, chip)
            return tuple(self._values.shard(value, chip) for value in operand)

        operands = {name: numbers(operand) for name, operand in instruction.operands.items()}
        attributes = {**instruction.attributes, **extra} if extra else instruction.attributes
        results = tuple(self._values.define(value, chip) for value in instruction.results)
        copy = replace(instruction, operands=operands, results=results, attributes=attributes)
        self._append(copy, chip)

    def _part(self, instruction: Instruction, chip: int) -> dict[str, Any]:
        """Returns which part of its operand a chip takes in ``mesh_partition``: index and count."""
        axes = group_axes(instruction, self._grid.mesh)
        members = self._grid.members(self._grid.moved(chip, self._place), axes)
        return {"part": members.index(self._grid.moved(chip, self._place)), "parts": len(members)}

    def _deallocate(self, instruction: Instruction) -> None:
        value = instruction.operands["input"]
        assert isinstance(value, int)

        def emit(chip: int) -> None:
            for number in self._values.release(value, chip):
                freed = Instruction(DEALLOCATE, {"input": number}, (), instruction.attributes, instruction.location)
                self._append(freed, self._grid.representative(self._flow.values[value], chip))

        self._segment.append(_Item(self._flow.values[value], emit, after_last=True))

    def _exchange(self, instruction: Instruction) -> None:
        """Adds an exchange: one instruction for each group of chips, with the shards of the group as operands."""
        (value,) = instruction.operand_values()
        (result,) = instruction.results
        axes = group_axes(instruction, self._grid.mesh)
        others = self._axes(instruction) - frozenset(axes)
        joins = instruction.op in JOINING
        own = self._flow.values[value]

        def members(grid: Grid) -> list[int]:
            return [member for chip in grid.representatives(others) for member in grid.members(chip, axes)]

        received = self._receive(instruction, value, members)
        for chip in self._grid.representatives(others):
            group = self._grid.members(chip, axes)
            shards = tuple(
                self._values.shard(value, member)
                if self._grid.holds(own, member)
                else received[self._grid.key(own, member)]
                for member in group
            )
            if joins:
                copy = replace(instruction, operands={"input": shards}, results=(self._values.define(result, chip),))
            else:
                copy = self._splitting(instruction, group, shards)
            self._append(copy, chip)
        self._drop(received.values())

    def _splitting(self, instruction: Instruction, group: Sequence[int], shards: tuple[int, ...]) -> Instruction:
        """Returns an exchange that returns the tensors of those chips of a group that are here."""
        (result,) = instruction.results
        axes = self._flow.values[result]
        places = [place for place, member in enumerate(group) if self._grid.holds(axes, member)]
        results = tuple(self._values.define(result, group[place]) for place in places)
        some = {"places": places} if len(places) < len(group) else {}
        attributes = {**instruction.attributes, **some}
        return replace(instruction, operands={"input": shards}, results=results, attributes=attributes)

    def _send(self, instruction: Instruction) -> None:
        """Adds a ``point_to_point``. Only the receiver's tensor changes; every other chip keeps what it has."""
        mesh, (result,) = self._grid.mesh, instruction.results
        sender, receiver = (mesh.position(instruction.attributes[f"{end}_coord"]) for end in ("sender", "receiver"))
        value = instruction.operands["input"]
        previous = instruction.operands.get("optional_output_tensor", value)
        assert isinstance(value, int)
        assert isinstance(previous, int)
        received = self._receive(instruction, value, lambda grid: [sender] if receiver in grid.own else [])
        for chip in self._grid.representatives(self._flow.values[result]):
            if chip != receiver:
                self._keep(previous, result, chip)
                continue
            shards = [*received.values()] or [self._values.shard(value, sender)]
            results = (self._values.define(result, chip),)
            self._append(replace(instruction, operands={"input": shards[0]}, results=results), chip)
        self._drop(received.values())

    def _receive(
        self, instruction: Instruction, value: int, needed: Callable[[Grid], list[int]]
    ) -> dict[tuple[int, ...], int]:
        """Adds the transfer between workers that an exchange waits for.

        Args:
            instruction: the exchange.
            value: its operand.
            needed: returns the chips whose shards the worker of a grid needs.

        Returns:
            The received shards by their coordinates along the axes along which the value differs.
        """
        axes = self._flow.values[value]
        plan = transfer(self._grid, axes, needed)
        if not plan:
            return {}
        shards = tuple(self._values.shard(value, chip) for chip in plan.sent)
        results = tuple(self._values.new(self._function.values[value]) for _ in plan.received)
        attributes = {"to": plan.to, "sources": plan.sources}
        moved = Instruction(TRANSFER, {"inputs": shards}, results, attributes, instruction.location)
        self._append(moved, self._grid.own[0])
        return dict(zip((self._grid.key(axes, chip) for chip in plan.received), results, strict=True))

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._append(Instruction(DEALLOCATE, {"input": number}, (), {}), self._grid.own[0])

    def _keep(self, value: int, result: int, chip: int) -> None:
        """Makes a chip's shard of a value its shard of a result, in the layout that the result has."""
        shard = self._values.shard(value, chip)
        specs = self._function.values
        if specs[value] == specs[result]:
            self._values.name(result, chip, shard)
        else:
            moved = self._values.define(result, chip)
            self._append(Instruction("ttnn.to_memory_config", {"input": shard}, (moved,), {}), chip)

    # Instructions that run other functions

    def _load_cached(self, instruction: Instruction) -> None:
        """Adds the call of a const-eval function, which computes all shards."""
        operands = instruction.operand_values()
        callee = str(instruction.attributes["callee"])
        arguments = [self._flow.values[value] for value in operands]
        results = [self._flow.values[value] for value in instruction.results]
        attributes = instruction.attributes | {"callee": self._expander.function(callee, arguments, results)}
        if not self._early.issuperset(operands):
            self._flush()
        self._early.update(instruction.results)

        def emit(chip: int) -> None:
            self._call(instruction, arguments, results, attributes, {})

        self._segment.append(_Item(NO_AXES, emit))

    def _call(
        self,
        instruction: Instruction,
        operands: Sequence[Axes],
        results: Sequence[Axes],
        attributes: dict[str, Any],
        place: Mapping[int, int],
        index: int | None = None,
    ) -> None:
        """Adds an instruction that passes shards to other functions.

        Args:
            instruction: the instruction.
            operands: axes along which the functions take each operand of the list ``inputs`` to differ.
            results: axes along which they return each result.
            attributes: those of the new instruction.
            place: coordinates of the chips that run it, along axes where they run it on their own.
            index: the expanded index of a case.
        """
        inputs = instruction.operands["inputs"]
        assert not isinstance(inputs, int)
        new: dict[str, Operand] = {} if index is None else {"index": index}
        callee = self._grid.narrowed(place)

        def chips(axes: Axes) -> list[int]:
            return [self._grid.moved(chip, place) for chip in callee.representatives(axes)]

        new["inputs"] = tuple(
            self._values.shard(value, chip)
            for value, axes in zip(inputs, operands, strict=True)
            for chip in chips(axes)
        )
        numbers = tuple(
            self._values.define(value, chip)
            for value, axes in zip(instruction.results, results, strict=True)
            for chip in chips(axes)
        )
        copy = replace(instruction, operands=new, results=numbers, attributes=attributes)
        self._append(copy, chips(NO_AXES)[0])

    def _trace(self, instruction: Instruction) -> None:
        """Adds the call of a trace. Of the functions that describe the capture, only the names are kept."""
        expander = self._expander
        operands = [self._flow.values[value] for value in instruction.operand_values()]
        function, axes, slots = self._variation.traced(instruction, operands)
        attributes = dict(instruction.attributes)
        main = expander.function(function.name, axes, ())
        for name in ("allocate_slots_callee", "capture_callee", "execute_callee"):
            described = expander.functions[str(attributes[name])]
            calls = (Instruction(CALL, {}, (), {"callee": main}),) if name == "capture_callee" else ()
            expander.add(Function(described.name, described.kind, (), (), (), calls), described.name, [0] * len(calls))
        resident = int(attributes.get("device_resident_input_count", 0))
        attributes["device_resident_input_count"] = sum(
            len(self._grid.representatives(value)) for value in operands[:resident]
        )
        self._call(instruction, operands, axes[len(axes) - slots :], attributes, {})

    def _control(self, instruction: Instruction) -> None:
        """Adds a loop or case: one for all chips, or one for each group of chips whose condition differs."""
        operands = [self._flow.values[value] for value in instruction.operand_values()]
        if instruction.op == WHILE_LOOP:
            flow = self._variation.loop(instruction, operands, self._own)
        else:
            flow = self._variation.case(instruction, operands, self._own)
        for chip in self._grid.representatives(flow.own):
            place = self._grid.along(chip, flow.own)
            if instruction.op == WHILE_LOOP:
                self._loop(instruction, flow, place)
            else:
                self._case(instruction, flow, place, chip)

    def _subprogram(
        self, name: str, operands: Sequence[Axes], results: Sequence[Axes], flow: ControlFlow, place: Mapping[int, int]
    ) -> str:
        return self._expander.function(name, operands, results, self._own | flow.own, {**self._place, **place})

    def _loop(self, instruction: Instruction, flow: ControlFlow, place: Mapping[int, int]) -> None:
        loop = loop_of(instruction)
        operands = [axes - flow.own for axes in flow.operands]
        states = operands[: loop.states]
        grid = self._grid.narrowed(place)
        counts = (len(grid.representatives(axes)) for axes in operands)
        starts = [0, *itertools.accumulate(counts)]
        attributes = dict(instruction.attributes)
        attributes["body_program"] = self._subprogram(loop.body, operands, states, flow, place)
        if loop.condition is not None:
            attributes["condition_program"] = self._subprogram(loop.condition, operands, [NO_AXES], flow, place)
        attributes["state_count"] = starts[loop.states]
        attributes["output_indices"] = tuple(
            index for state in loop.outputs for index in range(starts[state], starts[state + 1])
        )
        for name, (number, operand) in zip(("initial", "limit", "step"), loop.bounds, strict=False):
            attributes[name] = (number, None if operand is None else starts[operand])
        self._call(instruction, operands, [states[index] for index in loop.outputs], attributes, place)

    def _case(self, instruction: Instruction, flow: ControlFlow, place: Mapping[int, int], chip: int) -> None:
        operands = [axes - flow.own for axes in flow.operands]
        results = [axes - flow.own for axes in flow.results]
        names = {name: self._subprogram(name, operands, results, flow, place) for name in subprograms_of(instruction)}
        branches = tuple(names[name] for name in instruction.attributes["branch_programs"])
        attributes = instruction.attributes | {"branch_programs": branches}
        index = instruction.operands["index"]
        assert isinstance(index, int)
        self._call(instruction, operands, results, attributes, place, self._values.shard(index, chip))
