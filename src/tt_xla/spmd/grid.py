"""Chips of a mesh that hold the same shard, each set of them named by its first chip.

A value differs between chips along some axes of the mesh. Along the other axes all chips hold the same shard, so that
the shard is named by the *representative*: the first chip that holds it. Where workers share the chips of a mesh, each
worker has a box of them, and the representative is the first of its own chips.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from tt_xla.ir.mesh import Mesh

Axes = frozenset[int]
"""Indices of mesh axes along which chips hold different shards of a value."""

NO_AXES: Axes = frozenset()


def union(axes: Iterable[Axes]) -> Axes:
    """Returns all axes that are in one of the sets."""
    return NO_AXES.union(*axes)


class Grid:
    """The positions of a mesh, grouped by the shards that they hold.

    Args:
        mesh: the mesh.
        shares: positions of each worker's chips, as :func:`shares` returns them; by default one worker has all.
        worker: number of the worker whose chips are grouped.
    """

    def __init__(self, mesh: Mesh, shares: Sequence[Sequence[int]] | None = None, worker: int = 0) -> None:
        self.mesh = mesh
        self.worker = worker
        self._shares = [range(mesh.size)] if shares is None else [sorted(share) for share in shares]
        self.own = self._shares[worker]
        """Positions of the worker's chips, in order."""
        self.axes: Axes = frozenset(axis for axis, size in enumerate(mesh.shape) if size > 1)
        """Axes with more than one chip; along others nothing can differ."""
        self._coordinates = [mesh.coordinates(position) for position in range(mesh.size)]
        self._representatives: dict[Axes, list[int | None]] = {}
        self._last: dict[tuple[Axes, Axes], set[int]] = {}
        self._narrowed: dict[tuple[tuple[int, int], ...], Grid] = {}
        self._others: dict[int, Grid] = {worker: self}

    @property
    def workers(self) -> range:
        """Numbers of all workers."""
        return range(len(self._shares))

    def of(self, worker: int) -> Grid:
        """Returns the grid of another worker."""
        if worker not in self._others:
            self._others[worker] = Grid(self.mesh, self._shares, worker)
        return self._others[worker]

    def owner(self, position: int) -> int:
        """Returns the number of the worker that has the chip at ``position``."""
        return next(worker for worker, share in enumerate(self._shares) if position in share)

    def key(self, axes: Axes, position: int) -> tuple[int, ...]:
        """Returns the coordinates of a chip along ``axes``, which say what shard of a value it holds."""
        return tuple(value for axis, value in enumerate(self._coordinates[position]) if axis in axes)

    def holds(self, axes: Axes, position: int) -> bool:
        """Returns whether one of the worker's chips holds the same shard as the chip at ``position``."""
        return self._table(axes)[position] is not None

    def missing(self, axes: Axes, positions: Iterable[int]) -> list[int]:
        """Returns a chip for each shard that chips at ``positions`` hold and none of the worker's, in the order of the
        shards."""
        by_key = {self.key(axes, position): position for position in positions if not self.holds(axes, position)}
        return [by_key[key] for key in sorted(by_key)]

    def representative(self, axes: Axes, position: int) -> int:
        """Returns the first of the worker's chips that holds the same shard as the chip at ``position``.

        Args:
            axes: axes along which the value differs.
            position: position of a chip whose shard the worker has.
        """
        chip = self._table(axes)[position]
        assert chip is not None
        return chip

    def representatives(self, axes: Axes) -> list[int]:
        """Returns one chip for each shard that the worker has of a value that differs along ``axes``, in order."""
        table = self._table(axes)
        return [position for position in self.own if table[position] == position]

    def is_last(self, axes: Axes, position: int, among: Axes) -> bool:
        """Returns whether no later representative of ``among`` has the same coordinates along ``axes``."""
        last = self._last.get((axes, among))
        if last is None:
            by_key = {self.key(axes, chip): chip for chip in self.representatives(among)}
            last = self._last[axes, among] = set(by_key.values())
        return position in last

    def narrowed(self, place: Mapping[int, int]) -> Grid:
        """Returns the grid of the chips that have the coordinates ``place``; there, these coordinates count as 0."""
        if not place:
            return self
        found = tuple(sorted(place.items()))
        if found not in self._narrowed:
            first = dict.fromkeys(place, 0)
            shares = [
                [self.moved(chip, first) for chip in share if self.along(chip, place) == place]
                for share in self._shares
            ]
            self._narrowed[found] = Grid(self.mesh, shares, self.worker)
        return self._narrowed[found]

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

    def _table(self, axes: Axes) -> list[int | None]:
        """Returns the representative of each position; None where the worker does not have the shard."""
        table = self._representatives.get(axes)
        if table is None:
            first: dict[tuple[int, ...], int] = {}
            for chip in self.own:
                first.setdefault(self.key(axes, chip), chip)
            positions = range(self.mesh.size)
            table = self._representatives[axes] = [first.get(self.key(axes, position)) for position in positions]
        return table


def shares(mesh: Mesh, workers: int) -> list[list[int]]:
    """Returns the positions of each worker's chips.

    Outer axes are cut first and an inner one only where all outer ones are cut to single chips, so that the chips of a
    worker form a box, and follow each other along every axis.

    Args:
        mesh: the mesh.
        workers: number of workers; more than there are chips have no use.
    """
    boxes = _boxes(mesh.shape, min(workers, mesh.size))
    return [[mesh.position(coordinates) for coordinates in itertools.product(*box)] for box in boxes]


def _boxes(shape: Sequence[int], workers: int) -> list[list[range]]:
    """Returns a range of coordinates along each axis for each worker."""
    if not shape:
        return [[]]
    first, *rest = shape
    if workers < first:
        cuts = [first * worker // workers for worker in range(workers + 1)]
        inner = [range(size) for size in rest]
        return [[range(start, end), *inner] for start, end in itertools.pairwise(cuts)]
    cuts = [workers * row // first for row in range(first + 1)]
    return [
        [range(row, row + 1), *box]
        for row, (start, end) in enumerate(itertools.pairwise(cuts))
        for box in _boxes(rest, end - start)
    ]
