"""Executes the ops in which the chips of a mesh exchange tensors: the kernels of compiled programs for several chips.

A group of chips that exchange lies along ``cluster_axis`` of the mesh, or is the whole mesh. Chips whose groups hold
the same tensors are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.cost import instruction_cost
from tt_xla.cost.collective import SCATTERING, scatter_buffers
from tt_xla.cost.rates import rates_of
from tt_xla.errors import MeshError
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.spmd.collectives import ALL_BROADCAST, BROADCAST, EXCHANGES, MESH_PARTITION, group_axes
from tt_xla.target import arrange
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.engine import Plan, context_of
from tt_xla.ttnn_api.plan import Step
from tt_xla.ttnn_api.tensor import Contents

Shards = Sequence[torch.Tensor]


class ExchangePlan(Plan):
    """How to execute an exchange between chips.

    Args:
        step: the op, with ``cluster_axis`` among its attributes unless all chips are one group.
        device: the mesh.
    """

    def __init__(self, step: Step, device: MeshDevice) -> None:
        self._mesh = mesh_of(device)
        super().__init__(step, device)

    def _bind(self, step: Step, instruction: Instruction, values: list[TensorSpec]) -> None:
        self._groups = self._mesh.groups(group_axes(instruction, self._mesh))
        size = len(self._groups[0])
        attributes = instruction.attributes
        if step.op in EXCHANGES:
            together = Instruction(step.op, {"input": (0,) * size}, instruction.results, attributes)
            if step.op not in ("ttnn.all_gather", "ttnn.all_reduce"):
                together = Instruction(step.op, {"input": (0,) * size}, instruction.results * size, attributes)
            call = bind(context_of(together, values), attributes, fast=False)
            assert callable(call)
            self._exchange: Callable[[Shards], list[list[torch.Tensor]]] = _of_all(call, size)
        elif step.op == MESH_PARTITION:
            self._exchange = _parts(int(attributes["dim"]), size)
        elif step.op == ALL_BROADCAST:
            self._exchange = lambda shards: [list(shards)] * len(shards)
        elif step.op == BROADCAST:
            sender = self._groups_place(attributes["sender_coord"])
            self._exchange = lambda shards: [[shards[sender]]] * len(shards)
        else:
            sender, receiver = (self._mesh.position(attributes[f"{end}_coord"]) for end in ("sender", "receiver"))
            self._exchange = _sent(sender, receiver)

    def _groups_place(self, coord: Sequence[int]) -> int:
        """Returns the place of a chip in its group."""
        position = self._mesh.position(coord)
        return next(group.index(position) for group in self._groups if position in group)

    def _price(self, instruction: Instruction, values: list[TensorSpec], device: MeshDevice) -> None:
        priced = self._mesh if any(size > 1 for size in self._mesh.shape) else None
        rates = rates_of(device.target, priced)
        total = instruction_cost(instruction, values, device.target, priced).total_us
        self.us, self.traced_us = total + rates.gap_untraced, total + rates.gap_traced
        self._scratch: list[TensorSpec] = []
        if instruction.op in SCATTERING and instruction.attributes.get("cluster_axis") is not None:
            buffers = scatter_buffers(instruction, values, device.target, self._mesh)
            self._scratch = [spec for spec in buffers if spec is not None]

    def compute(self, operands: Sequence[Contents]) -> list[list[torch.Tensor]]:
        """Returns the shards of each result."""
        count = self._mesh.size
        source = operands[0].shards
        shards = [*source] if len(source) == count else [source[0]] * count
        output = None if self.into is None else self.into[0]
        if output:
            before = operands[output].shards
            previous = [*before] if len(before) == count else [before[0]] * count
        else:
            previous = shards
        results: list[list[torch.Tensor]] = [list(previous) for _ in self.types]
        known: dict[tuple[int, ...], list[list[torch.Tensor]]] = {}
        for group in self._groups:
            key = tuple(id(shards[member]) for member in group)
            exchanged = known.get(key)
            if exchanged is None:
                exchanged = known[key] = self._exchange([shards[member] for member in group])
            for member, tensors in zip(group, exchanged, strict=True):
                for number, tensor in enumerate(tensors):
                    results[number][member] = tensor
        return results

    def run(self, tensors: Sequence[Any]) -> Any:
        """Executes the exchange. The buffers for what other chips send need room meanwhile."""
        device = self.device
        assert device is not None
        buffers = [device.memory.allocate(spec) for spec in self._scratch]
        try:
            return super().run(tensors)
        finally:
            buffers.clear()


def mesh_of(device: MeshDevice) -> Mesh:
    """Returns the mesh as programs describe it; it names its chips unless they are those that TT-NN chooses."""
    shape = tuple(device.shape)
    try:
        chosen = arrange(device.target, shape).chips
    except MeshError:
        chosen = ()
    return Mesh(shape, ("rows", "columns"), () if device.chips == tuple(chosen) else device.chips)


def _of_all(call: Callable[..., Any], size: int) -> Callable[[Shards], list[list[torch.Tensor]]]:
    """Returns the exchange of a kernel that takes the shards of a group."""

    def exchange(shards: Shards) -> list[list[torch.Tensor]]:
        result = call(*shards)
        several = list(result) if isinstance(result, (list, tuple)) else [result] * size
        return [[each] for each in several]

    return exchange


def _parts(dim: int, size: int) -> Callable[[Shards], list[list[torch.Tensor]]]:
    """Returns the op in which each chip of a group keeps its part of its tensor along a dimension."""

    def partition(shards: Shards) -> list[list[torch.Tensor]]:
        length = shards[0].shape[dim] // size
        return [[shard.narrow(dim, place * length, length).contiguous()] for place, shard in enumerate(shards)]

    return partition


def _sent(sender: int, receiver: int) -> Callable[[Shards], list[list[torch.Tensor]]]:
    """Returns the op in which one chip of the mesh gets the tensor of another; the others keep what they have."""

    def send(shards: Shards) -> list[list[torch.Tensor]]:
        return [[shards[sender]] if place == receiver else [] for place, _ in enumerate(shards)]

    return send
