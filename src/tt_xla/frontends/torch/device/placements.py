"""Placements: how tensors of the device are split over the chips of a mesh.

A tensor of the device is one tensor for the user, and its bytes are whole on the host. Its placement says which part of
it each chip holds while a program runs. Placements never change a result, only which chip computes what.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tt_xla.errors import CompileError
from tt_xla.frontends.torch.device.buffers import Buffer, buffer_of
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
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


_PLACEMENTS: weakref.WeakKeyDictionary[Buffer, Placement] = weakref.WeakKeyDictionary()


def in_use() -> bool:
    """Returns whether any tensor has a placement. Callers that ask first cost nothing where none has."""
    return bool(_PLACEMENTS.data)  # the length of the WeakKeyDictionary itself takes longer


def place(tensor: torch.Tensor, placement: Placement) -> None:
    """Gives the storage of a tensor of the device a placement."""
    _PLACEMENTS[buffer_of(tensor)] = placement


def unplace(tensor: torch.Tensor) -> None:
    """Removes the placement of a tensor's storage, if it has one."""
    if tensor.device.type == DEVICE_TYPE:
        _PLACEMENTS.pop(buffer_of(tensor), None)


def placement_of(tensor: torch.Tensor) -> Placement | None:
    """Returns the placement of a tensor; None for CPU tensors, unplaced tensors, and views of another shape."""
    if tensor.device.type != DEVICE_TYPE:
        return None
    placement = _PLACEMENTS.get(buffer_of(tensor))
    return placement if placement is not None and placement.shape == tuple(tensor.shape) else None


def placement_of_value(value: Value) -> Placement | None:
    """Returns the placement of recorded contents, which is that of the buffer that owns them."""
    owner = value.owner() if value.owner is not None else None
    placement = _PLACEMENTS.get(owner) if owner is not None else None
    return placement if placement is not None and placement.shape == tuple(value.shape) else None


def place_buffer(buffer: Buffer, placement: Placement) -> None:
    """Gives a buffer a placement."""
    _PLACEMENTS[buffer] = placement


_default_mesh: tuple[Mesh, tuple[int, ...]] | None = None


def set_default_mesh(mesh: Mesh, chips: tuple[int, ...]) -> None:
    """Sets the mesh of programs that have collectives, but no argument with a placement.

    Args:
        mesh: the mesh.
        chips: number of the chip at each position of the mesh.
    """
    global _default_mesh
    _default_mesh = (mesh, chips)


def default_mesh() -> tuple[Mesh, tuple[int, ...]] | None:
    """Returns the mesh that :func:`set_default_mesh` set last, or None."""
    return _default_mesh


def mesh_of(placements: Sequence[Placement | None]) -> tuple[Mesh, tuple[int, ...]] | None:
    """Returns the mesh of a program's arguments, and its chips by position; None if no argument has a placement.

    Raises:
        CompileError: two arguments are on different meshes.
    """
    meshes: dict[tuple[Mesh, tuple[int, ...]], int] = {}
    for position, placement in enumerate(placements):
        if placement is not None:
            meshes.setdefault((placement.mesh, placement.chips), position)
    if len(meshes) > 1:
        ((first, first_position), (second, second_position), *_) = meshes.items()
        raise CompileError(
            f"Arguments of one program are on different meshes: argument {first_position} on {_described(*first)}, "
            f"argument {second_position} on {_described(*second)}.",
            hint="Mark all tensors of a program with shardings on one mesh.",
        )
    return next(iter(meshes), None)


def _described(mesh: Mesh, chips: tuple[int, ...]) -> str:
    axes = ", ".join(f"{name}={size}" for name, size in zip(mesh.axes, mesh.shape, strict=True))
    return f"a mesh ({axes}) of chips {list(chips)}"
