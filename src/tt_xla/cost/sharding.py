"""The layouts of a tensor on a chip: in DRAM, interleaved in L1, and sharded in L1 over cores that divide it well.

Each way of sharding has one grid for a shape, so that consecutive ops agree on it: as few tiles on the busiest core as
the chip's grid allows, and then no more cores than needed for that; or somewhat fewer, if all shards are then full.
TT-NN requires as many shards as cores, and accepts a last shard that is not full (tried in its mock mode), but its
binary kernels read such shards page by page.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tt_xla.ir.layout import TILE, BufferType, CoreRange, DataType, MemoryLayout, TensorLayout
from tt_xla.target import Target

HEIGHT, WIDTH, BLOCK = MemoryLayout.HEIGHT_SHARDED, MemoryLayout.WIDTH_SHARDED, MemoryLayout.BLOCK_SHARDED


def core_ranges(memory: MemoryLayout, grid: tuple[int, int], chip: tuple[int, int]) -> tuple[CoreRange, ...]:
    """Returns the cores of a ``grid`` of shards on the cores of a ``chip`` (both rows and columns).

    Block shards lie on a rectangle of cores, others row by row of the chip. The grid of a block-sharded tensor must fit
    in the chip's grid; any other must not have more shards than the chip has cores.
    """
    if memory is BLOCK:
        return (CoreRange((0, 0), (grid[1] - 1, grid[0] - 1)),)
    rows, last = divmod(grid[0] * grid[1], chip[1])
    ranges: list[CoreRange] = []
    if rows:
        ranges.append(CoreRange((0, 0), (chip[1] - 1, rows - 1)))
    if last:
        ranges.append(CoreRange((0, rows), (last - 1, rows)))
    return tuple(ranges)


def sharded(
    shape: Sequence[int], dtype: DataType, memory: MemoryLayout, grid: tuple[int, int], target: Target
) -> TensorLayout:
    """Returns the layout of a tiled tensor that is cut into ``grid`` shards in L1."""
    return TensorLayout.of(
        shape,
        dtype,
        buffer=BufferType.L1,
        memory=memory,
        grid=grid,
        core_ranges=core_ranges(memory, grid, target.grid),
    )


def interleaved_in_l1(layout: TensorLayout, shape: Sequence[int], target: Target) -> TensorLayout:
    return layout.with_(shape, buffer=BufferType.L1, memory=MemoryLayout.INTERLEAVED, grid=target.grid)


def in_dram(layout: TensorLayout, shape: Sequence[int]) -> TensorLayout:
    return layout.with_(shape, buffer=BufferType.DRAM, memory=MemoryLayout.INTERLEAVED, grid=(1, 1))


def over_dram_banks(layout: TensorLayout, shape: Sequence[int], target: Target) -> TensorLayout:
    """Returns a layout with its columns sharded over all banks of DRAM."""
    banks = (CoreRange((0, 0), (target.dram_banks - 1, 0)),)
    grid = (1, target.dram_banks)
    return layout.with_(shape, buffer=BufferType.DRAM, memory=WIDTH, grid=grid, core_ranges=banks)


@functools.lru_cache(maxsize=4096)
def shardings(shape: tuple[int, ...], dtype: DataType, target: Target) -> tuple[TensorLayout, ...]:
    """Returns height-, width- and block-sharded layouts of a tiled tensor, except those that would use one core."""
    unsharded = TensorLayout.of(shape, dtype)
    rows, columns = unsharded.shard
    high, wide = _cuts(rows, target.cores), _cuts(columns, target.cores)
    block = (_cuts(rows, target.grid[0]), _cuts(columns, target.grid[1]))
    grids = ((HEIGHT, (high, 1)), (WIDTH, (1, wide)), (BLOCK, block))
    return tuple(
        sharded(shape, dtype, memory, grid, target)
        for memory, grid in grids
        if grid[0] * grid[1] > 1 and (memory is not BLOCK or min(grid) > 1)
    )


_EVEN_SHARE = 0.75
"""Share of the cores from which on full shards are preferred to fewer tiles on each core."""


def _cuts(count: int, cores: int) -> int:
    """Returns the number of cores for ``count`` tiles if each core but the last has equally many."""
    cut = least_cut(count, cores)
    even = next((cores for cores in range(cut, 1, -1) if count % cores == 0), 1)
    return even if even >= _EVEN_SHARE * cut else cut


def even_blocks(shape: tuple[int, ...], dtype: DataType, target: Target) -> TensorLayout | None:
    """Returns the block-sharded layout of a tiled tensor whose columns are cut evenly over most cores, or None."""
    rows, columns = TensorLayout.of(shape, dtype).shard
    cut = next((cores for cores in range(min(columns, target.grid[1]), 1, -1) if columns % cores == 0), 1)
    grid = (_cuts(rows, target.grid[0]), cut)
    return sharded(shape, dtype, BLOCK, grid, target) if min(grid) > 1 else None


def may_pad_channels(source: TensorLayout, channels: Sequence[int], target: Target) -> bool:
    """Returns whether TT-NN may pad channels of a convolution whose cores it chooses itself, as for interleaved inputs.

    It takes the most cores of a row, a column or the chip of which none has only padding
    (``find_closest_largest_divisor_with_num_padding`` in tt-metal).

    Args:
        source: layout of the input.
        channels: numbers of channels of the input and of the result.
        target: the chip.
    """
    if source.is_sharded:
        return False
    for tiles in (-(-each // TILE) for each in channels):
        for cores in (*target.grid, target.cores):
            parts = next(parts for parts in range(cores, 0, -1) if -tiles % parts < -(-tiles // parts))
            if tiles % parts:
                return True
    return False


def even_cuts(count: int, cores: int) -> list[int]:
    """Returns the numbers of cores, most first, over which ``count`` tiles are cut evenly, if not too few take part."""
    return [cut for cut in range(min(count, cores), 1, -1) if count % cut == 0 and cut >= _EVEN_SHARE * cores]


def rows_in_shards(
    shape: Sequence[int], dtype: DataType, memory: MemoryLayout, cores: int, target: Target
) -> TensorLayout:
    """Returns the layout of a row-major tensor in L1 whose rows, or columns if ``memory`` is WIDTH, cores share."""
    grid = (1, cores) if memory is WIDTH else (cores, 1)
    ranges = core_ranges(memory, grid, target.grid)
    place: dict[str, Any] = {"buffer": BufferType.L1, "memory": memory, "grid": grid, "core_ranges": ranges}
    return TensorLayout.of(shape, dtype, tiled=False, **place)


def least_cut(count: int, cores: int) -> int:
    """Returns the number of cores for ``count`` tiles with as few on each as possible; TT-NN's own choice."""
    each = max(-(-count // cores), 1)
    return -(-count // each)


def same_shards(one: TensorLayout, other: TensorLayout) -> bool:
    """Whether each core has the same part of both, so that an op between them stays within cores."""
    return (
        one.memory is other.memory
        and one.grid == other.grid
        and one.shard == other.shard
        and one.buffer is other.buffer
        and one.tiled == other.tiled
    )
