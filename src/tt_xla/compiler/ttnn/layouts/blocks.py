"""Occupied ranges of a core's L1, as TT-NN's allocator assigns them: from the top down, in the first gap that fits."""

from __future__ import annotations

from collections.abc import Iterable

Blocks = tuple[tuple[int, int, frozenset[int]], ...]
"""Occupied ranges [start, stop) of L1 in order of addresses, and the values that share each."""


def placed(blocks: Blocks, value: int, size: int, capacity: tuple[int, int]) -> Blocks | None:
    """Returns the blocks with ``size`` bytes for ``value`` in the first gap from the top, or None if none fits.

    Args:
        blocks: Occupied ranges.
        value: Number of the value that gets the bytes.
        size: Bytes of each core's L1.
        capacity: Range [base, end) of addresses that may be used.
    """
    base, stop = capacity
    for position in range(len(blocks) - 1, -2, -1):
        above = blocks[position][1] if position >= 0 else base
        if stop - above >= size:
            block = (stop - size, stop, frozenset((value,)))
            return (*blocks[: position + 1], block, *blocks[position + 1 :])
        if position >= 0:
            stop = blocks[position][0]
    return None


def freed(blocks: Blocks, values: Iterable[int]) -> Blocks:
    """Returns the blocks without those that the values own alone."""
    for value in values:
        for position, (start, stop, owners) in enumerate(blocks):
            if value in owners:
                co_owners = owners - {value}
                remaining = ((start, stop, co_owners),) if co_owners else ()
                blocks = (*blocks[:position], *remaining, *blocks[position + 1 :])
                break
    return blocks


def renamed(blocks: Blocks, old: int, new: int) -> Blocks:
    """Returns the blocks with one value in the place of another."""
    return tuple((start, stop, frozenset((new,)) if old in owners else owners) for start, stop, owners in blocks)


def shared(blocks: Blocks, owner: int, other: int) -> Blocks:
    """Returns the blocks with another value as co-owner of those of ``owner``."""
    return tuple((start, stop, owners | {other} if owner in owners else owners) for start, stop, owners in blocks)
