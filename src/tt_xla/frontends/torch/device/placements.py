"""Placements: how tensors of the device are split over the chips of a mesh.

A tensor of the device is one tensor for the user, and its bytes are whole on the host. Its placement says which part of
it each chip holds while a program runs. Placements never change a result, only which chip computes what.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tt_xla.errors import CompileError
from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import metrics
from tt_xla.frontends.torch.device.buffers import Buffer, buffer_of, buffer_of_storage, storage_of_host
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.geometry import memory_order
from tt_xla.frontends.torch.device.values import Value
from tt_xla.ir.mesh import Mesh, Sharding


@dataclass(frozen=True)
class Placement:
    """How a tensor is split.

    Attributes:
        mesh: the mesh.
        chips: number of the chip at each position of the mesh.
        sharding: the mesh axes that split each dimension.
        shape: shape of the tensor.
    """

    mesh: Mesh
    chips: tuple[int, ...]
    sharding: Sharding
    shape: tuple[int, ...]

    def permuted(self, order: list[int] | None) -> Placement:
        """Returns the placement of the tensor with its dimensions in another order; None keeps the order."""
        if order is None:
            return self
        dims = tuple(self.sharding.dims[axis] for axis in order)
        return Placement(self.mesh, self.chips, Sharding(dims), tuple(self.shape[axis] for axis in order))


def _reshaped(placement: Placement, shape: tuple[int, ...]) -> Placement | None:
    """Returns the placement of a tensor in another shape; None where its parts are no parts of that shape.

    Dimensions that a reshape joins or separates form a group. A group can be split along its first dimension, evenly.
    """
    if placement.shape == shape:
        return placement
    counts = placement.sharding.counts(placement.mesh)
    dims: list[tuple[int, ...]] = []
    for old, new in _groups(placement.shape, shape):
        same = [placement.shape[dim] for dim in old] == [shape[dim] for dim in new]
        axes = [placement.sharding.dims[dim] for dim in old]
        if same:
            dims += axes
            continue
        first = next((dim for dim in old if placement.shape[dim] > 1), None)
        if any(axes[index] for index, dim in enumerate(old) if dim != first and counts[dim] > 1):
            return None
        whole = () if first is None else placement.sharding.dims[first]
        target = next((dim for dim in new if shape[dim] > 1), None)
        count = counts[first] if first is not None else 1
        if whole and first is not None and (target is None or placement.shape[first] % count or shape[target] % count):
            return None
        dims += [whole if dim == target else () for dim in new]
    return Placement(placement.mesh, placement.chips, Sharding(tuple(dims)), shape)


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Returns the smallest groups of dimensions, in order, that have equal numbers of elements in both shapes."""
    groups: list[tuple[list[int], list[int]]] = []
    first = second = 0
    while first < len(old) or second < len(new):
        left, right = [first] if first < len(old) else [], [second] if second < len(new) else []
        first, second = first + len(left), second + len(right)
        while math.prod(old[dim] for dim in left) != math.prod(new[dim] for dim in right):
            if math.prod(old[dim] for dim in left) < math.prod(new[dim] for dim in right):
                left.append(first)
                first += 1
            else:
                right.append(second)
                second += 1
        groups.append((left, right))
    return groups


def in_use() -> bool:
    """Returns whether tensors may have placements. Callers that ask first cost nothing in processes without meshes.

    Tensors that are gone count, because recorded ops may still read what they contained.
    """
    return session.current.chips.splits_tensors


def announce() -> None:
    """Says that tensors will be placed, so that :func:`in_use` returns True from now on."""
    session.current.chips.splits_tensors = True


def place(tensor: torch.Tensor, placement: Placement) -> None:
    """Gives the storage of a tensor of the device a placement."""
    announce()
    metrics.count(metrics.SPMD_TENSORS)
    session.current.placements[buffer_of(tensor)] = placement


def unplace(tensor: torch.Tensor) -> None:
    """Removes the placement of a tensor's storage, if it has one."""
    if tensor.device.type == DEVICE_TYPE:
        session.current.placements.pop(buffer_of(tensor), None)
        session.current.replicated.discard(buffer_of(tensor))


def placement_of(tensor: torch.Tensor) -> Placement | None:
    """Returns the placement of a tensor; None for CPU tensors, unplaced tensors, and views that no placement fits."""
    if tensor.device.type != DEVICE_TYPE:
        return None
    placement = session.current.placements.get(buffer_of(tensor))
    if placement is None or placement.shape == tuple(tensor.shape):
        return placement
    is_reshaped = tensor.is_contiguous() and tensor.numel() == math.prod(placement.shape) > 0
    return _reshaped(placement, tuple(tensor.shape)) if is_reshaped else None


def placement_of_argument(tensor: torch.Tensor) -> Placement | None:
    """Returns the placement in which a program reads a tensor: that of :func:`placement_of`, or of a transposed view
    that which leaves each chip its part."""
    if tensor.device.type != DEVICE_TYPE or buffer_of(tensor) not in session.current.placements:
        return None
    order = None if tensor.is_contiguous() else memory_order(tensor.shape, tensor.stride())
    if order is None:
        return placement_of(tensor)
    placement = placement_of(tensor.permute(order))
    return None if placement is None else placement.permuted([order.index(dim) for dim in range(tensor.ndim)])


def placement_of_value(value: Value) -> Placement | None:
    """Returns the placement of recorded contents: that of their buffer, or the one that it had when they were read."""
    owner = value.owner() if value.owner is not None else None
    placement = session.current.placements.get(owner) if owner is not None else value.placement
    return placement if placement is not None and placement.shape == tuple(value.shape) else None


def copy_of(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Returns a copy of a storage of the device, on the same chip, or chips, and with the same placement."""
    buffer = buffer_of_storage(storage)
    host = buffer.host.untyped_storage()
    copied = torch.empty(0, dtype=torch.uint8, device="cpu").set_(host, 0, [storage.nbytes()], [1]).clone()
    new = storage_of_host(copied, buffer.chip)
    placement = session.current.placements.get(buffer)
    if placement is not None:
        session.current.placements[buffer_of_storage(new)] = placement
    if buffer in session.current.replicated:
        session.current.replicated.add(buffer_of_storage(new))
    return new


def follow(buffer: Buffer, value: Value) -> None:
    """Gives a buffer without a placement that of the contents that are copied to it."""
    placement = placement_of_value(value) if value.is_computed else None
    if placement is not None:
        session.current.placements.setdefault(buffer, placement)


def remember(buffer: Buffer, value: Value) -> None:
    """Gives the contents of a buffer its placement, in case the buffer dies before the op that reads them runs."""
    placement = session.current.placements.get(buffer)
    if placement is not None:
        value.placement = placement


def place_result(buffer: Buffer, placement: Placement | None) -> None:
    """Gives a buffer the placement of the result of a program; in SPMD mode every chip has that of one chip's program.

    Args:
        buffer: the buffer.
        placement: the placement; None for the result of a program for one chip.
    """
    if placement is not None and not placement.sharding.is_replicated:
        session.current.placements[buffer] = placement
    elif placement is not None or session.current.chips.acts_as_one:
        session.current.replicated.add(buffer)


def replicate(tensor: torch.Tensor) -> None:
    """Records that every chip has a tensor of the device in full."""
    metrics.count(metrics.SPMD_TENSORS)
    session.current.replicated.add(buffer_of(tensor))


def is_replicated(buffer: Buffer | None) -> bool:
    """Returns whether every chip has contents in full because a program computed them there, or they were sent."""
    return buffer in session.current.replicated


def count_read(tensor: torch.Tensor) -> None:
    """Counts that a tensor is copied to the CPU, if chips have parts or copies of it."""
    own = session.current
    if own.chips.acts_as_one and (buffer_of(tensor) in own.placements or buffer_of(tensor) in own.replicated):
        metrics.count(metrics.SPMD_READS)


def set_default_mesh(mesh: Mesh, chips: tuple[int, ...]) -> None:
    """Sets the mesh of programs that have collectives, but no argument with a placement.

    Args:
        mesh: the mesh.
        chips: number of the chip at each position of the mesh.
    """
    session.current.chips.default_mesh = (mesh, chips)


def default_mesh() -> tuple[Mesh, tuple[int, ...]] | None:
    """Returns the mesh that :func:`set_default_mesh` set last, or None."""
    return session.current.chips.default_mesh


ChipMesh = tuple[Mesh, tuple[int, ...]]
"""A mesh, and number of the chip at each of its positions."""


class MixedMeshesError(CompileError):
    """Tensors of one program are on meshes that no single mesh is a refinement of."""


def meshes_of(placements: Sequence[Placement | None], marked: Sequence[ChipMesh] = ()) -> list[ChipMesh]:
    """Returns the meshes of a program and their chips by position: those of arguments, then those of marks.

    They are arrangements of the same chips in one order, or in orders that differ by a transposition of axes.

    Args:
        placements: placement of each argument.
        marked: meshes over which the program splits intermediate tensors, and their chips.

    Raises:
        MixedMeshesError: two tensors are on different chips, or on the same ones in another order.
    """
    meshes: dict[ChipMesh, str] = {}
    for position, placement in enumerate(placements):
        if placement is not None:
            meshes.setdefault((placement.mesh, placement.chips), f"argument {position}")
    for mesh in marked:
        meshes.setdefault(mesh, "an intermediate tensor")
    for mesh in meshes:
        first = next(iter(meshes))
        if not _fits(first[1], mesh):
            raise MixedMeshesError(
                f"Tensors of one program are on different meshes: {meshes[first]} on {_described(*first)}, "
                f"{meshes[mesh]} on {_described(*mesh)}.",
                hint="Mark all tensors of a program on meshes of the same chips in the same order. Or run what is "
                "recorded with torch_xla.sync(), and call xs.clear_sharding on tensors of the first mesh before they "
                "are used on the second.",
            )
    return list(meshes)


def _fits(chips: tuple[int, ...], mesh: ChipMesh) -> bool:
    """Returns whether the axes of a mesh are digits of the position among ``chips``."""
    if mesh[1] == chips:
        return True
    if set(mesh[1]) != set(chips):
        return False
    from tt_xla.compiler.sharding.axes import digits_of

    return digits_of(np.array([chips.index(chip) for chip in mesh[1]]).reshape(mesh[0].shape)) is not None


def _described(mesh: Mesh, chips: tuple[int, ...]) -> str:
    axes = ", ".join(f"{name}={size}" for name, size in zip(mesh.axes, mesh.shape, strict=True))
    return f"a mesh ({axes}) of chips {list(chips)}"
