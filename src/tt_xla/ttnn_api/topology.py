"""How a tensor is distributed over the chips of a mesh, in TT-NN's values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.shapes import MeshCoordinate, MeshShape


@dataclass(frozen=True)
class PlacementShard:
    """A dimension of the tensor that is split along an axis of the mesh."""

    dim: int

    def __repr__(self) -> str:
        return f"PlacementShard({self.dim})"


@dataclass(frozen=True)
class PlacementReplicate:
    """The tensor is the same along an axis of the mesh."""

    def __repr__(self) -> str:
        return "PlacementReplicate()"


__all__ = [
    "MeshCoordinateRange",
    "MeshCoordinateRangeSet",
    "PlacementReplicate",
    "PlacementShard",
    "TensorTopology",
]

Placement = PlacementShard | PlacementReplicate
REPLICATE = PlacementReplicate()


class MeshCoordinateRange:
    """A box of a mesh: from ``start`` to ``end``, which belongs to it, or a whole mesh.

    Args:
        start: the first coordinate, or the shape of a mesh.
        end: the last coordinate.
    """

    def __init__(self, start: MeshShape | MeshCoordinate, end: MeshCoordinate | None = None) -> None:
        whole = end is None
        self.start = MeshCoordinate([0] * start.dims() if whole else start)
        self.end = MeshCoordinate([size - 1 for size in start] if whole else end)

    def __iter__(self) -> Iterator[MeshCoordinate]:
        ranges = (range(first, last + 1) for first, last in zip(self.start, self.end, strict=True))
        return map(MeshCoordinate, itertools.product(*ranges))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshCoordinateRange) and (self.start, self.end) == (other.start, other.end)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __repr__(self) -> str:
        return f"MeshCoordinateRange(start={self.start}, end={self.end})"


class MeshCoordinateRangeSet:
    """Boxes of a mesh."""

    def __init__(self, mesh_coordinate_range: MeshCoordinateRange | None = None) -> None:
        self._ranges = [] if mesh_coordinate_range is None else [mesh_coordinate_range]

    def merge(self, mesh_coordinate_range: MeshCoordinateRange) -> None:
        """Adds a box."""
        if mesh_coordinate_range not in self._ranges:
            self._ranges.append(mesh_coordinate_range)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshCoordinateRangeSet) and {*self._ranges} == {*other._ranges}

    def __hash__(self) -> int:
        return hash(frozenset(self._ranges))

    def __repr__(self) -> str:
        return f"MeshCoordinateRangeSet({', '.join(map(repr, self._ranges))})"


@dataclass(frozen=True)
class TensorTopology:
    """The distribution of a tensor over a mesh."""

    _shape: MeshShape
    _placements: tuple[Placement, ...]
    _coords: tuple[MeshCoordinate, ...]

    def distribution_shape(self) -> MeshShape:
        return self._shape

    def placements(self) -> list[Placement]:
        return list(self._placements)

    def mesh_coords(self) -> list[MeshCoordinate]:
        return list(self._coords)

    def __repr__(self) -> str:
        coords = ", ".join(map(repr, self._coords))
        placements = ", ".join(map(repr, self._placements))
        return (
            f"TensorTopology(distribution_shape={self._shape}, placements=SmallVector([{placements}]), "
            f"mesh_coords={coords})"
        )


ONE_CHIP = TensorTopology(MeshShape([1]), (REPLICATE,), (MeshCoordinate(0, 0),))
"""Topology of a tensor that was not distributed."""


def replicated(mesh: MeshShape) -> TensorTopology:
    """Returns the topology of a tensor that every chip of a mesh holds."""
    return TensorTopology(MeshShape([mesh.mesh_size()]), (REPLICATE,), tuple(MeshCoordinateRange(mesh)))


def mesh_places(
    distribution_shape: Iterable[int], mesh_shape: Iterable[int], offset: Iterable[int] = ()
) -> list[MeshCoordinate]:
    """Returns the place in the mesh of each coordinate of a distribution, in row-major order.

    A distribution with as many dimensions as the mesh that fits into it is a box of it at ``offset``; any other one
    takes the chips in row-major order.

    Raises:
        TTFatal: the distribution has more coordinates than the mesh.
    """
    distribution_shape, mesh_shape = tuple(distribution_shape), tuple(mesh_shape)
    start = list(offset) or [0] * len(mesh_shape)
    fits = len(distribution_shape) == len(mesh_shape)
    if fits and all(first + size <= of for first, size, of in zip(start, distribution_shape, mesh_shape, strict=True)):
        box = itertools.product(*(range(size) for size in distribution_shape))
        return [MeshCoordinate([first + step for first, step in zip(start, place, strict=True)]) for place in box]
    count = math.prod(distribution_shape)
    if count > math.prod(mesh_shape):
        raise TTFatal(
            f"The size of the supplied mesh shape {MeshShape(distribution_shape)} does not match the device shape size "
            f"{MeshShape(mesh_shape)}",
            hint="Distribute over as many chips as the mesh has, or fewer.",
        )
    return list(itertools.islice(MeshCoordinateRange(MeshShape(mesh_shape)), count))


def merged(topologies: Sequence[TensorTopology]) -> TensorTopology:
    """Returns the topology of a result of an op on each chip: split along all axes along which an operand is.

    Operands with fewer dimensions in their distribution, or fewer chips, do not count.
    """
    first = topologies[0]
    if all(each is first for each in topologies):
        return first

    def size(topology: TensorTopology) -> tuple[int, int]:
        return topology.distribution_shape().dims(), len(topology.mesh_coords())

    largest = max(topologies, key=size)
    shape = largest.distribution_shape()
    alike = [each.placements() for each in topologies if each.distribution_shape() == shape]
    placements = [
        next((place for place in places if isinstance(place, PlacementShard)), REPLICATE)
        for places in zip(*alike, strict=True)
    ]
    return TensorTopology(shape, tuple(placements), tuple(largest.mesh_coords()))


def along_axis(topology: TensorTopology, mesh: MeshShape, axis: int | None, placement: Placement) -> TensorTopology:
    """Returns the topology of an exchange's result, in which an axis of the mesh has another placement.

    Args:
        topology: the operand's.
        mesh: shape of the mesh.
        axis: the axis of the exchange; None for an exchange between all chips.
        placement: placement of the result along the axis.
    """
    coords = tuple(MeshCoordinateRange(mesh))
    if axis is None:
        return TensorTopology(MeshShape([mesh.mesh_size()]), (placement,), coords)
    before: list[Placement] = [REPLICATE] * mesh.dims()
    if topology.distribution_shape() == mesh:
        before = topology.placements()
    if isinstance(placement, PlacementShard):
        before = [REPLICATE if each == placement else each for each in before]
    before[axis] = placement
    return TensorTopology(mesh, tuple(before), coords)
