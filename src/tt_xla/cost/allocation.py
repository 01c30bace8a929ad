"""TT-NN's allocator: one address for a buffer in every bank, the first gap that fits.

DRAM is filled from the bottom up and L1 from the top down, since the circular buffers of the running op grow from the
bottom of L1 (tt-metal ``BankManager``; tried in TT-NN's mock mode with ``tensor.buffer_address()``).
"""

from __future__ import annotations

import bisect
from collections.abc import Hashable
from dataclasses import dataclass, field

from tt_xla.ir.layout import round_up


@dataclass
class AddressSpace:
    """The addresses [base, end) of one bank; every other bank of the buffer type looks the same."""

    name: str
    base: int
    end: int
    align: int
    top_down: bool = False
    owners: dict[Hashable, tuple[int, int]] = field(default_factory=lambda: {})
    """Taken [start, stop) by what took it."""
    gaps: list[tuple[int, int]] = field(default_factory=lambda: [])
    """Free [start, stop) in order of addresses."""
    peak: int = 0
    """Bytes between where allocation starts and the farthest address reached so far."""

    def __post_init__(self) -> None:
        self.gaps = [(self.base, self.end)]

    @property
    def used(self) -> int:
        return sum(stop - start for start, stop in self.owners.values())

    @property
    def lowest(self) -> int:
        """The lowest address taken; the end when none is."""
        if not self.gaps or self.gaps[0][0] > self.base:
            return self.base
        return self.gaps[0][1]

    def allocate(self, owner: Hashable, size: int) -> int | None:
        """The address given to ``owner``; None when no gap holds ``size`` bytes."""
        size = round_up(max(size, 1), self.align)
        order = range(len(self.gaps) - 1, -1, -1) if self.top_down else range(len(self.gaps))
        for index in order:
            start, stop = self.gaps[index]
            if stop - start < size:
                continue
            taken = stop - size if self.top_down else start
            left = (start, taken) if self.top_down else (start + size, stop)
            self.gaps[index : index + 1] = [left] if left[1] > left[0] else []
            self.owners[owner] = (taken, taken + size)
            self.peak = max(self.peak, self.end - taken if self.top_down else taken + size - self.base)
            return taken
        return None

    def free(self, owner: Hashable) -> None:
        """Gives back what ``owner`` has, if it has anything here."""
        block = self.owners.pop(owner, None)
        if block is None:
            return
        start, stop = block
        index = bisect.bisect(self.gaps, block)
        if index < len(self.gaps) and self.gaps[index][0] == stop:
            stop = self.gaps.pop(index)[1]
        if index and self.gaps[index - 1][1] == start:
            index -= 1
            start = self.gaps.pop(index)[0]
        self.gaps.insert(index, (start, stop))
