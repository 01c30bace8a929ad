"""Plans which shards the workers of a mesh send each other, so that each has what its own chips exchange.

Every worker computes the plan of all workers from the mesh alone. So no worker asks another one for a shard: it sends
what others miss, and receives what it misses itself, in the order of the shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tt_xla.spmd.grid import Axes, Grid

TRANSFER = "mesh.transfer"
"""The instruction of one worker that sends its operands to other workers and returns what they send to it."""


@dataclass(frozen=True)
class Transfer:
    """The shards of one value that a worker sends and receives at one instruction."""

    sent: Sequence[int]
    """Chips whose shards it sends."""
    to: Sequence[Sequence[int]]
    """Numbers of the workers that get each of them."""
    received: Sequence[int]
    """Chips whose shards it receives."""
    sources: Sequence[int]
    """Number of the worker that sends each of them."""

    def __bool__(self) -> bool:
        return bool(self.sent or self.received)


def transfer(grid: Grid, axes: Axes, needed: Callable[[Grid], Iterable[int]]) -> Transfer:
    """Returns the shards that a worker sends and receives, so that every worker has the shards that it needs.

    Args:
        grid: the mesh and the worker's chips.
        axes: axes along which the value differs.
        needed: returns the chips whose shards the worker of a grid needs.
    """
    by_worker = [grid.of(worker).missing(axes, needed(grid.of(worker))) for worker in grid.workers]
    receivers: dict[tuple[int, ...], list[int]] = {}
    chips: dict[tuple[int, ...], int] = {}
    for worker, missing in enumerate(by_worker):
        for chip in missing:
            if chip in grid.own:
                key = grid.key(axes, chip)
                receivers.setdefault(key, []).append(worker)
                chips[key] = chip
    keys = sorted(chips)
    received = by_worker[grid.worker]
    return Transfer(
        [chips[key] for key in keys],
        [receivers[key] for key in keys],
        received,
        [grid.owner(chip) for chip in received],
    )
