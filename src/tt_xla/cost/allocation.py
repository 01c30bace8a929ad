"""TT-NN's allocator: a buffer has one address in every bank, in the first gap that holds it.

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
    """The addresses [base, end) of one bank. All banks of a buffer type look the same."""

    name: str
    base: int
    end: int
    align: int
    top_down: bool = False
    owners: dict[Hashable, tuple[int, int]] = field(default_factory=lambda: {})
    """Allocated address ranges [start, stop) by owner."""
    gaps: list[tuple[int, int]] = field(default_factory=lambda: [])
    """Free address ranges [start, stop) in order of addresses."""
    peak: int = 0
    """Bytes between the end at which allocation starts and the farthest address allocated so far."""

    def __post_init__(self) -> None:
        self.gaps = [(self.base, self.end)]

    @property
    def used(self) -> int:
        """Allocated bytes."""
        return sum(stop - start for start, stop in self.owners.values())

    @property
    def lowest(self) -> int:
        """Lowest allocated address, or ``end`` if nothing is allocated."""
        if not self.gaps or self.gaps[0][0] > self.base:
            return self.base
        return self.gaps[0][1]

    def allocate(self, owner: Hashable, size: int) -> int | None:
        """Allocates ``size`` bytes for an owner. Returns the address, or None if no gap holds them."""
        size = round_up(max(size, 1), self.align)
        order = range(len(self.gaps) - 1, -1, -1) if self.top_down else range(len(self.gaps))
        for index in order:
            start, stop = self.gaps[index]
            if stop - start < size:
                continue
            address = stop - size if self.top_down else start
            left = (start, address) if self.top_down else (start + size, stop)
            self.gaps[index : index + 1] = [left] if left[1] > left[0] else []
            self.owners[owner] = (address, address + size)
            self.peak = max(self.peak, self.end - address if self.top_down else address + size - self.base)
            return address
        return None

    def free(self, owner: Hashable) -> None:
        """Frees the bytes of an owner, if it has any here."""
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
