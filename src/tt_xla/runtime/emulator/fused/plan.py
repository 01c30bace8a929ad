"""Chooses the steps of a function that C++ computes, and links the function with a call for each run of them.

The steps that C++ can compute are brought together; what is left between them are calls of their own, such as large
products of a library and work of the host. A fused kernel is written for the strides that its inputs had in the first
run, and its results have the strides they had there. With other strides the steps are called one by one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tt_xla.ir.program import Instruction
from tt_xla.runtime.binding import Code, Linked, Step
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.fused.build import Build
from tt_xla.runtime.emulator.fused.calls import FUSED, fused_call
from tt_xla.runtime.emulator.fused.cpp import Operand, contiguous
from tt_xla.runtime.emulator.fused.function import FunctionWriter, Units, is_written, row_domain
from tt_xla.runtime.emulator.fused.ops import UNITS, is_view
from tt_xla.runtime.emulator.fused.rows import is_one_call
from tt_xla.runtime.weights import WeightedCall

_REACH = 64
"""Steps that another step may be moved over, to stand beside those it is fused with."""

_LEAST_CALLS = 2
"""Calls of torch from which one fused kernel is quicker."""

_OWN_ARENA = 1 << 16
"""Bytes of an arena, at most, that a fused kernel has for itself; larger ones are shared by all of a thread's."""


@dataclass
class Fusion:
    """Steps ``start`` to ``end`` of a function, which one fused kernel computes."""

    start: int
    end: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    prepared: dict[int, WeightedCall] = field(default_factory=lambda: {})
    """Calls that prepare weights, by the position of the weights among the inputs."""
    arena_bytes: int = 0
    """Bytes of memory that the fused kernel computes in, once it is written."""
    cut: dict[int, int] = field(default_factory=lambda: {})
    """Significant bits of the outputs that leave with no others, by value."""


def brought_together(steps: Sequence[Step], keys: Sequence[object]) -> list[int]:
    """Returns the positions of steps in another order, in which those with the same key follow one another.

    A step moves up if it waits for none of the steps between, and none of them writes to a tensor. Steps whose key is
    None stay where they are.
    """
    order, moved = list[int](), set[int]()
    for start, key in enumerate(keys):
        if start in moved:
            continue
        order.append(start)
        passed: set[int] = set()
        end = min(start + _REACH, len(steps)) if key is not None and steps[start].instruction.results else 0
        for position in range(start + 1, end):
            step = steps[position]
            if step.context is None or not step.instruction.results:
                break
            if position in moved:
                continue
            if keys[position] == key and passed.isdisjoint(step.inputs):
                order.append(position)
                moved.add(position)
            else:
                passed.update(step.instruction.results)
    return order


def _reordered(code: Code, order: Sequence[int]) -> Code:
    """Returns the function with its steps in another order, and values dropped after their last use."""
    steps = [code.steps[position] for position in order]
    last = {
        value: position for position, step in enumerate(steps) for value in (*step.instruction.results, *step.inputs)
    }
    drops: list[list[int]] = [[] for _ in steps]
    for position, step in enumerate(steps):
        for value in step.drops:
            drops[last.get(value, position)].append(value)
    steps = [replace(step, drops=dropped) for step, dropped in zip(steps, drops, strict=True)]
    return Code(code.name, steps, code.arguments, code.results)


def is_fusible(step: Step) -> bool:
    """Whether C++ computes a step."""
    return is_written(step.context, step.instruction.attributes)


def _calls(step: Step) -> int:
    """Returns the number of torch calls that a step takes on its own, 2 for any more than one."""
    if step.context is None or is_view(step.context):
        return 0
    return 1 if is_one_call(step.context, step.instruction.attributes) else 2


def may_be_fused(steps: Iterable[Step]) -> bool:
    """Whether C++ computes so many of the steps that a fused kernel is worth it, on whatever machine."""
    return sum(_calls(step) for step in steps if is_fusible(step)) >= _LEAST_CALLS


class Plan:
    """The fused kernels of one function, from when its tensors are recorded until they are called.

    Args:
        code: the function.
        calls: the bound calls of its steps.
        failed: takes an error of a fused kernel's call, after which its steps are called one by one.
        weighted: calls that prepare their weights, by the positions of their steps.
    """

    def __init__(
        self,
        code: Code,
        calls: Sequence[Call],
        failed: Callable[[Exception], None],
        weighted: Mapping[int, WeightedCall],
    ) -> None:
        self._code, self._calls, self._failed = code, list(calls), failed
        self._weighted = dict(weighted)
        self._operands: dict[int, Operand] = {}
        """How values lay in the recorded run."""
        self.fusions: list[Fusion] = []
        """Fused kernels that are written or, later, in use."""
        self.fault: Exception | None = None
        """The error that was raised while the function was recorded, if any."""

    @property
    def name(self) -> str:
        """Name of the function."""
        return self._code.name

    @property
    def steps(self) -> Sequence[Step]:
        """Steps of the function."""
        return self._code.steps

    @property
    def has_candidates(self) -> bool:
        """Whether some steps could be fused."""
        return may_be_fused(self._code.steps)

    def recording(self, calls: Sequence[Call]) -> Linked:
        """Returns the function, which notes how the tensors of its steps lie while it runs.

        Args:
            calls: what the steps call.
        """
        pairs = zip(self._code.steps, calls, strict=True)
        return self._code.link([call if step.context is None else self._recorder(step, call) for step, call in pairs])

    def _recorder(self, step: Step, call: Call) -> Call:
        results = step.instruction.results

        def record(*tensors: torch.Tensor) -> Any:
            outcome = call(*tensors)
            try:
                self._operands.update(zip(step.inputs, map(_operand, tensors), strict=True))
                if len(results) == 1:
                    self._operands[results[0]] = _operand(outcome)
            except Exception as error:  # reported by the engine: the run goes on
                self.fault = error
            return outcome

        return record

    def source(self, prefix: str, units: Units) -> str:
        """Returns the C++ of the fused kernels, whose functions have names that begin with ``prefix``.

        Args:
            prefix: the beginning of their names.
            units: units of the library, to which those of the function are added.
        """
        steps = self._code.steps
        self._reorder(brought_together(steps, [True if is_fusible(step) else None for step in steps]))
        text = ""
        start = 0
        for fusible, group in itertools.groupby(self._code.steps, is_fusible):
            end = start + len([*group])
            fusion = self._fusion(start, end) if fusible else None
            if fusion is not None:
                text += self._text(fusion, f"{prefix}_{len(self.fusions)}", units)
                self.fusions.append(fusion)
            start = end
        return text

    def _reorder(self, order: Sequence[int]) -> None:
        self._code, self._calls = _reordered(self._code, order), [self._calls[position] for position in order]
        positions = {former: position for position, former in enumerate(order)}
        self._weighted = {positions[former]: call for former, call in self._weighted.items()}

    def _fusion(self, start: int, end: int) -> Fusion | None:
        """Returns the fused kernel of a run of steps; None where it is not worth a call or cannot be written."""
        steps = self._code.steps
        later = {value for step in steps[end:] for value in step.inputs} | {*self._code.results}
        while start < end and not _calls(steps[start]) and steps[start].instruction.results[0] in later:
            start += 1  # a view of an earlier value that later steps read: nothing is computed here
        inside = steps[start:end]
        if sum(map(_calls, inside)) < _LEAST_CALLS:
            return None
        computed = [value for step in inside for value in step.instruction.results]
        inputs = dict.fromkeys(value for step in inside for value in step.inputs if value not in computed)
        outputs = tuple(value for value in computed if value in later)
        known = all(value in self._operands for value in (*inputs, *outputs))
        has_room = known and all(_has_room(self._operands[value]) for value in outputs)
        writes = any(not step.instruction.results for step in inside)
        written = {value for step in steps[end:] for value in _written(step)}
        views = {step.instruction.results[0] for step in inside if step.context is not None and is_view(step.context)}
        if written & views:  # a later step writes to an argument through a view, which would be a copy
            return None
        return Fusion(start, end, tuple(inputs), outputs) if has_room and (outputs or writes) else None

    def _text(self, fusion: Fusion, name: str, units: Units) -> str:
        """Writes the C++ of a fusion, whose weights that last come in panels."""
        inside = self._code.steps[fusion.start : fusion.end]
        keys = [row_domain(step) for step in inside]
        order = brought_together(inside, keys)
        weighted = {
            place: self._weighted[fusion.start + position]
            for place, position in enumerate(order)
            if fusion.start + position in self._weighted
        }
        inside = [inside[position] for position in order]
        inputs = [*fusion.inputs]
        panels: set[int] = set()
        for place, call in weighted.items():
            step = inside[place]
            if UNITS.get(step.instruction.op) is not UNITS["ttnn.linear"] or step.inputs[1] not in fusion.inputs:
                continue
            fusion.prepared[len(inputs)] = call
            panels.add(place)
            inputs.append(step.inputs[1])
            number = -len(inputs)
            inside[place] = replace(step, inputs=(step.inputs[0], number, *step.inputs[2:]))
        read = {value for step in inside for value in step.inputs}
        named = [(value if place < len(fusion.inputs) else -place - 1) for place, value in enumerate(inputs)]
        kept = [place for place, value in enumerate(named) if value in read]
        fusion.prepared = {kept.index(place): call for place, call in fusion.prepared.items()}
        fusion.inputs = tuple(inputs[place] for place in kept)
        operands = [(named[place], self._operands[inputs[place]]) for place in kept]
        outputs = [(value, self._operands[value]) for value in fusion.outputs]
        writer = FunctionWriter(inside, operands, outputs, panels, units, self._read_bits(fusion, read))
        lines = writer.lines()
        fusion.arena_bytes, fusion.cut = writer.arena_bytes, writer.cut
        head = f'extern "C" long {name}(const void* const* a, void* const* o, char* arena) {{'
        return "\n".join([head, *lines, "}\n"])

    def _read_bits(self, fusion: Fusion, inside: Collection[int]) -> dict[int, int]:
        """Returns the significant bits that later steps read of outputs, where these are not all.

        Args:
            fusion: the fused kernel.
            inside: values that its own steps read.
        """
        bits: dict[int, set[int]] = {}
        for step in self._code.steps[fusion.end :]:
            for position, value in enumerate(step.inputs):
                bits.setdefault(value, set()).add(_significant(step, position))
        whole = matrix_unit.SIGNIFICANT[torch.float32]
        inside = {*inside, *self._code.results}
        found = {value: max(bits.get(value, {whole})) for value in fusion.outputs if value not in inside}
        return {
            value: most
            for value, most in found.items()
            if most < whole and self._operands[value].dtype is torch.float32
        }

    def compiled(self, build: Build, prefix: str, arena: Callable[[], torch.Tensor]) -> Linked:
        """Returns the function with one call for each fused kernel.

        Args:
            build: the library.
            prefix: beginning of the names of its functions.
            arena: returns the memory between units, of as many bytes as the largest fused kernel needs.
        """
        steps: list[Step] = []
        calls: list[Call] = []
        position = 0
        for number, fusion in enumerate(self.fusions):
            inputs, outputs = ([self._operands[value] for value in group] for group in (fusion.inputs, fusion.outputs))
            function = build.fused_kernel(f"{prefix}_{number}")
            own = fusion.arena_bytes <= _OWN_ARENA
            memory = torch.empty(fusion.arena_bytes, dtype=torch.uint8, device="cpu") if own else arena
            one_by_one = self._one_by_one(fusion)
            marks = {
                fusion.outputs.index(value): functools.partial(matrix_unit.mark_cut, bits=bits)
                for value, bits in fusion.cut.items()
            }
            call = fused_call(function, inputs, outputs, memory, one_by_one, self._failed, fusion.prepared, marks)
            steps += [*self._code.steps[position : fusion.start], _step(fusion, self._code.steps)]
            calls += [*self._calls[position : fusion.start], call]
            position = fusion.end
        steps += self._code.steps[position:]
        code = Code(self._code.name, steps, self._code.arguments, self._code.results)
        return code.link([*calls, *self._calls[position:]])

    @property
    def fresh(self) -> frozenset[int]:
        """Values that fused kernels make in memory of their own, with their elements side by side."""
        values = (value for fusion in self.fusions for value in fusion.outputs)
        return frozenset(
            value for value in values if self._operands[value].stride == contiguous(self._operands[value].shape)
        )

    def _one_by_one(self, fusion: Fusion) -> Call:
        """Returns a function that makes the calls of a fusion's steps, and is written when it is first called."""
        inside = slice(fusion.start, fusion.end)
        inputs = [*dict.fromkeys(fusion.inputs)]
        steps, calls = self._code.steps[inside], self._calls[inside]
        function = functools.cache(lambda: Code(FUSED, steps, inputs, fusion.outputs).link(calls))
        several = len(fusion.outputs) != 1

        def call(*tensors: torch.Tensor) -> Any:
            distinct = dict(zip(fusion.inputs, tensors, strict=True))
            results = function()(*distinct.values())
            return results if several else results[0]

        return call


def _significant(step: Step, position: int) -> int:
    """Returns the significant bits of a float32 that a step reads of one of its inputs."""
    if step.context is None or len(step.context.operands) != len(step.inputs):
        return matrix_unit.SIGNIFICANT[torch.float32]
    context, operand = step.context, [*step.context.operands][position]
    return matrix_unit.activation_bits(context.op, operand, step.instruction.attributes, silicon=context.silicon)


def _written(step: Step) -> Sequence[int]:
    """Returns the operands that a step writes to: the cache, or any of an op without a result that has none."""
    if step.instruction.results:
        return ()
    cache = step.instruction.operands.get("cache")
    return (cache,) if isinstance(cache, int) else step.inputs


def _step(fusion: Fusion, steps: Sequence[Step]) -> Step:
    """Returns the one step that stands for all of a fusion."""
    inside = steps[fusion.start : fusion.end]
    inner = {value for step in inside for value in step.instruction.results}.difference(fusion.outputs)
    drops = [value for step in inside for value in step.drops if value not in inner]
    first = inside[0].instruction
    instruction = Instruction(first.op, first.operands, fusion.outputs, first.attributes, first.location)
    return Step(instruction, fusion.inputs, drops, inside[0].context, chip=inside[0].chip)


def _operand(tensor: torch.Tensor) -> Operand:
    return Operand(tuple(tensor.shape), tensor.stride(), tensor.dtype)


def _has_room(operand: Operand) -> bool:
    """Whether each element has a place of its own."""
    span = 1
    for step, size in sorted(
        (step, size) for step, size in zip(operand.stride, operand.shape, strict=True) if size > 1
    ):
        if step < span:
            return False
        span = step * size
    return True
