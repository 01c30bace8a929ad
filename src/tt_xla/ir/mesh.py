"""Meshes of chips, and how tensors are split over them, as plain values.

A program for several chips is SPMD: every chip of the mesh runs the same instructions on its own shards. Chips are
numbered by their *position*: the row-major index of their coordinates in the mesh. Nothing here depends on xDSL, torch
or JAX.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

Shape = tuple[int, ...]
Axes = tuple[int, ...]
"""Indices of mesh axes, major first."""


class Mesh(msgspec.Struct, frozen=True):
    """The arrangement of the chips that run one program."""

    shape: Shape
    """Number of chips along each axis, outermost axis first."""
    axes: tuple[str, ...]
    """Name of each axis."""
    devices: tuple[int, ...] = ()
    """Number of the device at each position, where the user chose them; empty where the system chooses."""

    @property
    def size(self) -> int:
        """Number of chips."""
        return math.prod(self.shape)

    def coordinates(self, position: int) -> Shape:
        """Returns the coordinates of the chip at a position."""
        reversed_coordinates: list[int] = []
        for size in reversed(self.shape):
            position, coordinate = divmod(position, size)
            reversed_coordinates.append(coordinate)
        return tuple(reversed(reversed_coordinates))

    def position(self, coordinates: Iterable[int]) -> int:
        """Returns the position of the chip at these coordinates."""
        position = 0
        for coordinate, size in zip(coordinates, self.shape, strict=True):
            position = position * size + coordinate
        return position

    def groups(self, axes: Sequence[int]) -> list[list[int]]:
        """Returns the groups of positions whose coordinates differ in ``axes`` only.

        Args:
            axes: indices of mesh axes, major first: the last one varies fastest within a group.
        """
        others = [axis for axis in range(len(self.shape)) if axis not in axes]
        strides = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        within = self._offsets(axes, strides)
        return [[first + offset for offset in within] for first in self._offsets(others, strides)]

    def _offsets(self, axes: Iterable[int], strides: Sequence[int]) -> list[int]:
        """Returns the positions whose coordinates along other axes are 0."""
        ranges = (range(0, self.shape[axis] * strides[axis], strides[axis]) for axis in axes)
        return [sum(steps) for steps in itertools.product(*ranges)]


class Sharding(msgspec.Struct, frozen=True):
    """How a tensor is split over a mesh."""

    dims: tuple[tuple[int, ...], ...]
    """For each dimension of the tensor, the indices of the mesh axes that split it, major first. The tensor is
    replicated along every axis that is neither in one of them nor in ``unreduced``."""
    unreduced: tuple[int, ...] = ()
    """Indices of the mesh axes along which chips hold partial sums, in ascending order: the tensor is the sum of what
    they hold."""

    @property
    def splitting_axes(self) -> frozenset[int]:
        """Mesh axes that split a dimension."""
        return frozenset(itertools.chain.from_iterable(self.dims))

    @property
    def axes(self) -> frozenset[int]:
        """Mesh axes along which chips hold different shards or partial sums."""
        return self.splitting_axes.union(self.unreduced)

    @property
    def is_replicated(self) -> bool:
        """Whether every chip holds the whole tensor."""
        return not any(self.dims) and not self.unreduced

    def with_dim(self, dim: int, axes: tuple[int, ...] = ()) -> Sharding:
        """Returns the sharding in which some mesh axes, or none, split a dimension in place of those that do."""
        return Sharding((*self.dims[:dim], axes, *self.dims[dim + 1 :]), self.unreduced)

    def with_unreduced(self, axes: Iterable[int] = ()) -> Sharding:
        """Returns the sharding with partial sums along these mesh axes alone."""
        return Sharding(self.dims, tuple(sorted(axes)))

    def counts(self, mesh: Mesh) -> Shape:
        """Returns the number of shards along each dimension."""
        return _counts(mesh.shape, self.dims)

    def local_shape(self, mesh: Mesh, shape: Sequence[int]) -> Shape:
        """Returns the shape of every chip's shard. A dimension that does not divide evenly is padded at its end."""
        return tuple(-(-size // count) for size, count in zip(shape, self.counts(mesh), strict=True))

    def shard_index(self, mesh: Mesh, position: int) -> Shape:
        """Returns the index of a chip's shard along each dimension."""
        coordinates = mesh.coordinates(position)
        index: list[int] = []
        for axes in self.dims:
            place = 0
            for axis in axes:
                place = place * mesh.shape[axis] + coordinates[axis]
            index.append(place)
        return tuple(index)

    def shard_key(self, mesh: Mesh, position: int) -> Shape:
        """Returns numbers that are the same for the chips that hold the same shard and partial sum."""
        return (*self.shard_index(mesh, position), *self.term(mesh, position))

    def term(self, mesh: Mesh, position: int) -> Shape:
        """Returns the coordinates of a chip along the unreduced axes: which term of the sum it holds."""
        coordinates = mesh.coordinates(position)
        return tuple(coordinates[axis] for axis in self.unreduced)

    def region(self, mesh: Mesh, shape: Sequence[int], position: int) -> tuple[slice, ...]:
        """Returns the part of a tensor of this shape that a chip's shard holds, without padding.

        The part is empty where the shard consists of padding alone.
        """
        local = self.local_shape(mesh, shape)
        index = self.shard_index(mesh, position)
        return tuple(
            slice(min(place * length, size), min((place + 1) * length, size))
            for place, length, size in zip(index, local, shape, strict=True)
        )


@lru_cache(maxsize=4096)
def _counts(mesh: Shape, dims: tuple[tuple[int, ...], ...]) -> Shape:
    """Returns the number of shards along each dimension, for a mesh of this shape."""
    return tuple(math.prod(mesh[axis] for axis in axes) for axes in dims)


def replicated(rank: int) -> Sharding:
    """Returns the sharding of a tensor that every chip holds as a whole."""
    return Sharding(((),) * rank)


def spec_axes(partition_spec: Sequence[Any], axis_names: Sequence[str], axis_count: int) -> tuple[tuple[int, ...], ...]:
    """Returns the indices of the mesh axes in each entry of a partition spec.

    Args:
        partition_spec: for each dimension, the axis or axes that split it, major first, or None. An axis is a name or
            an index.
        axis_names: names of the mesh's axes; empty for a mesh without names.
        axis_count: number of axes of the mesh.

    Raises:
        ValueError: the spec uses an axis twice, or names an unknown axis.
    """
    known = [*axis_names, *range(axis_count)]
    used: set[int] = set()
    dims: list[tuple[int, ...]] = []
    for entry in partition_spec:
        axes: list[int] = []
        for axis in () if entry is None else entry if isinstance(entry, tuple | list) else (entry,):
            if axis not in known:
                raise ValueError(f"The partition spec {partition_spec} names {axis!r}; the mesh has the axes {known}.")
            index = axis_names.index(axis) if isinstance(axis, str) else int(axis)
            if index in used:
                raise ValueError(f"The partition spec {partition_spec} uses axis {axis!r} twice.")
            used.add(index)
            axes.append(index)
        dims.append(tuple(axes))
    return tuple(dims)
