"""The shards that TT-NN chooses for a result whose memory config names a kind of sharding alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tt_xla.ttnn_api.enums import Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.geometry import TILE_SIZE, CoreCoord, CoreRange, CoreRangeSet, MemoryConfig, ShardSpec
from tt_xla.ttnn_api.shards import grid_of, matrix, replace_shards

if TYPE_CHECKING:
    from tt_xla.ttnn_api.configs import Config
    from tt_xla.ttnn_api.plan import Operand

_BLOCK = 16
"""Tiles along each side of the blocks into which TT-NN cuts a product of interleaved tensors."""


def is_open(memory: MemoryConfig | None) -> bool:
    """Returns whether a memory config names a kind of sharding and no shards."""
    return memory is not None and memory.is_sharded() and memory.shard_spec is None and memory.nd_shard_spec is None


def inherited(memory: MemoryConfig | None, source: MemoryConfig) -> MemoryConfig | None:
    """Returns the memory that a call names; None where an open one leaves the shards to a sharded operand."""
    return None if is_open(memory) and source.memory_layout is getattr(memory, "memory_layout", None) else memory


def for_elements(
    memory: MemoryConfig | None, shape: Sequence[int], layout: Layout, tensors: Sequence[Operand]
) -> MemoryConfig | None:
    """Returns the memory of an elementwise result: shards of an operand, or the result divided among all cores."""
    device = tensors[0].device
    if memory is None or not is_open(memory) or device is None:
        return memory
    sharded = next((each.memory for each in tensors if each.memory.is_sharded()), None)
    if sharded is None:
        return divided(memory, shape, layout, device.compute_with_storage_grid_size())
    return sharded if len(tensors) > 1 or sharded.shard_spec is None else replace_shards(memory, sharded.shard_spec)


def cores_in_order(count: int, width: int, height: int, *, by_rows: bool = True) -> CoreRangeSet:
    """Returns the first cores of a grid: its whole rows or columns, and a part of the next one."""
    length = width if by_rows else height
    whole, rest = divmod(count, length)

    def block(start: int, lines: int, cores: int) -> CoreRange:
        first, last = (0, start), (cores - 1, start + lines - 1)
        corners = (first, last) if by_rows else (first[::-1], last[::-1])
        return CoreRange(*(CoreCoord(*corner) for corner in corners))

    ranges = [block(0, whole, length)] if whole else []
    return CoreRangeSet([*ranges, *([block(whole, 1, rest)] if rest else [])])


def _parts(size: int, cores: int, unit: int) -> tuple[int, int]:
    """Returns the size of a shard along one side, in whole units, and the number of shards."""
    shard = max(-(-size // (cores * unit)), 1) * unit
    return shard, max(-(-size // shard), 1)


def divided(memory: MemoryConfig, shape: Sequence[int], layout: Layout, grid: CoreCoord) -> MemoryConfig:
    """Returns an open memory config with shards that divide a shape among the cores of a grid."""
    rows, columns = matrix(shape, layout)
    unit = TILE_SIZE if layout is Layout.TILE else 1
    kind, cores = memory.memory_layout, grid.x * grid.y
    if kind is TensorMemoryLayout.BLOCK_SHARDED:
        (high, down), (wide, across) = _parts(rows, grid.y, TILE_SIZE), _parts(columns, grid.x, TILE_SIZE)
        return replace_shards(memory, _spec(_rectangle(across, down), (high, wide)))
    if kind is TensorMemoryLayout.HEIGHT_SHARDED:
        size, count = _parts(rows, cores, unit)
        return replace_shards(memory, _spec(cores_in_order(count, grid.x, grid.y), (size, columns)))
    size, count = _parts(columns, cores, unit)
    return replace_shards(memory, _spec(cores_in_order(count, grid.x, grid.y), (rows, size)))


def _rectangle(columns: int, rows: int) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(columns - 1, rows - 1))])


def _spec(
    cores: CoreRangeSet, size: Sequence[int], orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
) -> ShardSpec:
    return ShardSpec(cores, size, orientation)


def of_product(
    memory: MemoryConfig | None, shape: Sequence[int], a: Operand, b: Operand, config: Config | None
) -> MemoryConfig | None:
    """Returns the memory of a product: its program config says which core computes which block."""
    device = a.device
    if memory is None or not is_open(memory) or device is None:
        return memory
    rows, columns = matrix(shape, Layout.TILE)
    grid = device.compute_with_storage_grid_size()
    if config is None or not hasattr(config, "per_core_M"):
        return _without_config(memory, shape, a.memory, grid)
    kind = type(config).__name__
    if kind.endswith("1DProgramConfig") and not config.fuse_batch:
        rows = matrix(shape[-2:], Layout.TILE)[0]
    size = config.per_core_M * TILE_SIZE, config.per_core_N * TILE_SIZE
    down, across = -(-rows // size[0]), -(-columns // size[1])
    if kind == "MatmulMultiCoreReuseMultiCastProgramConfig":
        if config.transpose_mcast:
            return replace_shards(memory, _spec(_rectangle(down, across), size, ShardOrientation.COL_MAJOR))
        return replace_shards(memory, _spec(_rectangle(across, down), size))
    orientation = ShardOrientation.ROW_MAJOR
    if kind == "MatmulMultiCoreReuseProgramConfig":
        specs = [each.memory.shard_spec for each in (a, b) if each.memory.shard_spec is not None]
        orientation = specs[0].orientation if specs else ShardOrientation.COL_MAJOR
    if kind != "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig":
        given = config.compute_with_storage_grid_size
        grid = given if isinstance(given, CoreCoord) else CoreCoord(*given)
    cores = cores_in_order(down * across, grid.x, grid.y, by_rows=orientation is ShardOrientation.ROW_MAJOR)
    return replace_shards(memory, _spec(cores, size, orientation))


def _without_config(memory: MemoryConfig, shape: Sequence[int], operand: MemoryConfig, grid: CoreCoord) -> MemoryConfig:
    """Returns the memory of a product for which TT-NN chooses the blocks."""
    rows, columns = matrix(shape, Layout.TILE)
    own = operand.shard_spec
    if own is not None and operand.memory_layout is memory.memory_layout:
        down, across = grid_of(operand.memory_layout, own)
        wide = math.ceil(columns / (across * TILE_SIZE)) * TILE_SIZE
        return replace_shards(memory, ShardSpec(own.grid, (own.shape[0], wide), own.orientation))
    if memory.memory_layout is not TensorMemoryLayout.BLOCK_SHARDED:
        return divided(memory, shape[-2:], Layout.TILE, grid)
    size = min(rows, _BLOCK * TILE_SIZE), min(columns, _BLOCK * TILE_SIZE)
    down, across = -(-rows // size[0]), -(-columns // size[1])
    return replace_shards(memory, _spec(_rectangle(across, down), size))


def of_heads(memory: MemoryConfig | None, shape: Sequence[int], source: MemoryConfig) -> MemoryConfig | None:
    """Returns the memory of heads that were split: their rows evenly on the cores of the tensor that had them all."""
    own = source.shard_spec
    if memory is None or own is None or not is_open(memory):
        return memory
    box = own.grid.bounding_box().grid_size()
    size = math.prod(shape[:-1]) // (box.x * box.y), shape[-1]
    return replace_shards(memory, ShardSpec(own.grid, size, own.orientation))


def of_joined_heads(memory: MemoryConfig | None, heads: Operand) -> MemoryConfig | None:
    """Returns the memory of heads that were joined: those of a core lie beside each other on the same core."""
    own = heads.memory.shard_spec
    if memory is None or own is None or not is_open(memory):
        return memory
    count = max(own.shape[0] // matrix(heads.shape[-2:], Layout.TILE)[0], 1)
    size = own.shape[0] // count, own.shape[1] * count
    return replace_shards(memory, ShardSpec(own.grid, size, own.orientation))
