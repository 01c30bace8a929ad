"""C++ of a run of ops on small tensors of any shapes: one function, with the tensors between ops in scratch memory.

Ops over one shape are loops as in :mod:`.rows`, products are those of :mod:`.products`. Ops that only move elements
cost nothing where their elements can be read in place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import torch

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fused.cpp import TYPES, Operand, Place, Shape, View, contiguous, copy
from tt_xla.runtime.emulator.fused.families import family_of
from tt_xla.runtime.emulator.fused.rows import RowWriter, calls_of, domain_of, has_loop

_ALIGNMENT = 64
"""Bytes."""

ELEMENTS = 1 << 14
"""Elements of a small tensor, at most."""

_CONCAT_CALLS = 3
"""Number of torch calls that the kernel makes, about."""


def _reshaped(context: Context, attributes: Mapping[str, Any]) -> list[View]:
    return [lambda tensor: tensor.view(context.result.shape)]


def _permuted(context: Context, attributes: Mapping[str, Any]) -> list[View]:
    return [lambda tensor: tensor.permute(tuple(attributes["permutation"]))]


def _transposed(context: Context, attributes: Mapping[str, Any]) -> list[View]:
    return [lambda tensor: tensor.transpose(attributes["dim0"], attributes["dim1"])]


def _sliced(context: Context, attributes: Mapping[str, Any]) -> list[View]:
    spans = zip(attributes["begins"], attributes["ends"], attributes["step"], strict=True)
    places = tuple(slice(*span) for span in spans)
    return [lambda tensor: tensor[places]]


def _heads_joined(context: Context, attributes: Mapping[str, Any]) -> list[View]:
    return [lambda tensor: tensor.permute(0, 2, 1, 3), *_reshaped(context, attributes)]


def _as_it_is(context: Context, attributes: Mapping[str, Any]) -> list[View]:
    return []


_VIEWS: dict[str, Callable[[Context, Mapping[str, Any]], list[View]]] = {
    "ttnn.reshape": _reshaped,
    "ttnn.permute": _permuted,
    "ttnn.transpose": _transposed,
    "ttnn.slice_static": _sliced,
    **dict.fromkeys(("ttnn.concatenate_heads", "ttnn.nlp_concat_heads"), _heads_joined),
    **dict.fromkeys(("ttnn.to_layout", "ttnn.to_memory_config", "ttnn.typecast"), _as_it_is),
}
"""Views that a move consists of, one after another; a tensor that has no such view is copied before it."""


def is_view(step: Step) -> bool:
    """Whether an op only moves elements, without changing their type."""
    context = step.context
    if context is None or context.op not in _VIEWS or len(context.operands) != 1:
        return False
    (spec,) = context.operands.values()
    return isinstance(spec, TensorSpec) and spec.layout.dtype is context.result.layout.dtype


def takes(step: Step, form: str | None) -> bool:
    """Whether an op may be in a block; ``form`` is that of an op that has several, if one was found."""
    context = step.context
    if context is None or len(context.results) != 1:
        return False
    for spec in context.specs:
        if CONTAINERS[spec.layout.dtype] not in TYPES or not 0 < math.prod(spec.shape) <= ELEMENTS:
            return False
        if spec.layout.dtype.is_block_float:
            return False
    return form is not None or is_view(step) or _is_concat(context) or _domain(step) is not None


def has_cpp(step: Step) -> bool:
    """Whether C++ is written for an op of this name and these types, if the machine's libraries allow it."""
    context = step.context
    if context is None:
        return False
    attributes = step.instruction.attributes
    return is_view(step) or _is_concat(context) or has_loop(context.op) or family_of(context, attributes) is not None


def _is_concat(context: Context) -> bool:
    return context.op == "ttnn.concat" and len({spec.layout.dtype for spec in context.specs}) == 1


def _domain(step: Step) -> Shape | None:
    """Returns the shape that an op goes over row by row; None for ops that do not, or that leave elements out."""
    assert step.context is not None
    domain = domain_of(step.context, step.instruction.attributes, small=True)
    return domain if domain is not None and math.prod(domain) == math.prod(step.context.result.shape) else None


def calls(step: Step) -> int:
    """Returns the number of torch calls that an op of a block takes on its own, about."""
    assert step.context is not None
    if is_view(step):
        return 0
    if _is_concat(step.context):
        return _CONCAT_CALLS
    family = family_of(step.context, step.instruction.attributes)
    if family is not None:
        return family.calls
    return calls_of(step.context, step.instruction.attributes)


class BlockWriter:
    """Writes the C++ of a run of steps.

    Args:
        steps: the steps, in order.
        forms: forms of ops that have several, by the value that each makes.
        inputs: values that are passed in, ``a0``, ``a1`` and so on in C++, and how their tensors lie.
        outputs: values that leave, ``o0``, ``o1`` and so on in C++, and how their tensors lie.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        forms: Mapping[int, str],
        inputs: Sequence[tuple[int, Operand]],
        outputs: Sequence[tuple[int, Operand]],
    ) -> None:
        self._steps = steps
        self._forms = forms
        self._places = {
            value: Place(f"((const {TYPES[operand.dtype]}*)a{position})", operand)
            for position, (value, operand) in enumerate(inputs)
        }
        self._outputs = {
            value: Place(f"(({TYPES[operand.dtype]}*)o{position})", operand)
            for position, (value, operand) in enumerate(outputs)
        }
        self._lines: list[str] = []
        self._tensor_bytes = 0
        """Bytes of scratch memory that tensors take."""
        self._room = 0
        """Floats of scratch memory after the tensors, which ops use one after another."""

    def lines(self) -> list[str]:
        """Returns the function's body, in which ``scratch`` points to :attr:`scratch_bytes` bytes."""
        start = 0
        for domain, group in itertools.groupby(self._steps, self._row_domain):
            steps = list(group)
            start += len(steps)
            if domain is None:
                for step in steps:
                    self._lines += self._one_op(step)
            else:
                self._lines += self._row_ops(domain, steps, self._steps[start:])
        for value, target in self._outputs.items():
            if self._places[value] != target:
                names = [f"i{dim}" for dim in range(len(target.operand.shape))]
                self._lines.append(copy(self._places[value], target, names, names))
        return [f"float* const room = (float*)((char*)scratch + {self._tensor_bytes});", *self._lines]

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory that the function needs, once :meth:`lines` was called."""
        return self._tensor_bytes + self._room * torch.float32.itemsize

    def _row_domain(self, step: Step) -> Shape | None:
        """Returns the shape of an op that goes row by row; None for ops that are written on their own."""
        assert step.context is not None
        (result,) = step.instruction.results
        on_its_own = is_view(step) or result in self._forms or _is_concat(step.context)
        return None if on_its_own else _domain(step)

    def _row_ops(self, domain: Shape, steps: Sequence[Step], after: Sequence[Step]) -> list[str]:
        results = [value for step in steps for value in step.instruction.results]
        inputs = dict.fromkeys(value for step in steps for value in step.inputs if value not in results)
        later = {value for step in after for value in step.inputs} | self._outputs.keys()
        rows = RowWriter(domain)
        for value in inputs:
            rows.take(value, self._places[value].operand)
        for step in steps:
            assert step.context is not None
            (result,) = step.instruction.results
            rows.add(step.context, step.instruction.attributes, step.inputs, result)
            if result in later:
                self._places[result] = self._result_place(result, step.context)
        stored = [(value, self._places[value]) for value in results if value in later]
        pointers = [self._places[value].pointer for value in inputs]
        return rows.lines(pointers, [(value, place.operand, place.pointer) for value, place in stored])

    def _one_op(self, step: Step) -> Iterator[str]:
        context, attributes = step.context, step.instruction.attributes
        assert context is not None
        (result,) = step.instruction.results
        places = [self._places[value] for value in step.inputs]
        if is_view(step):
            self._places[result] = yield from self._moved(places[0], _VIEWS[context.op](context, attributes))
            return
        target = self._places[result] = self._result_place(result, context)
        if _is_concat(context):
            yield from _joined(context, attributes, places, target)
        else:
            family = family_of(context, attributes)
            assert family is not None
            self._room = max(self._room, family.room(context, attributes))
            yield from family.emit(context, attributes, places, target, self._forms[result])

    def _moved(self, place: Place, views: Sequence[View]) -> Generator[str, None, Place]:
        """Applies views to a place; yields the C++ of copies where a view needs its elements side by side."""
        for view in views:
            viewed = place.viewed(view)
            if viewed is None:
                dense = self._new(place.operand.shape, place.operand.dtype)
                names = [f"i{dim}" for dim in range(len(place.operand.shape))]
                yield copy(place, dense, names, names)
                viewed = dense.viewed(view)
            assert viewed is not None
            place = viewed
        return place

    def _result_place(self, value: int, context: Context) -> Place:
        """Returns where a new value goes: into its output, or into scratch memory."""
        return self._outputs.get(value) or self._new(context.result.shape, context.container)

    def _new(self, shape: Shape, dtype: torch.dtype) -> Place:
        operand = Operand(tuple(shape), contiguous(shape), dtype)
        pointer = f"(({TYPES[dtype]}*)((char*)scratch + {self._tensor_bytes}))"
        self._tensor_bytes += -(-math.prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        return Place(pointer, operand)


def _joined(context: Context, attributes: Mapping[str, Any], places: Sequence[Place], target: Place) -> Iterator[str]:
    """Writes a concat: a copy of each operand to its part of the result."""
    names = [f"i{dim}" for dim in range(len(context.result.shape))]
    dim = attributes["dim"] % len(names)
    start = 0
    for place in places:
        yield copy(place, target, names, [*names[:dim], f"{names[dim]} + {start}", *names[dim + 1 :]])
        start += place.operand.shape[dim]
