"""Writes the C++ of one function of a program, or of a part of it: its units, their calls, and where tensors lie.

Values between units lie in one arena, in which a value takes the memory of others that are not read any more. Ops that
only move elements cost nothing where their elements can be read in place. Units with the same text, such as those of
equal layers, are written once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fused.cpp import TYPES, Operand, Place, Shape, View, contiguous, copied, loops
from tt_xla.runtime.emulator.fused.ops import UNITS, VIEWS, emit_product, is_view
from tt_xla.runtime.emulator.fused.row_writer import Output, RowWriter
from tt_xla.runtime.emulator.fused.rows import MOVES, domain_of, emit

_ALIGNMENT = 64
"""Bytes."""

_WORTH_A_COPY = 1 << 12
"""Elements from which a tensor whose rows lie across memory is copied before it is read row by row."""

PROLOGUE = """\
#include "emulator.h"
#include "moves.h"
extern "C" {
void (*multiply)(const float*, const float*, float*, long, long, long);
void (*multiply_bfloat16)(const float*, const uint16_t*, float*, long, long, long);
void (*sums)(const float*, float*, long, long, long);
void (*depthwise)(const float*, const float*, float*, const int64_t*);
}
"""
"""C++ that the source of every library begins with: the header, and functions of the library that all programs
share."""

POINTERS = {
    "depthwise": "tt_depthwise",
    "multiply": "tt_multiply",
    "multiply_bfloat16": "tt_multiply_bfloat16",
    "sums": "tt_sums",
}
"""Function pointers of a library, and the shared functions that they are to point to."""


def is_written(context: Context | None, attributes: Mapping[str, object]) -> bool:
    """Whether an op is written in C++."""
    if context is None:
        return False
    if any(CONTAINERS[spec.layout.dtype] not in TYPES or spec.layout.dtype.is_block_float for spec in context.specs):
        return False
    if is_view(context) or domain_of(context, attributes) is not None:
        return True
    unit = UNITS.get(context.op)
    return unit is not None and unit.takes(context, attributes)


def row_domain(step: Step) -> Shape | None:
    """Returns the shape that a step of C++ goes over row by row; None for views and for units of their own."""
    assert step.context is not None
    if is_view(step.context) and step.context.op not in MOVES:
        return None
    return domain_of(step.context, step.instruction.attributes)


class Units:
    """The functions that a library has for single ops or runs of them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def call(self, parameters: Sequence[str], body: Sequence[str], arguments: Sequence[str]) -> str:
        """Returns the C++ of a call of a unit, which is made if there is none with this text."""
        text = "\n".join([f"({', '.join(parameters)}) {{", *body, "return true;\n}\n"])
        number = self._numbers.setdefault(text, len(self._numbers))
        return f"if (!u{number}({', '.join(arguments)})) return 1;"

    @property
    def text(self) -> str:
        """C++ of all units."""
        return "".join(
            f"static __attribute__((noinline)) bool u{number}{text}" for text, number in self._numbers.items()
        )


@dataclass
class Arena:
    """Memory whose parts are taken and given back while C++ is written."""

    size: int = 0
    """Bytes that are needed in all."""
    _free: list[tuple[int, int]] = field(default_factory=lambda: [])
    """Offsets and sizes of parts that were given back, in order."""

    def take(self, size: int) -> tuple[int, int]:
        """Returns the offset and size of a part of at least so many bytes."""
        size = -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
        for position, (offset, free) in enumerate(self._free):
            if free >= size:
                self._free[position : position + 1] = [(offset + size, free - size)] if free > size else []
                return offset, size
        offset = self.size
        if self._free and sum(self._free[-1]) == self.size:
            offset = self._free.pop()[0]
        self.size = offset + size
        return offset, size

    def give(self, part: tuple[int, int]) -> None:
        """Gives a part back."""
        self._free = sorted([*self._free, part])
        merged: list[tuple[int, int]] = []
        for offset, size in self._free:
            if merged and sum(merged[-1]) == offset:
                merged[-1] = merged[-1][0], merged[-1][1] + size
            else:
                merged.append((offset, size))
        self._free = merged


class FunctionWriter:
    """Writes the C++ of a run of steps.

    Args:
        steps: the steps, in order; all are written in C++.
        inputs: values that are passed in, and how their tensors lie.
        outputs: values that leave, and how their tensors lie.
        panels: positions of the products whose second operand comes as weights in panels.
        units: the units of the library.
        cut: significant bits that are read of an output, by value.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        inputs: Sequence[tuple[int, Operand]],
        outputs: Sequence[tuple[int, Operand]],
        panels: Collection[int],
        units: Units,
        cut: Mapping[int, int],
    ) -> None:
        self._steps = steps
        self._to_cut = cut
        self.cut: dict[int, int] = {}
        """Outputs of which only the bits that are read leave, once :meth:`lines` was called."""
        self._panels, self._units = panels, units
        self._arena = Arena()
        self._places: dict[int, Place] = {
            value: Place(f"((const {TYPES[operand.dtype]}*)a[{position}])", operand)
            for position, (value, operand) in enumerate(inputs)
        }
        self._outputs = {
            value: Place(f"(({TYPES[operand.dtype]}*)o[{position}])", operand)
            for position, (value, operand) in enumerate(outputs)
        }
        self._parts: dict[int, tuple[int, int]] = {}
        """Parts of the arena by the value that was first put there."""
        self._holder: dict[int, int] = {}
        """For each value in the arena, the value that was first put there."""
        self._lines: list[str] = []
        self._targets = self._views_of_outputs()

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena, once :meth:`lines` was called."""
        return self._arena.size

    def lines(self) -> list[str]:
        """Returns the body of the function of pointers to inputs ``a``, to outputs ``o`` and to the arena ``arena``. It
        returns 0, or 1 where an index is outside of its tensor."""
        groups = [[*group] for _, group in itertools.groupby(enumerate(self._steps), self._group_key)]
        last = self._last_groups([[step for _, step in group] for group in groups])
        for number, group in enumerate(groups):
            steps = [step for _, step in group]
            domain = row_domain(steps[0])
            if domain is None:
                for position, step in group:
                    self._one_op(position, step)
            else:
                self._row_ops(domain, steps, last, number)
            for value in [value for value, end in last.items() if end == number]:
                del last[value]
                self._release(value, last)
        for value, target in self._outputs.items():
            place = self._places[value]
            if (place.pointer, place.operand) != (target.pointer, target.operand):
                self._copy(place, target)
        return [*self._lines, "return 0;"]

    def _group_key(self, numbered: tuple[int, Step]) -> object:
        position, step = numbered
        domain = row_domain(step)
        return ("op", position) if domain is None else domain

    def _last_groups(self, groups: Sequence[Sequence[Step]]) -> dict[int, int]:
        """Returns the number of the last group that reads each value; outputs are read at the end."""
        last: dict[int, int] = {}
        for number, group in enumerate(groups):
            for step in group:
                last.update(dict.fromkeys((*step.instruction.results, *step.inputs), number))
        return last | dict.fromkeys(self._outputs, len(groups))

    def _release(self, value: int, still_read: Mapping[int, int]) -> None:
        """Gives the memory of a value back, unless a view of it is still read."""
        holder = self._holder.get(value)
        if holder is None or holder not in self._parts:
            return
        if not any(self._holder.get(other) == holder for other in still_read):
            self._arena.give(self._parts.pop(holder))

    def _views_of_outputs(self) -> dict[int, Place]:
        """Returns where values go whose elements, in order, are those of a contiguous output."""
        targets = dict(self._outputs)
        for step in reversed(self._steps):
            results = step.instruction.results
            context = step.context
            if context is None or len(results) != 1 or results[0] not in targets or not is_view(context):
                continue
            (source,), target = step.inputs, targets[results[0]]
            in_order = VIEWS[context.op](context, step.instruction.attributes)
            if context.op not in MOVES or len(in_order) > 1 or source in targets or source in self._places:
                continue
            shape = context.specs[0].shape
            if target.is_contiguous:
                targets[source] = Place(target.pointer, Operand(shape, contiguous(shape), target.operand.dtype))
        return targets

    # Values

    def _new(self, value: int, shape: Shape, dtype: torch.dtype) -> Place:
        """Returns a new place in the arena for a value."""
        place, self._parts[value] = self._taken(shape, dtype)
        self._holder[value] = value
        return place

    def _taken(self, shape: Shape, dtype: torch.dtype) -> tuple[Place, tuple[int, int]]:
        """Returns a new place in the arena, and its part, which the caller gives back."""
        part = self._arena.take(math.prod(shape) * dtype.itemsize)
        pointer = f"(({TYPES[dtype]}*)(arena + {part[0]}))"
        return Place(pointer, Operand(tuple(shape), contiguous(shape), dtype)), part

    def _dense(self, place: Place) -> tuple[Place, tuple[int, int]]:
        """Returns a copy of a tensor whose elements lie side by side, and its part, which the caller gives back."""
        dense, part = self._taken(place.operand.shape, place.operand.dtype)
        self._copy(place, dense)
        return dense, part

    def _result_place(self, value: int, context: Context) -> Place:
        """Returns where a new value goes: into an output, or into the arena."""
        target = self._targets.get(value)
        return target if target is not None else self._new(value, context.result.shape, context.container)

    # Groups

    def _one_op(self, position: int, step: Step) -> None:
        context, attributes = step.context, step.instruction.attributes
        assert context is not None
        results = step.instruction.results
        places = [self._places[value] for value in step.inputs]
        if is_view(context):
            self._places[results[0]] = self._moved(
                results[0], step.inputs[0], places[0], VIEWS[context.op](context, attributes)
            )
            return
        unit = UNITS[context.op]
        places, copies = self._side_by_side(context, places)
        target = self._result_place(results[0], context) if results else None
        packed = position in self._panels
        room = unit.room(context, attributes)
        part = self._arena.take(room * 4) if room else None
        parameters, named, arguments = _parameters(places)
        own_target = None
        if target is not None:
            parameters.append("void* const o")
            arguments.append(target.pointer)
            own_target = replace(target, pointer=f"(({target.c_type}*)o)")
        if part is not None:
            parameters.append("float* const room")
            arguments.append(f"(float*)(arena + {part[0]})")
        if packed:
            body = [*emit_product(context, attributes, named, own_target, packed=True)]
        else:
            body = [*unit.emit(context, attributes, named, own_target)]
        self._lines.append(self._units.call(parameters, body, arguments))
        for given in [*copies, *([part] if part else [])]:
            self._arena.give(given)
        if target is not None:
            self._places[results[0]] = target

    def _side_by_side(self, context: Context, places: Sequence[Place]) -> tuple[list[Place], list[tuple[int, int]]]:
        """Copies operands that a unit reads in order and whose elements do not lie so."""
        own, parts = [*places], list[tuple[int, int]]()
        for position in UNITS[context.op].dense:
            if not places[position].is_contiguous:
                own[position], part = self._dense(places[position])
                parts.append(part)
        return own, parts

    def _moved(self, value: int, source: int, place: Place, views: Sequence[View]) -> Place:
        """Applies views to a place, with copies where a view needs its elements side by side."""
        holder = self._holder.get(source)
        for view in views:
            viewed = place.viewed(view)
            if viewed is None:
                dense = self._new(value, place.operand.shape, place.operand.dtype)
                self._copy(place, dense)
                holder, viewed = value, dense.viewed(view)
            assert viewed is not None
            place = viewed
        if holder is not None:
            self._holder[value] = holder
        return place

    def _copy(self, source: Place, target: Place) -> None:
        """Copies all elements."""
        parameters, (own,), arguments = _parameters([source])
        mine = replace(target, pointer=f"(({target.c_type}*)o)")
        body = [*copied(own, mine)]
        self._lines.append(self._units.call([*parameters, "void* const o"], body, [*arguments, target.pointer]))

    def _row_ops(self, domain: Shape, steps: Sequence[Step], last: Mapping[int, int], number: int) -> None:
        computed = [value for step in steps for value in step.instruction.results]
        inputs = [*dict.fromkeys(value for step in steps for value in step.inputs if value not in computed)]
        numbers = {value: position for position, value in enumerate([*inputs, *dict.fromkeys(computed)])}
        stored = [value for value in computed if last.get(value, -1) > number]
        places = [self._readable(value) for value in inputs]
        rows = RowWriter(domain)
        for value, (place, _) in zip(inputs, places, strict=True):
            rows.take(numbers[value], place.operand)
        for step in steps:
            assert step.context is not None
            (result,) = step.instruction.results
            named = [numbers[value] for value in step.inputs]
            emit(rows, step.context, step.instruction.attributes, named, numbers[result])
        targets: dict[int, Place] = {}
        contexts = {step.instruction.results[0]: step.context for step in steps if step.context is not None}
        for value in stored:
            context = contexts[value]
            if rows.makes(numbers[value]):
                targets[value] = self._places[value] = self._result_place(value, context)
            else:  # an input, or the value of one, under another name
                source = next(each for each in inputs if rows.is_named(numbers[value], numbers[each]))
                views = VIEWS["ttnn.reshape"](context, {})
                self._places[value] = self._moved(value, source, self._places[source], views)
        for value, target in targets.items():
            if math.prod(target.operand.shape) > math.prod(domain) and not rows.is_of_row(numbers[value]):
                self._fill_with_zeros(target)  # rows that fill up a tile
        if targets:
            self._lines.append(self._row_call(rows, domain, [place for place, _ in places], numbers, targets))
        for _, part in places:
            if part is not None:
                self._arena.give(part)

    def _row_call(
        self,
        rows: RowWriter,
        domain: Shape,
        places: Sequence[Place],
        numbers: Mapping[int, int],
        targets: Mapping[int, Place],
    ) -> str:
        parameters, named, arguments = _parameters(places)
        outputs: list[Output] = []
        for position, (value, target) in enumerate(targets.items()):
            parameters.append(f"void* const o{position}")
            arguments.append(target.pointer)
            mask = None
            if value in self._to_cut and target is self._outputs[value] and not rows.is_of_row(numbers[value]):
                self.cut[value] = self._to_cut[value]
                mask = matrix_unit.mask_of(self.cut[value])
            outputs.append(Output(numbers[value], target.operand, f"o{position}", mask))
        body = rows.lines([place.pointer for place in named], outputs)
        return self._units.call(parameters, body, arguments)

    def _fill_with_zeros(self, target: Place) -> None:
        names = [f"i{dim}" for dim in range(len(target.operand.shape))]
        mine = replace(target, pointer=f"(({target.c_type}*)o)")
        body = [f"{loops(names, target.operand.shape)} {mine.at(*names)} = 0;"]
        self._lines.append(self._units.call(["void* const o"], body, [target.pointer]))

    def _readable(self, value: int) -> tuple[Place, tuple[int, int] | None]:
        """Returns a place whose rows lie side by side, and the part of the arena that a copy took."""
        place = self._places[value]
        shape, stride = place.operand.shape, place.operand.stride
        across = bool(shape) and shape[-1] > 1 and stride[-1] > 1 and math.prod(shape) >= _WORTH_A_COPY
        if not across or any(not step for size, step in zip(shape, stride, strict=True) if size > 1):
            return place, None
        return self._dense(place)


def _parameters(places: Sequence[Place]) -> tuple[list[str], list[Place], list[str]]:
    """Returns parameters of a unit, the places of its operands as it sees them, and the arguments of its call."""
    parameters = [f"const void* const a{position}" for position in range(len(places))]
    named = [replace(place, pointer=f"(({place.c_type}*)a{position})") for position, place in enumerate(places)]
    return parameters, named, [place.pointer for place in places]


__all__ = ["POINTERS", "PROLOGUE", "Arena", "FunctionWriter", "Units", "is_written", "row_domain"]
