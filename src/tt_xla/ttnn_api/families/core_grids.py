"""Functions that choose cores, and the memory configs of sharded tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.chosen_shards import cores_in_order
from tt_xla.ttnn_api.enums import BufferType, ShardOrientation, ShardStrategy, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, CoreCoord, CoreGrid, CoreRange, CoreRangeSet, MemoryConfig, ShardSpec
from tt_xla.ttnn_api.operation import operation

_LAYOUTS = {
    ShardStrategy.BLOCK: TensorMemoryLayout.BLOCK_SHARDED,
    ShardStrategy.WIDTH: TensorMemoryLayout.WIDTH_SHARDED,
    ShardStrategy.HEIGHT: TensorMemoryLayout.HEIGHT_SHARDED,
}


def _cores(core_grid: Any) -> CoreRangeSet:
    """Returns the cores of a grid, of two grids one below the other, or of a set of ranges."""
    if isinstance(core_grid, CoreRangeSet):
        return core_grid
    if isinstance(core_grid, CoreGrid):
        return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(core_grid.x - 1, core_grid.y - 1))])
    if not isinstance(core_grid, (list, tuple)) or len(core_grid) != 2:
        raise TTFatal("Invalid core_grid type", hint="Pass a ttnn.CoreGrid, or a ttnn.CoreRangeSet.")
    first, last = core_grid
    below = CoreRange(CoreCoord(0, first.y), CoreCoord(last.x - 1, first.y))
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(first.x - 1, first.y - 1)), below])


def _divided(size: int, parts: int, *, exact: bool) -> int:
    if exact and size % parts:
        raise TTFatal(
            "Invalid sharding core_grid",
            hint=f"Choose as many cores as divide {size}; {parts} do not. Shards of whole tiles need multiples of "
            f"{TILE_SIZE}.",
        )
    return -(-size // parts)


def _sharded(
    shape: Sequence[int],
    core_grid: Any,
    strategy: Any,
    orientation: ShardOrientation | None,
    *,
    is_shard: bool,
    exact: bool,
    tile_layout: bool = False,
) -> MemoryConfig:
    layout = strategy if isinstance(strategy, TensorMemoryLayout) else _LAYOUTS.get(strategy)
    if layout is None:
        raise TTFatal(
            "Invalid sharding strategy",
            hint="Pass ttnn.ShardStrategy.HEIGHT, WIDTH or BLOCK.",
        )
    turned = orientation is ShardOrientation.COL_MAJOR
    cores = _cores(core_grid)
    *batches, rows, columns = shape
    rows_in_all = math.prod(batches) * rows
    if is_shard:
        shard = (columns, rows) if turned else (rows, columns)
    elif layout is TensorMemoryLayout.BLOCK_SHARDED:
        box = cores.bounding_box().grid_size()
        down, across = (box.x, box.y) if turned else (box.y, box.x)
        if tile_layout:
            rows_in_all = -(-rows_in_all // (down * TILE_SIZE)) * down * TILE_SIZE
        shard = (_divided(rows_in_all, down, exact=exact), _divided(columns, across, exact=exact))
    elif layout is TensorMemoryLayout.HEIGHT_SHARDED:
        shard = (_divided(rows_in_all, cores.num_cores(), exact=exact), columns)
    else:
        shard = (rows_in_all, _divided(columns, cores.num_cores(), exact=exact))
    spec = ShardSpec(cores, shard, orientation or ShardOrientation.ROW_MAJOR)
    return MemoryConfig(layout, BufferType.L1, spec)


@operation("ttnn.create_sharded_memory_config", composite=True)
def create_sharded_memory_config(
    shape: Sequence[int],
    core_grid: Any,
    strategy: ShardStrategy,
    orientation: ShardOrientation | None,
    use_height_and_width_as_shard_shape: bool,
) -> MemoryConfig:
    """Returns the memory config of a tensor that is divided evenly among cores."""
    if isinstance(core_grid, CoreRangeSet) and not use_height_and_width_as_shard_shape:
        raise TTFatal(
            "height and width must be shard shape with CoreRangeSet",
            hint="Pass the shape of a shard and use_height_and_width_as_shard_shape=True, or a ttnn.CoreGrid.",
        )
    return _sharded(shape, core_grid, strategy, orientation, is_shard=use_height_and_width_as_shard_shape, exact=True)


@operation("ttnn.create_sharded_memory_config_", composite=True)
def create_sharded_memory_config_(
    shape: Sequence[int],
    core_grid: Any,
    strategy: Any,
    orientation: ShardOrientation,
    use_height_and_width_as_shard_shape: bool,
    tile_layout: bool,
) -> MemoryConfig:
    """Returns the memory config of a tensor whose last shards may be padded."""
    is_shard = use_height_and_width_as_shard_shape
    return _sharded(shape, core_grid, strategy, orientation, is_shard=is_shard, exact=False, tile_layout=tile_layout)


def _in_order(width: int, height: int, *, row_wise: bool) -> list[CoreCoord]:
    if row_wise:
        return [CoreCoord(x, y) for y in range(height) for x in range(width)]
    return [CoreCoord(x, y) for x in range(width) for y in range(height)]


@operation("ttnn.num_cores_to_corerangeset", composite=True)
def num_cores_to_corerangeset(target_num_cores: int, grid_size: CoreCoord, row_wise: bool) -> CoreRangeSet:
    """Returns the first cores of a grid: its whole rows or columns, and a part of the next one."""
    if target_num_cores > grid_size.x * grid_size.y:
        raise TTFatal(
            f"Target number of cores {target_num_cores} is greater than total number of available cores "
            f"{grid_size.x * grid_size.y}",
            hint="Take fewer cores, or a larger grid.",
        )
    return cores_in_order(target_num_cores, grid_size.x, grid_size.y, by_rows=row_wise)


@operation("ttnn.num_cores_to_corerangeset_in_subcoregrids", composite=True)
def num_cores_to_corerangeset_in_subcoregrids(
    start_core: CoreCoord, target_num_cores: int, sub_core_grids: CoreRangeSet, row_wise: bool
) -> CoreRangeSet:
    """Returns the first cores of a set of ranges, from ``start_core`` on."""
    cores = corerange_to_cores(sub_core_grids, None, row_wise)
    first = cores.index(start_core)
    return CoreRangeSet([CoreRange(core, core) for core in cores[first : first + target_num_cores]])


@operation("ttnn.corerange_to_cores", composite=True)
def corerange_to_cores(core_range_set: CoreRangeSet, max_cores: int | None, row_wise: bool) -> list[CoreCoord]:
    """Returns the cores of a set of ranges, range by range."""
    cores: list[CoreCoord] = []
    for each in core_range_set.ranges():
        size = each.grid_size()
        places = _in_order(size.x, size.y, row_wise=row_wise)
        cores += [CoreCoord(each.start.x + place.x, each.start.y + place.y) for place in places]
    return cores[:max_cores]


@operation("ttnn.grid_to_cores", composite=True)
def grid_to_cores(
    num_cores: int | None,
    grid_size_x: int | None,
    grid_size_y: int | None,
    row_wise: bool,
    start: CoreCoord | None,
    end: CoreCoord | None,
) -> list[CoreCoord]:
    """Returns the first cores of a grid, or all cores between two corners."""
    if isinstance(num_cores, int):
        return _in_order(grid_size_x or 0, grid_size_y or 0, row_wise=row_wise)[:num_cores]
    assert start is not None
    assert end is not None
    return corerange_to_cores(CoreRangeSet([CoreRange(start, end)]), None, row_wise)


@operation("ttnn.split_work_to_cores", composite=True)
def split_work_to_cores(
    grid_size: CoreCoord | None, core_grid: CoreRangeSet | None, units_to_divide: int, row_wise: bool
) -> tuple[int, CoreRangeSet, CoreRangeSet, CoreRangeSet, int, int]:
    """Divides units of work among cores: the first group of cores gets one unit more than the second."""
    place: Any = core_grid if core_grid is not None else grid_size
    if isinstance(place, CoreRangeSet):
        place = place.bounding_box().grid_size()
    cores = min(units_to_divide, place.x * place.y)
    if not cores:
        nothing = CoreRangeSet([])
        return 0, nothing, nothing, nothing, 0, 0
    each, more = divmod(units_to_divide, cores)
    chosen = num_cores_to_corerangeset(cores, place, row_wise)
    if not more:
        return cores, chosen, chosen, CoreRangeSet([]), each, 0
    listed = _in_order(place.x, place.y, row_wise=row_wise)[more:cores]
    rest = CoreRangeSet([CoreRange(core, core) for core in listed])
    return cores, chosen, num_cores_to_corerangeset(more, place, row_wise), rest, each + 1, each
