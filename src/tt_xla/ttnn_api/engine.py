"""Executes calls on the emulated card: each is an op of TTNN, with its kernel, memory and predicted time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla import environment
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.cost.residency import viewed
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Context, Weighted
from tt_xla.runtime.gradients import without_gradients
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.memory import Buffer
from tt_xla.ttnn_api.plan import Operand, Scalar, Step
from tt_xla.ttnn_api.tensor import Contents, Tensor


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
        """By result, the argument that receives it; None if all are new."""
        self.writes = None if step.writes is None else step.writes.index
        instruction, values, sources = _instruction(step)
        self.sources: list[int | torch.Tensor] = sources
        """Operands in order: the position of a tensor argument, or the tensor of a number."""
        context = _context(step.op, instruction, values)
        call = bind(context, instruction.attributes, fast=True)
        self.call = call.call if isinstance(call, Weighted) else call
        self.us = 0.0
        """Predicted time with the gap to the next op, in microseconds."""
        self.traced_us = 0.0
        """The same in the replay of a trace."""
        self.shares: int | None = None
        """Argument whose memory the result shares."""
        if device is not None:
            self._price(instruction, values, device)

    def _price(self, instruction: Instruction, values: list[TensorSpec], device: MeshDevice) -> None:
        total = instruction_cost(instruction, values, device.target).total_us
        if total:
            rates = rates_of(device.target)
            self.us, self.traced_us = total + rates.gap_untraced, total + rates.gap_traced
        source = viewed(instruction, tuple(values))
        if source is not None:
            position = self.sources[source]
            self.shares = position if isinstance(position, int) else None

    def compute(self, operands: Sequence[Contents]) -> list[list[torch.Tensor]]:
        """Returns the shards of each result; an operand that the op writes to gets new shards."""
        if self.writes is not None:
            written = operands[self.writes]
            written.shards = [shard.clone() for shard in written.shards]
        chips = max((len(each.shards) for each in operands), default=1)
        by_chip: list[Any] = []
        for chip in range(chips):
            tensors = [
                operands[source].shards[chip if len(operands[source].shards) > 1 else 0]
                if isinstance(source, int)
                else source
                for source in self.sources
            ]
            result = self.call(*tensors)
            by_chip.append((result,) if len(self.types) == 1 else result)
        return [[of_chip[index] for of_chip in by_chip] for index in range(len(self.types))]

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """Executes the call on its tensor arguments and returns what it returns."""
        operands = [tensor.contents for tensor in tensors]
        device = self.device
        into: Sequence[int | None] = self.into or [None] * len(self.types)
        buffers = [
            self._buffer(type_, operands) if place is None else None
            for type_, place in zip(self.types, into, strict=True)
        ]
        with without_gradients():
            results = self.compute(operands)
        made: list[Contents] = []
        for shards, buffer, place in zip(results, buffers, into, strict=True):
            if place is not None:
                operands[place].shards = shards
            made.append(Contents(shards, buffer) if place is None else operands[place])
        if device is not None:
            device.predicted_us += self.us
            if device.recording is not None:
                device.recording.append((self, operands, made))
        if self.writes is not None:
            return tensors[self.writes]
        topology = next((tensor.topology for tensor in tensors if tensor.topology is not None), None)
        outputs = [
            Tensor.of(type_, contents, device if type_.on_device else None, topology)
            if place is None
            else tensors[place]
            for type_, contents, place in zip(self.types, made, into, strict=True)
        ]
        if self.returns is not None:
            return self.returns(outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _buffer(self, type_: Type, operands: Sequence[Contents]) -> Buffer | None:
        """Returns the memory of a result; None on the host."""
        if self.device is None or not type_.on_device:
            return None
        return self.device.memory.allocate(type_.spec) if self.shares is None else operands[self.shares].buffer

    def replay(self, operands: Sequence[Contents], results: Sequence[Contents]) -> None:
        """Executes the call as part of a trace: on the contents of the tensors that it was captured with."""
        for contents, shards in zip(results, self.compute(operands), strict=True):
            contents.shards = shards


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


def _context(op: str, instruction: Instruction, values: Sequence[TensorSpec]) -> Context:
    return Context(
        op,
        environment.variable("TTXLA_NUMERICS"),
        {
            name: values[operand] if isinstance(operand, int) else tuple(values[number] for number in operand)
            for name, operand in instruction.operands.items()
        },
        tuple(values[number] for number in instruction.results),
    )
