"""C++ of a run of ops on small tensors, whatever their shapes: one function, with the tensors between them in scratch.

Chains of one shape are loops as in :mod:`rows`; products and sums are :mod:`parts`; moves cost nothing but where their
elements cannot be seen in place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.chains.parts import PARTS, Place, copied
from tt_xla.runtime.emulator.chains.prelude import TYPES
from tt_xla.runtime.emulator.chains.rows import Chain, Operand, Shape, calls_of, contiguous, domain_of
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.registry import Context
from tt_xla.runtime.emulator.small import ELEMENTS

View = Callable[[torch.Tensor], torch.Tensor]

_ALIGNMENT = 64
_WIDE = 8


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
"""What moves do, one view after another; a tensor that has no such view is copied before it."""


def is_view(step: Step) -> bool:
    """Whether an op only moves elements, of one type."""
    context = step.context
    if context is None or context.op not in _VIEWS or len(context.operands) != 1:
        return False
    (spec,) = context.operands.values()
    return isinstance(spec, TensorSpec) and spec.layout.dtype is context.result.layout.dtype


def takes(step: Step) -> bool:
    """Whether an op may be in a block."""
    context, attributes = step.context, step.instruction.attributes
    if context is None or len(context.results) != 1:
        return False
    specs = [spec for given in context.operands.values() for spec in (given if isinstance(given, tuple) else (given,))]
    for spec in (*specs, context.result):
        if CONTAINERS[spec.layout.dtype] not in TYPES or not 0 < math.prod(spec.shape) <= ELEMENTS:
            return False
        if spec.layout.dtype.is_block_float:
            return False
    if is_view(step):
        return True
    if context.op in PARTS:
        return PARTS[context.op].takes(context, attributes)
    return _domain(step) is not None


def _domain(step: Step) -> Shape | None:
    """Of an op that is in a chain, all of the result."""
    assert step.context is not None
    domain = domain_of(step.context, step.instruction.attributes)
    return domain if domain is not None and math.prod(domain) == math.prod(step.context.result.shape) else None


def calls(step: Step) -> int:
    """How many calls of torch an op of a block takes on its own, about."""
    assert step.context is not None
    if is_view(step):
        return 0
    part = PARTS.get(step.context.op)
    return part.calls if part else calls_of(step.context, step.instruction.attributes)


class Block:
    """The C++ function of a run of steps, while it is put together.

    Args:
        inputs: values that come from outside, ``a0``, ``a1`` and so on in C++.
        outputs: those that leave, ``o0``, ``o1`` and so on.
    """

    def __init__(
        self, steps: Sequence[Step], inputs: Sequence[tuple[int, Operand]], outputs: Sequence[tuple[int, Operand]]
    ) -> None:
        self._steps = steps
        self._places = {
            value: Place(f"((const {TYPES[operand.dtype]}*)a{at})", operand)
            for at, (value, operand) in enumerate(inputs)
        }
        self._outputs = {
            value: Place(f"(({TYPES[operand.dtype]}*)o{at})", operand) for at, (value, operand) in enumerate(outputs)
        }
        self._lines: list[str] = []
        self._bytes = 0
        """Of scratch that tensors take."""
        self._room = 0
        """Numbers of float64, which parts use one after another."""

    def text(self) -> list[str]:
        """Its lines, in which ``scratch`` points to :attr:`bytes` bytes."""
        at = 0
        for domain, group in itertools.groupby(self._steps, self._chain_of):
            steps = list(group)
            at += len(steps)
            if domain is None:
                for step in steps:
                    self._lines += self._alone(step)
            else:
                self._lines += self._chain(domain, steps, self._steps[at:])
        for value, to in self._outputs.items():
            if self._places[value] != to:
                names = [f"i{dim}" for dim in range(len(to.operand.shape))]
                self._lines.append(copied(self._places[value], to, names, names))
        return [f"double* const wide = (double*)scratch + {self._bytes // _WIDE};", *self._lines]

    @property
    def bytes(self) -> int:
        return self._bytes + self._room * _WIDE

    def _chain_of(self, step: Step) -> Shape | None:
        assert step.context is not None
        return None if is_view(step) or step.context.op in PARTS else _domain(step)

    def _chain(self, domain: Shape, steps: Sequence[Step], after: Sequence[Step]) -> list[str]:
        made = [value for step in steps for value in step.instruction.results]
        given = dict.fromkeys(value for step in steps for value in step.inputs if value not in made)
        later = {value for step in after for value in step.inputs} | self._outputs.keys()
        chain = Chain(domain)
        for value in given:
            chain.take(value, self._places[value].operand)
        for step in steps:
            assert step.context is not None
            (result,) = step.instruction.results
            chain.add(step.context, step.instruction.attributes, step.inputs, result)
            if result in later:
                self._places[result] = self._made(result, step.context)
        wanted = [(value, self._places[value]) for value in made if value in later]
        pointers = [self._places[value].pointer for value in given]
        return chain.lines(pointers, [(value, place.operand, place.pointer) for value, place in wanted])

    def _alone(self, step: Step) -> Iterator[str]:
        context, attributes = step.context, step.instruction.attributes
        assert context is not None
        (result,) = step.instruction.results
        places = [self._places[value] for value in step.inputs]
        if is_view(step):
            (place,) = places
            for view in _VIEWS[context.op](context, attributes):
                seen = _seen(place, view)
                if seen is None:
                    whole = self._new(place.operand.shape, place.operand.dtype)
                    names = [f"i{dim}" for dim in range(len(place.operand.shape))]
                    yield copied(place, whole, names, names)
                    seen = _seen(whole, view)
                assert seen is not None
                place = seen
            self._places[result] = place
            return
        part = PARTS[context.op]
        self._room = max(self._room, part.room(context, attributes))
        self._places[result] = self._made(result, context)
        yield "{"
        yield from part.emit(context, attributes, places, self._places[result])
        yield "}"

    def _made(self, value: int, context: Context) -> Place:
        """Where a new value goes: to where it leaves, or into scratch."""
        return self._outputs.get(value) or self._new(context.result.shape, CONTAINERS[context.dtype])

    def _new(self, shape: Shape, dtype: torch.dtype) -> Place:
        operand = Operand(tuple(shape), contiguous(shape), dtype)
        pointer = f"(({TYPES[dtype]}*)((char*)scratch + {self._bytes}))"
        self._bytes += -(-math.prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        return Place(pointer, operand)


def _seen(place: Place, view: View) -> Place | None:
    """A view of a place; None where there is none."""
    operand = place.operand
    try:
        seen = view(torch.empty_strided(operand.shape, operand.stride, dtype=operand.dtype, device="meta"))
    except RuntimeError:
        return None
    offset = seen.storage_offset()
    return Place(
        f"({place.pointer} + {offset})" if offset else place.pointer,
        Operand(tuple(seen.shape), seen.stride(), operand.dtype),
    )
