"""Executes calls on the emulated card: each is an op of TTNN, with its kernel, memory and predicted time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import torch

from tt_xla import environment
from tt_xla.cost import instruction_cost
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.rates import rates_of
from tt_xla.cost.residency import viewed
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Context, Weighted
from tt_xla.runtime.observation import CALLS, ObservedCall
from tt_xla.runtime.torch_state import settled
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.memory import Buffer
from tt_xla.ttnn_api.plan import Operand, Scalar, Step
from tt_xla.ttnn_api.tensor import Contents, Tensor
from tt_xla.ttnn_api.topology import merged


class Plan:
    """How to execute a call with arguments of given types.

    Args:
        step: the op.
        device: the device of its operands or results; None for an op on the host.
    """

    def __init__(self, step: Step, device: MeshDevice | None) -> None:
        self.device = device
        self.types = list(step.results)
        self.returns = step.returns
        into = [step.into] if isinstance(step.into, Operand) else list(step.into or ())
        self.into = [None if each is None else each.index for each in into] if any(into) else None
        """Index of the argument that receives each result; None if all results are new."""
        self.writes = None if step.writes is None else step.writes.index
        self.frees = None if step.frees is None else step.frees.index
        self.moves = step.moves
        self.topology = step.topology
        self.keeps_padding = step.op == "ttnn.from_device"
        instruction, values, sources = _instruction(step)
        self.sources: list[int | torch.Tensor] = sources
        """Operands in order: the position of a tensor argument, or the tensor of a number."""
        self._bind(step, instruction, values)
        self.us = 0.0
        """Predicted time with the gap to the next op, in microseconds."""
        self.traced_us = 0.0
        """The same in the replay of a trace."""
        self.is_program = False
        """Whether the call runs a program on the card, rather than a copy between host and card."""
        self.shares: int | None = None
        """Argument whose memory the result shares."""
        self.instruction, self.values = instruction, values
        """The op and the specs of its values."""
        self.bytes: list[int | None] = [None] * len(self.types)
        """Bytes of each result in a bank; None for results on the host."""
        if device is not None:
            device.memory.check_tables(step.table_banks)
            self._price(instruction, values, device)
            self.bytes = [
                bytes_per_bank(type_.spec.layout, device.target) if type_.on_device else None for type_ in self.types
            ]

    def _bind(self, step: Step, instruction: Instruction, values: list[TensorSpec]) -> None:
        """Binds the kernel of the op."""
        call = bind(context_of(instruction, values, self.device), instruction.attributes, fast=True)
        self.call = call.call if isinstance(call, Weighted) else call

    def _price(self, instruction: Instruction, values: list[TensorSpec], device: MeshDevice) -> None:
        cost = instruction_cost(instruction, values, device.target)
        self.instruction, total = msgspec.structs.replace(instruction, cost=cost), cost.total_us
        self.is_program = bool(total) and instruction.op not in ("ttnn.to_device", "ttnn.from_device")
        if total:
            rates = rates_of(device.target)
            self.us, self.traced_us = total + rates.gap_untraced, total + rates.gap_traced
        source = viewed(instruction, tuple(values))
        if source is not None:
            position = self.sources[source]
            self.shares = position if isinstance(position, int) else None

    def compute(self, operands: Sequence[Contents]) -> list[list[torch.Tensor]]:
        """Returns the shards of each result; an operand that the op writes to gets new shards.

        Chips whose operands are the same tensors share the results.
        """
        chips = max([len(each.shards) for each in operands], default=1)
        if chips == 1 and self.writes is None:
            result = self.call(*[operands[each].shards[0] if isinstance(each, int) else each for each in self.sources])
            return [[result]] if len(self.types) == 1 else [[each] for each in result]
        known: dict[tuple[int, ...], Any] = {}
        by_chip: list[Any] = []
        written: list[torch.Tensor] = []
        place = None if self.writes is None else self.sources.index(self.writes)
        for chip in range(chips):
            tensors = [
                _shard(operands[source].shards, chip) if isinstance(source, int) else source for source in self.sources
            ]
            key = () if chips == 1 else tuple(map(id, tensors))
            if key not in known:
                if place is not None:
                    tensors[place] = tensors[place].clone()
                result = self.call(*tensors)
                known[key] = (result,) if len(self.types) == 1 else result, tensors
            results, used = known[key]
            by_chip.append(results)
            if place is not None:
                written.append(used[place])
        if self.writes is not None:
            operands[self.writes].shards = written
        return [[of_chip[index] for of_chip in by_chip] for index in range(len(self.types))]

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """Executes the call on its tensor arguments and returns what it returns."""
        operands = [tensor.contents for tensor in tensors]
        device = self.device
        into: Sequence[int | None] = self.into or [None] * len(self.types)
        if self.moves:
            self._free(tensors)
        buffers = [
            self._buffer(type_, size, operands) if place is None else None
            for type_, size, place in zip(self.types, self.bytes, into, strict=True)
        ]
        with settled():
            results = self._observed(operands, replayed=False) if CALLS else self.compute(operands)
        made: list[Contents] = []
        for shards, buffer, place in zip(results, buffers, into, strict=True):
            if place is not None:
                operands[place].shards = shards
            made.append(Contents(shards, buffer) if place is None else operands[place])
        if self.keeps_padding:
            made[0].padding = operands[0].padding
        if device is not None and len(device.chips) > 1:
            self._spread(made, operands, device)
        if device is not None:
            device.predicted_us += self.us
            if device.recording is not None:
                device.recording.append((self, operands, made))
        if self.writes is not None:
            return tensors[self.writes]
        self._free(tensors)
        distributed = [tensor.topology for tensor in tensors if tensor.topology is not None]
        topology = merged(distributed) if distributed else None if device is None else device.topology
        if self.topology is not None:
            topology = self.topology(topology)
        outputs = [
            Tensor.of(type_, contents, device if type_.on_device else None, topology)
            if place is None
            else tensors[place]
            for type_, contents, place in zip(self.types, made, into, strict=True)
        ]
        if self.returns is not None:
            return self.returns(outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _free(self, tensors: Sequence[Tensor]) -> None:
        """Frees the memory of the operand that the call does away with."""
        if self.frees is not None:
            tensors[self.frees].deallocate()

    def _spread(self, made: Sequence[Contents], operands: Sequence[Contents], device: MeshDevice) -> None:
        """Gives every chip of the mesh a result that does not depend on chips, and parts of tensors their places."""
        places = {tuple(each.coords) for each in operands if each.coords is not None}
        coords = places.pop() if places else None
        for contents in made:
            contents.coords = coords
            if coords is None and len(contents.shards) == 1:
                contents.shards = [*contents.shards] * len(device.chips)
            if places or (coords is not None and len(contents.shards) != len(coords)):
                raise TTFatal(
                    "Operands lie on different chips of the mesh",
                    hint="Join the parts with ttnn.combine_device_tensors, or take the same part of each tensor.",
                )

    def _buffer(self, type_: Type, size: int | None, operands: Sequence[Contents]) -> Buffer | None:
        """Returns the memory of a result; None on the host."""
        if self.device is None or size is None:
            return None
        return self.device.memory.allocate(type_.spec, size) if self.shares is None else operands[self.shares].buffer

    def replay(self, operands: Sequence[Contents], results: Sequence[Contents]) -> None:
        """Executes the call as part of a trace: on the contents of the tensors that it was captured with."""
        computed = self._observed(operands, replayed=True) if CALLS else self.compute(operands)
        for contents, shards in zip(results, computed, strict=True):
            contents.shards = shards

    def _observed(self, operands: Sequence[Contents], *, replayed: bool) -> list[list[torch.Tensor]]:
        """Returns the shards of each result, and tells observers of the call."""
        start, before = time.perf_counter_ns(), [each.shards for each in operands]
        results = self.compute(operands)
        call = ObservedCall(self, start, self.sources, before, results, replayed)
        for observer in CALLS:
            observer.called(call)
        return results


def _instruction(step: Step) -> tuple[Instruction, list[TensorSpec], list[int | torch.Tensor]]:
    """Returns the instruction, the specs of its values, and where its operands come from."""
    values: list[TensorSpec] = []
    sources: list[int | torch.Tensor] = []
    operands: dict[str, int | tuple[int, ...]] = {}

    def define(operand: Operand | Scalar) -> int:
        values.append(operand.type.spec)
        sources.append(_number(operand) if isinstance(operand, Scalar) else operand.index)
        return len(values) - 1

    for name, operand in step.operands.items():
        if isinstance(operand, (Operand, Scalar)):
            operands[name] = define(operand)
        elif operand is not None:
            operands[name] = tuple(map(define, operand))
    start = len(values)
    values += [type_.spec for type_ in step.results]
    attributes = {name: value for name, value in step.attributes.items() if value is not None}
    return Instruction(step.op, operands, tuple(range(start, len(values))), attributes), values, sources


def _number(scalar: Scalar) -> torch.Tensor:
    element = scalar.type.dtype.element
    number = torch.tensor(scalar.value, dtype=torch.float64 if isinstance(scalar.value, float) else None)
    return hold(number, element).to(CONTAINERS[element])


def _shard(shards: Sequence[torch.Tensor], chip: int) -> torch.Tensor:
    """Returns a chip's shard of a tensor; one that was not distributed is the same for all chips.

    Raises:
        TTFatal: the tensor has no shard for the chip.
    """
    if len(shards) == 1:
        return shards[0]
    if chip >= len(shards):
        raise TTFatal(
            f"Operands lie on different numbers of chips: one has {len(shards)} shards",
            hint="Distribute all operands over the same chips of the mesh.",
        )
    return shards[chip]


_exact = False
"""Whether calls that are planned now compute as IEEE 754 says."""


@contextlib.contextmanager
def exact_numerics() -> Generator[None]:
    """Plans the calls in the context to compute as IEEE 754 says."""
    global _exact
    before, _exact = _exact, True
    try:
        yield
    finally:
        _exact = before


def context_of(instruction: Instruction, values: Sequence[TensorSpec], device: MeshDevice | None = None) -> Context:
    """Returns the context of an instruction's kernel: its op, numerics and types, and the cores of a device."""
    context = Context(
        instruction.op,
        "exact" if _exact else environment.variable("TTXLA_NUMERICS"),
        {
            name: values[operand] if isinstance(operand, int) else tuple(values[number] for number in operand)
            for name, operand in instruction.operands.items()
        },
        tuple(values[number] for number in instruction.results),
    )
    return context if device is None else replace(context, grid=device.target.grid)
