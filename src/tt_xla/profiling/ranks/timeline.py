"""Puts the kernels of all ranks on one clock of predicted device time, by the collectives that the ranks share.

A rank's kernels follow each other with the predicted gaps; the time of the host, which here shares its cores with the
other ranks and with the emulation, is no part of this clock. A collective begins when the last of its ranks comes: the
others wait until then. The n-th collective of a process group is the same one on all ranks of the group.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tt_xla.ir.ranks import PROCESS_GROUP
from tt_xla.profiling.device_time import Kernel, kernels
from tt_xla.profiling.recording import Op, Recording

Key = tuple[str, tuple[int, ...], int]
"""A collective: name of the process group, its chips, and the number of the collective in the group."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A kernel call on the common clock. Its gap contains the time in which the rank waits for others."""

    kernel: Kernel
    wait_ns: float = 0.0
    """Time in which the rank waits for the others before a collective."""
    last: int = 0
    """Number of the rank that came last to the collective that the rank waited for."""


@dataclass
class Collective:
    """A collective on the common clock, with the kernel of each rank that takes part."""

    group: str
    kernels: dict[int, Kernel] = field(default_factory=dict)

    @property
    def first(self) -> Kernel:
        """The kernel of its first rank."""
        return self.kernels[min(self.kernels)]


@dataclass
class Timeline:
    """The kernels of all ranks on one clock, which begins at 0."""

    ranks: dict[int, list[Placed]]
    collectives: list[Collective]
    """The collectives in the order in which they begin."""


def align(recordings: Mapping[int, Recording]) -> Timeline:
    """Returns the timeline of some ranks.

    Args:
        recordings: the recording of each rank, by number.
    """
    calls = {rank: kernels(recording, host_idle=False) for rank, recording in recordings.items()}
    keys = {rank: list(_keys(own)) for rank, own in calls.items()}
    members: defaultdict[Key, set[int]] = defaultdict(set)
    for rank, own in keys.items():
        for key in own:
            if key is not None:
                members[key].add(rank)
    return _Aligner(calls, keys, members).run()


class _Aligner:
    """Advances the clocks of all ranks, each up to the next collective that other ranks have not reached."""

    def __init__(
        self,
        calls: Mapping[int, Sequence[Kernel]],
        keys: Mapping[int, Sequence[Key | None]],
        members: Mapping[Key, set[int]],
    ) -> None:
        self._calls, self._keys, self._members = calls, keys, members
        self._clocks = dict.fromkeys(calls, 0.0)
        self._timeline = Timeline({rank: [] for rank in calls}, [])

    def run(self) -> Timeline:
        waiting: defaultdict[Key, set[int]] = defaultdict(set)
        ready = list(self._calls)
        while ready:
            rank = ready.pop()
            key = self._advance(rank)
            if key is None:
                continue
            waiting[key].add(rank)
            if waiting[key] == self._members[key]:
                self._exchange(key)
                ready += sorted(waiting.pop(key))
            # Where a recording ended early, threads may have left an order in which no collective is complete.
            if not ready and waiting:
                earliest = min(waiting, key=lambda each: min(self._arrival(member) for member in waiting[each]))
                self._exchange(earliest, waiting[earliest])
                ready += sorted(waiting.pop(earliest))
        self._timeline.collectives.sort(key=lambda each: each.first.start_ns)
        return self._timeline

    def _next(self, rank: int) -> Kernel:
        return self._calls[rank][len(self._timeline.ranks[rank])]

    def _arrival(self, rank: int) -> float:
        return self._clocks[rank] + self._next(rank).gap_ns

    def _advance(self, rank: int) -> Key | None:
        """Places the kernels of a rank up to its next collective, and returns that; None at its end."""
        placed, keys = self._timeline.ranks[rank], self._keys[rank]
        while len(placed) < len(keys):
            key = keys[len(placed)]
            if key is not None:
                return key
            self._place(rank, self._next(rank).duration_ns)
        return None

    def _place(self, rank: int, duration: float, wait: float = 0.0, last: int = 0) -> Kernel:
        kernel, start = self._next(rank), self._arrival(rank) + wait
        placed = dataclasses.replace(kernel, start_ns=start, duration_ns=duration, gap_ns=kernel.gap_ns + wait)
        self._timeline.ranks[rank].append(Placed(placed, wait, last))
        self._clocks[rank] = start + duration
        return placed

    def _exchange(self, key: Key, ranks: set[int] | None = None) -> None:
        """Places a collective on all of its ranks: it begins with the last one, and ends on all of them together."""
        ranks = self._members[key] if ranks is None else ranks
        arrivals = {rank: self._arrival(rank) for rank in sorted(ranks)}
        last = max(arrivals, key=lambda rank: arrivals[rank])
        duration = max(self._next(rank).duration_ns for rank in ranks)
        collective = Collective(key[0])
        for rank, arrival in arrivals.items():
            collective.kernels[rank] = self._place(rank, duration, arrivals[last] - arrival, last)
        self._timeline.collectives.append(collective)


def _keys(calls: Sequence[Kernel]) -> Iterator[Key | None]:
    """Yields the collective that each kernel is a rank's part of; None for other kernels."""
    counts: defaultdict[tuple[str, tuple[int, ...]], int] = defaultdict(int)
    for kernel in calls:
        group = group_of(kernel.op)
        if group is None:
            yield None
            continue
        yield (*group, counts[group])
        counts[group] += 1


def group_of(op: Op) -> tuple[str, tuple[int, ...]] | None:
    """Returns the name and the chips of the process group in which an op exchanges tensors; None for another op."""
    attributes = op.instruction.attributes
    if PROCESS_GROUP not in attributes:
        return None
    return str(attributes[PROCESS_GROUP]), tuple(map(int, attributes.get("chips") or ()))
