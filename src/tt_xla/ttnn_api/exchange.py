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
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.registry import find
from tt_xla.spmd.collectives import ALL_BROADCAST, BROADCAST, EXCHANGES, MESH_PARTITION, OF_GROUPS, group_axes
from tt_xla.target import arrange
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.engine import Plan, context_of
from tt_xla.ttnn_api.plan import Step
from tt_xla.ttnn_api.tensor import Contents

Shards = Sequence[torch.Tensor]
Exchange = Callable[[Sequence[int], Sequence[Shards]], list[list[torch.Tensor]]]
"""Takes the chips of a group and the shards of each operand, and returns the results of each chip."""


class ExchangePlan(Plan):
    """How to execute an exchange between chips.

    Args:
        step: the op, with ``cluster_axis`` among its attributes unless all chips are one group.
        device: the mesh.
    """

    def __init__(self, step: Step, device: MeshDevice) -> None:
        self._mesh = mesh_of(device)
        self._exchange: Exchange = _no_exchange
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
            exchange = _of_all(call, size)
        elif step.op in OF_GROUPS:
            self._exchange = _of_group(instruction, values)
            return
        elif step.op == MESH_PARTITION:
            exchange = _parts(int(attributes["dim"]), size)
        elif step.op == ALL_BROADCAST:
            exchange = _everywhere
        elif step.op == BROADCAST:
            exchange = _from_place(self._groups_place(attributes["sender_coord"]))
        else:
            sender, receiver = (self._mesh.position(attributes[f"{end}_coord"]) for end in ("sender", "receiver"))
            exchange = _sent(sender, receiver)
        self._exchange = lambda _, operands: exchange(operands[0])

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
        everywhere = [self._on_all(operands[each].shards if isinstance(each, int) else [each]) for each in self.sources]
        output = None if self.into is None else self.into[0]
        previous = everywhere[0] if not output else self._on_all(operands[output].shards)
        results: list[list[torch.Tensor]] = [list(previous) for _ in self.types]
        known: dict[tuple[int, ...], list[list[torch.Tensor]]] = {}
        for group in self._groups:
            taken = [[shards[member] for member in group] for shards in everywhere]
            key = tuple(id(shard) for shards in taken for shard in shards)
            key = key if self.instruction.op not in OF_GROUPS else tuple(group)
            exchanged = known.get(key)
            if exchanged is None:
                exchanged = known[key] = self._exchange(group, taken)
            for member, tensors in zip(group, exchanged, strict=True):
                for number, tensor in enumerate(tensors):
                    results[number][member] = tensor
        return results

    def _on_all(self, shards: Shards) -> Shards:
        """Returns the shard of each chip of the mesh."""
        return shards if len(shards) == self._mesh.size else [shards[0]] * self._mesh.size

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


def _no_exchange(group: Sequence[int], operands: Sequence[Shards]) -> list[list[torch.Tensor]]:
    raise AssertionError("the exchange is bound before it is executed")


def _of_group(instruction: Instruction, values: Sequence[TensorSpec]) -> Exchange:
    """Returns the exchange of a kernel that computes the results of a group.

    The kernel takes the chips, by operand the list of their tensors, and the attributes. It returns the results of each
    chip.
    """
    context, function = context_of(instruction, values), find(instruction.op).function
    dtypes = [spec.layout.dtype for spec in context.results]
    names = list(instruction.operands)
    attributes = {name: value for name, value in instruction.attributes.items() if name != "cluster_axis"}

    def exchange(group: Sequence[int], operands: Sequence[Shards]) -> list[list[torch.Tensor]]:
        results = function(context, group, **dict(zip(names, operands, strict=True)), **attributes)
        return [[hold(each, dtype) for each, dtype in zip(chip, dtypes, strict=True)] for chip in results]

    return exchange


def _everywhere(shards: Shards) -> list[list[torch.Tensor]]:
    return [list(shards)] * len(shards)


def _from_place(sender: int) -> Callable[[Shards], list[list[torch.Tensor]]]:
    """Returns the op in which all chips of a group get the tensor of one."""
    return lambda shards: [[shards[sender]]] * len(shards)


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
