"""Marks of tensors: how chips split contents that are there, and those that recorded ops will compute."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.custom_ops import FULL_TO_SHARD_OP, MARK_OP, SHARD_TO_FULL_OP, mark_arguments
from tt_xla.frontends.torch.device import placements
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.placements import Placement
from tt_xla.frontends.torch.device.recording import record, write
from tt_xla.frontends.torch.device.signatures import signature_of
from tt_xla.frontends.torch.device.values import Node, Value
from tt_xla.ir.mesh import Mesh, Sharding

_COPIES = {torch.ops.aten.clone.default, torch.ops.aten._to_copy.default}


def mark(tensor: torch.Tensor, placement: Placement) -> None:
    """Gives the storage of a tensor of the device a placement.

    Of contents that are not computed yet, the mark is recorded as an op: what reads the tensor from now on reads the
    op's result, and the program that computes the contents splits them there.
    """
    placements.announce()
    if buffer_of(tensor).pending:
        mesh = placement.mesh
        arguments = mark_arguments(placement.chips, mesh.shape, mesh.axes, placement.sharding.dims)
        kind, values = record(signature_of(MARK_OP), [tensor, *arguments, False], {})
        assert values, kind.reason
        write(tensor, values[0])
    placements.place(tensor, placement)


def unmark(tensor: torch.Tensor) -> None:
    """Removes the placement of a tensor's storage, and the mark of its contents if that is the last recorded op."""
    if tensor.device.type != DEVICE_TYPE:
        return
    placements.unplace(tensor)
    buffer = buffer_of(tensor)
    while buffer.pending and (node := buffer.value.node) is not None and node.kind.op is MARK_OP:
        buffer.set_value(node.inputs[0])


def placement_of(tensor: torch.Tensor) -> Placement | None:
    """Returns the placement of a tensor; of contents that are not computed yet, that of their mark or of its copy."""
    placement = placements.placement_of(tensor)
    if placement is not None or tensor.device.type != DEVICE_TYPE or not buffer_of(tensor).pending:
        return placement
    placement = _recorded(buffer_of(tensor).value)
    return placement if placement is not None and placement.shape == tuple(tensor.shape) else None


def is_replicated(tensor: torch.Tensor) -> bool:
    """Returns whether every chip has a tensor in full; of a copy that has no bytes yet, whether it has the source."""
    if tensor.device.type != DEVICE_TYPE:
        return False
    buffer = buffer_of(tensor)
    if placements.is_replicated(buffer) or buffer.offloaded is not None:
        return placements.is_replicated(buffer)
    source = _copied(buffer.value)
    return placements.is_replicated(None if source.owner is None else source.owner())


def _copied(value: Value) -> Value:
    """Returns the contents of which some are a recorded copy; those themselves if they are none."""
    while (node := value.node) is not None and node.kind.op in _COPIES and node.inputs[0].shape == value.shape:
        value = node.inputs[0]
    return value


def _recorded(value: Value) -> Placement | None:
    """Returns the placement that a mark gives to contents, or that of the contents which they are a copy of."""
    value = _copied(value)
    node = value.node
    if node is None:
        return placements.placement_of_value(value)
    if node.kind.op is not MARK_OP:
        return None
    arguments: list[Any] = node.kind.template[0]
    _, chips, shape, names, dims, _ = arguments
    sharding = Sharding(tuple(tuple(map(int, dim.split())) for dim in dims))
    return Placement(Mesh(tuple(shape), tuple(names)), tuple(chips), sharding, tuple(value.shape))


def has_contents(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor of the device has contents; one that stands for an argument of a trace has none."""
    try:
        buffer_of(tensor)
    except NotImplementedError:
        return False
    return True


def has_parts(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor has no contents of its own, but a part for each chip."""
    if not session.current.chips.holds_parts or tensor.device.type != DEVICE_TYPE:
        return False
    buffer = buffer_of(tensor)
    return buffer.pending and is_part(buffer.value)


def is_part(value: Value) -> bool:
    """Returns whether each chip has contents of its own: those between ``full_to_shard`` and ``shard_to_full``."""
    seen: set[Node] = set()
    stack = [value]
    while stack:
        node = stack.pop().node
        if node is None or node in seen or node.kind.op is SHARD_TO_FULL_OP:
            continue
        if node.kind.op is FULL_TO_SHARD_OP:
            return True
        seen.add(node)
        stack += node.inputs
    return False
