"""The layouts a tensor can lie in on a chip: DRAM, L1 interleaved, and L1 sharded over as many cores as divide it well.

For each way of sharding there is one grid a shape, so that ops that follow each other agree on it: as few tiles on the
busiest core as the chip's grid allows, and then no more cores than that takes. TT-NN wants the number of shards to be
the number of cores, and takes a last shard that is not full (tried in its mock mode).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tt_xla.ir.layout import BufferType, CoreRange, DataType, MemoryLayout, TensorLayout
from tt_xla.target import Target

HEIGHT, WIDTH, BLOCK = MemoryLayout.HEIGHT_SHARDED, MemoryLayout.WIDTH_SHARDED, MemoryLayout.BLOCK_SHARDED


def core_ranges(memory: MemoryLayout, grid: tuple[int, int], target: Target) -> tuple[CoreRange, ...]:
    """Where the shards of a ``grid`` (rows, columns of shards) lie: blocks as they are, lines row by row of the chip.

    ``grid`` of a block-sharded tensor must fit in the chip's, that of the others must not have more shards than cores.
    """
    if memory is BLOCK:
        return (CoreRange((0, 0), (grid[1] - 1, grid[0] - 1)),)
    rows, last = divmod(grid[0] * grid[1], target.grid[1])
    ranges: list[CoreRange] = []
    if rows:
        ranges.append(CoreRange((0, 0), (target.grid[1] - 1, rows - 1)))
    if last:
        ranges.append(CoreRange((0, rows), (last - 1, rows)))
    return tuple(ranges)


def sharded(
    shape: Sequence[int], dtype: DataType, memory: MemoryLayout, grid: tuple[int, int], target: Target
) -> TensorLayout:
    """A tiled tensor of ``shape`` cut into ``grid`` shards in L1."""
    return TensorLayout.of(
        shape,
        dtype,
        buffer=BufferType.L1,
        memory=memory,
        grid=grid,
        core_ranges=core_ranges(memory, grid, target),
    )


def interleaved_in_l1(layout: TensorLayout, shape: Sequence[int], target: Target) -> TensorLayout:
    return layout.with_(shape, buffer=BufferType.L1, memory=MemoryLayout.INTERLEAVED, grid=target.grid)


def in_dram(layout: TensorLayout, shape: Sequence[int]) -> TensorLayout:
    return layout.with_(shape, buffer=BufferType.DRAM, memory=MemoryLayout.INTERLEAVED, grid=(1, 1))


def over_dram_banks(layout: TensorLayout, shape: Sequence[int], target: Target) -> TensorLayout:
    """``layout`` with its columns cut over all banks of DRAM."""
    banks = (CoreRange((0, 0), (target.dram_banks - 1, 0)),)
    grid = (1, target.dram_banks)
    return layout.with_(shape, buffer=BufferType.DRAM, memory=WIDTH, grid=grid, core_ranges=banks)


@functools.lru_cache(maxsize=4096)
def shardings(shape: tuple[int, ...], dtype: DataType, target: Target) -> tuple[TensorLayout, ...]:
    """Height-, width- and block-sharded layouts of a tiled tensor; those that would use one core are left out."""
    whole = TensorLayout.of(shape, dtype)
    rows, columns = whole.shard
    high, wide = _cuts(rows, target.cores), _cuts(columns, target.cores)
    block = (_cuts(rows, target.grid[0]), _cuts(columns, target.grid[1]))
    grids = ((HEIGHT, (high, 1)), (WIDTH, (1, wide)), (BLOCK, block))
    return tuple(
        sharded(shape, dtype, memory, grid, target)
        for memory, grid in grids
        if grid[0] * grid[1] > 1 and (memory is not BLOCK or min(grid) > 1)
    )


def _cuts(count: int, cores: int) -> int:
    """How many cores ``count`` tiles take when each but the last has equally many."""
    each = -(-count // cores)
    return -(-count // max(each, 1))


def same_shards(one: TensorLayout, other: TensorLayout) -> bool:
    """Whether each core has the same part of both, so that an op between them stays within cores."""
    return (
        one.memory is other.memory
        and one.grid == other.grid
        and one.shard == other.shard
        and one.buffer is other.buffer
        and one.tiled == other.tiled
    )
