"""Chips of a mesh that hold the same shard, each set of them named by its first chip.

A value differs between chips along some axes of the mesh. Along the other axes all chips hold the same shard, so that
the shard is named by the *representative*: the chip whose coordinates along those other axes are 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from tt_xla.ir.mesh import Mesh

Axes = frozenset[int]
"""Indices of mesh axes along which chips hold different shards of a value."""

NO_AXES: Axes = frozenset()


def union(axes: Iterable[Axes]) -> Axes:
    """Returns all axes that are in one of the sets."""
    return NO_AXES.union(*axes)


class Grid:
    """The positions of a mesh, grouped by the shards that they hold."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.axes: Axes = frozenset(axis for axis, size in enumerate(mesh.shape) if size > 1)
        """Axes with more than one chip; along others nothing can differ."""
        self._coordinates = [mesh.coordinates(position) for position in range(mesh.size)]
        self._representatives: dict[Axes, list[int]] = {}

    def representative(self, axes: Axes, position: int) -> int:
        """Returns the first chip that holds the same shard as the chip at ``position``.

        Args:
            axes: axes along which the value differs.
            position: position of the chip.
        """
        table = self._representatives.get(axes)
        if table is None:
            table = self._representatives[axes] = [
                self.mesh.position(value if axis in axes else 0 for axis, value in enumerate(coordinates))
                for coordinates in self._coordinates
            ]
        return table[position]

    def representatives(self, axes: Axes) -> list[int]:
        """Returns one chip for each shard of a value that differs along ``axes``, in order."""
        return [position for position in range(self.mesh.size) if self.representative(axes, position) == position]

    def is_last(self, axes: Axes, position: int, among: Axes) -> bool:
        """Returns whether no later representative of ``among`` has the same coordinates along ``axes``."""
        coordinates = self._coordinates[position]
        return all(coordinates[axis] == self.mesh.shape[axis] - 1 for axis in among - axes)

    def moved(self, position: int, coordinates: Mapping[int, int]) -> int:
        """Returns the position whose coordinates along some axes are replaced."""
        own = self._coordinates[position]
        return self.mesh.position(coordinates.get(axis, value) for axis, value in enumerate(own))

    def along(self, position: int, axes: Iterable[int]) -> dict[int, int]:
        """Returns the coordinates of a position along some axes."""
        return {axis: self._coordinates[position][axis] for axis in axes}

    def members(self, position: int, axes: tuple[int, ...]) -> list[int]:
        """Returns the chips that differ from the one at ``position`` along ``axes`` only, the last axis fastest."""
        ranges = (range(self.mesh.shape[axis]) for axis in axes)
        return [self.moved(position, dict(zip(axes, inner, strict=True))) for inner in itertools.product(*ranges)]
