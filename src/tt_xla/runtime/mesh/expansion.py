"""Expands a Program with a mesh to one without, in which each value exists once for every distinct shard.

What chips hold alike is computed once: an instruction is repeated for each distinct shard of its operands. An exchange
between chips becomes one instruction for each group, whose operand ``input`` is the list of the group's shards. Between
exchanges the instructions of one chip stay together, so that they fuse as they do in a program for one chip.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from tt_xla.ir.mesh import Sharding
from tt_xla.ir.program import (
    CALL,
    CASE,
    DEALLOCATE,
    LOAD_CACHED,
    TRACE,
    WHILE_LOOP,
    Argument,
    Function,
    Instruction,
    Operand,
    Program,
    Result,
    loop_of,
    subprograms_of,
)
from tt_xla.runtime.mesh.stacking import STARTING, Stacked, elements, stacked
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
from tt_xla.spmd.variation import ControlFlow, Flow, Variation

ASSIGN = "ttnn.assign"


@dataclass(frozen=True)
class Expansion:
    """A Program without a mesh that computes what a mesh of chips does, and how its tensors correspond."""

    program: Program
    reads: tuple[tuple[int, int], ...]
    """For each argument of ``program``: position of the argument of the Program with the mesh, and the first chip that
    holds this shard."""
    returns: tuple[tuple[int, ...], ...]
    """For each result of the Program with the mesh: index of the result of ``program`` that each chip holds."""
    holders: tuple[tuple[int, int], ...]
    """For each result of ``program``: index of the result of the Program with the mesh, and the first chip that holds
    this tensor."""
    chips: Mapping[str, tuple[int, ...]]
    """For each function of ``program``: the first chip that runs each of its instructions."""
    origins: Mapping[str, str]
    """Name of the function of the Program with the mesh that each function of ``program`` was expanded from."""


def expand(program: Program, *, stacks: bool = True) -> Expansion:
    """Expands a Program with a mesh.

    Args:
        program: the Program.
        stacks: whether one instruction may compute the shards of several chips, stacked in one tensor.

    Raises:
        ExecutionError: chips would wait for each other in a loop or case that some of them leave earlier.
    """
    return _Expander(program, stacks=stacks).expansion()


class _Expander:
    """Expands the functions of one Program. A function that is called for other shardings is expanded for each."""

    def __init__(self, program: Program, *, stacks: bool) -> None:
        assert program.mesh is not None
        self.program = program
        self.stacks = stacks
        self.grid = Grid(program.mesh)
        self.variation = Variation(program, self.grid)
        self.functions = {function.name: function for function in program.functions}
        self._names: dict[object, str] = {}
        self._expanded: dict[str, Function] = {}
        self._chips: dict[str, tuple[int, ...]] = {}
        self._origins: dict[str, str] = {}

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
            declared = axes if result.sharding is None else self._sharded(result.sharding)
            sources = (grid.representative(declared, position) for position in range(grid.mesh.size))
            returns.append(tuple(indices[grid.representative(axes, chip)] for chip in sources))
        expanded = replace(
            program,
            arguments=tuple(self._argument(program.arguments[position], chip) for position, chip in reads),
            results=tuple(results),
            functions=tuple(self._expanded.values()),
            mesh=None,
        )
        return Expansion(expanded, tuple(reads), tuple(returns), tuple(holders), self._chips, self._origins)

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
            body = _Body(self, self.functions[name], flow, own, place or {})
            self.add(body.function(new_name, arguments, results), name, body.chips)
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


@dataclass(frozen=True)
class _Item:
    """An instruction that is repeated for each distinct shard among the chips."""

    axes: Axes
    emit: Callable[[int], None]
    """Adds the copy of one chip."""
    after_last: bool = False
    """Whether a copy waits for the last chip that shares its shard, as a deallocation does."""


class _Body:
    """The expansion of one function."""

    def __init__(
        self, expander: _Expander, function: Function, flow: Flow, own: Axes, place: Mapping[int, int]
    ) -> None:
        self._expander, self._grid, self._variation = expander, expander.grid, expander.variation
        self._function, self._flow, self._own, self._place = function, flow, own, place
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
            self._axes(instruction) - axes, lambda chip: self._repeat_stacked(instruction, outcome, axes, chip)
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

    def _repeat_stacked(self, instruction: Instruction, outcome: Stacked, axes: Axes, chip: int) -> None:
        """Adds an instruction on the stacked shards of the chips along ``axes``."""

        def numbers(name: str, operand: Operand) -> Operand:
            dim = outcome.operands.get(name)
            values = (operand,) if isinstance(operand, int) else operand
            if dim is None:
                expanded = tuple(self._values.shard(value, chip) for value in values)
            else:
                expanded = tuple(self._values.stack(value, axes, chip, dim) for value in values)
            return expanded[0] if isinstance(operand, int) else expanded

        operands = {name: numbers(name, operand) for name, operand in instruction.operands.items()}
        results = tuple(
            self._values.define_stack(value, axes, chip, dim)
            for value, dim in zip(instruction.results, outcome.results, strict=True)
        )
        attributes = {**instruction.attributes, **outcome.attributes}
        copy = replace(instruction, operands=operands, results=results, attributes=attributes)
        self._append(copy, chip)

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
        joins = instruction.op in JOINING
        for chip in self._grid.representatives(self._axes(instruction) - frozenset(axes)):
            members = self._grid.members(chip, axes)
            shards = tuple(self._values.shard(value, member) for member in members)
            results = tuple(self._values.define(result, member) for member in (members[:1] if joins else members))
            self._append(replace(instruction, operands={"input": shards}, results=results), chip)

    def _send(self, instruction: Instruction) -> None:
        """Adds a ``point_to_point``. Only the receiver's tensor changes; every other chip keeps what it has."""
        mesh, (result,) = self._grid.mesh, instruction.results
        sender, receiver = (mesh.position(instruction.attributes[f"{end}_coord"]) for end in ("sender", "receiver"))
        value = instruction.operands["input"]
        previous = instruction.operands.get("optional_output_tensor", value)
        assert isinstance(value, int)
        assert isinstance(previous, int)
        for chip in self._grid.representatives(self._flow.values[result]):
            if chip != receiver:
                self._keep(previous, result, chip)
                continue
            received: dict[str, Operand] = {"input": self._values.shard(value, sender)}
            results = (self._values.define(result, chip),)
            self._append(replace(instruction, operands=received, results=results), chip)

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
        shards = [self._values.shards(value, axes, place) for value, axes in zip(inputs, operands, strict=True)]
        new: dict[str, Operand] = {} if index is None else {"index": index}
        new["inputs"] = tuple(number for group in shards for number in group)
        numbers = tuple(
            self._values.define(value, self._grid.moved(chip, place))
            for value, axes in zip(instruction.results, results, strict=True)
            for chip in self._grid.representatives(axes)
        )
        copy = replace(instruction, operands=new, results=numbers, attributes=attributes)
        self._append(copy, self._grid.moved(0, place))

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
                self._case(instruction, flow, place)

    def _subprogram(
        self, name: str, operands: Sequence[Axes], results: Sequence[Axes], flow: ControlFlow, place: Mapping[int, int]
    ) -> str:
        return self._expander.function(name, operands, results, self._own | flow.own, {**self._place, **place})

    def _loop(self, instruction: Instruction, flow: ControlFlow, place: Mapping[int, int]) -> None:
        loop = loop_of(instruction)
        operands = [axes - flow.own for axes in flow.operands]
        states = operands[: loop.states]
        counts = (len(self._grid.representatives(axes)) for axes in operands)
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

    def _case(self, instruction: Instruction, flow: ControlFlow, place: Mapping[int, int]) -> None:
        operands = [axes - flow.own for axes in flow.operands]
        results = [axes - flow.own for axes in flow.results]
        names = {name: self._subprogram(name, operands, results, flow, place) for name in subprograms_of(instruction)}
        branches = tuple(names[name] for name in instruction.attributes["branch_programs"])
        attributes = instruction.attributes | {"branch_programs": branches}
        index = instruction.operands["index"]
        assert isinstance(index, int)
        number = self._values.shard(index, self._grid.moved(0, place))
        self._call(instruction, operands, results, attributes, place, number)
