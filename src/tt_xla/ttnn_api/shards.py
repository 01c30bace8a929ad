"""Shards of rows and columns: which ones TT-NN takes, and those of tensors that ops make of sharded ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_xla.ir.layout import MemoryLayout
from tt_xla.ttnn_api.enums import Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, CoreCoord, CoreRange, CoreRangeSet, MemoryConfig, ShardSpec
from tt_xla.ttnn_api.shapes import padded


def matrix(shape: Sequence[int], layout: Layout) -> tuple[int, int]:
    """Returns the rows and columns of a tensor in memory, its outer dimensions among the rows."""
    size = padded(shape, layout)
    return math.prod(size[:-1]), size[-1] if size else 1


def check(shape: Sequence[int], memory: MemoryConfig) -> None:
    """Refuses shards that do not fit a tiled tensor, in TT-NN's words."""
    spec, kind = memory.shard_spec, memory.memory_layout
    rows, columns = matrix(shape, Layout.TILE)
    if spec is None or not rows * columns:
        return
    height, width = spec.shape
    down, across, cores = -(-rows // height), -(-columns // width), spec.num_cores()
    problem = ""
    if kind is TensorMemoryLayout.HEIGHT_SHARDED:
        if width != columns:
            problem = f"Shard width {width} must match physical width {columns} for height sharded"
        elif down > cores:
            problem = f"Number of shards along height {down} must not exceed number of cores {cores}"
    elif kind is TensorMemoryLayout.WIDTH_SHARDED:
        if height != rows:
            problem = f"Shard height {height} must match physical height {rows} for width sharded"
        elif across > cores:
            problem = f"Number of shards along width {across} must not exceed number of cores {cores}"
    else:
        problem = _problem_of_blocks(down, across, spec)
    if problem:
        raise TTFatal(problem, hint=f"The shape is {list(shape)}; make the memory config for it, or take DRAM.")


def _problem_of_blocks(down: int, across: int, spec: ShardSpec) -> str:
    """Returns the words against a cut into blocks; empty for most."""
    box = spec.grid.bounding_box().grid_size()
    by_rows = spec.orientation is ShardOrientation.ROW_MAJOR
    sides = (("rows", box.y), ("columns", box.x)) if by_rows else (("columns", box.x), ("rows", box.y))
    orientation = "row" if by_rows else "column"
    for direction, count, (name, limit) in zip(("height", "width"), (down, across), sides, strict=True):
        if count > limit:
            return (
                f"Number of shards along {direction} {count} must not exceed number of {name} {limit} for "
                f"{orientation} major orientation!"
            )
    return ""


def resized(memory: MemoryConfig, before: Sequence[int], after: Sequence[int], layout: Layout) -> MemoryConfig:
    """Returns the memory of a tensor that an op makes of a sharded one: shards in proportion, on the same cores."""
    spec = memory.shard_spec
    if spec is None or not math.prod(before):
        return memory
    (rows, columns), (new_rows, new_columns) = matrix(before, layout), matrix(after, layout)
    unit = TILE_SIZE if layout is Layout.TILE else 1
    size = max(spec.shape[0] * new_rows // rows, unit), max(spec.shape[1] * new_columns // columns, unit)
    return replace_shards(memory, ShardSpec(spec.grid, size, spec.orientation))


def spread(memory: MemoryConfig, shape: Sequence[int], layout: Layout) -> MemoryConfig:
    """Returns the memory of a tensor that an op makes of a sharded one: its rows and columns over the same cores."""
    spec = memory.shard_spec
    if spec is None:
        return memory
    unit = TILE_SIZE if layout is Layout.TILE else 1
    down, across = grid_of(memory.memory_layout, spec)
    rows, columns = matrix(shape, layout)
    size = (_parted(rows, down, unit), _parted(columns, across, unit))
    return replace_shards(memory, ShardSpec(spec.grid, size, spec.orientation))


def _parted(size: int, parts: int, unit: int) -> int:
    return max(-(-size // (parts * unit)), 1) * unit


def grid_of(kind: TensorMemoryLayout | MemoryLayout, spec: ShardSpec) -> tuple[int, int]:
    """Returns the number of shards along rows and columns that the cores can have."""
    cores = spec.num_cores()
    if kind.name == "HEIGHT_SHARDED":
        return cores, 1
    if kind.name == "WIDTH_SHARDED":
        return 1, cores
    box = spec.grid.bounding_box().grid_size()
    return (box.y, box.x) if spec.orientation is ShardOrientation.ROW_MAJOR else (box.x, box.y)


def of_shape(spec: ShardSpec, shape: Sequence[int]) -> ShardSpec:
    """Returns shards of another shape on the same cores."""
    return ShardSpec(spec.grid, shape, spec.orientation)


def replace_shards(memory: MemoryConfig, spec: ShardSpec) -> MemoryConfig:
    """Returns a memory config with other shards."""
    return MemoryConfig(memory.memory_layout, memory.buffer_type, spec)


def of_one_shard(memory: MemoryConfig, shape: Sequence[int], layout: Layout) -> MemoryConfig:
    """Returns the memory config of a reduced tensor: one shard of all rows counts as a cut of the columns."""
    spec = memory.shard_spec
    whole = spec is not None and spec.shape[0] == matrix(shape, layout)[0]
    if memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED and whole:
        return MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, memory.buffer_type, spec)
    return memory


def reshaped(memory: MemoryConfig, before: Sequence[int], after: Sequence[int], layout: Layout) -> MemoryConfig:
    """Returns the memory of a reshaped tensor. One that lies in memory as before keeps its shards."""
    spec, last = memory.shard_spec, [list(each)[-1:] or [1] for each in (before, after)]
    if spec is None or (last[0] == last[1] and matrix(before, layout) == matrix(after, layout)):
        return memory
    made = of_one_shard(spread(memory, after, layout), after, layout)
    if made.memory_layout is not TensorMemoryLayout.BLOCK_SHARDED or made.shard_spec is None:
        return made
    rows, columns = matrix(after, layout)
    down, across = -(-rows // made.shard_spec.shape[0]), -(-columns // made.shard_spec.shape[1])
    start, box = spec.grid.bounding_box().start, spec.grid.bounding_box().grid_size()
    wide, high = (across, down) if spec.orientation is ShardOrientation.ROW_MAJOR else (down, across)
    end = CoreCoord(start.x + min(wide, box.x) - 1, start.y + min(high, box.y) - 1)
    grid = CoreRangeSet([CoreRange(start, end)])
    return replace_shards(made, ShardSpec(grid, made.shard_spec.shape, spec.orientation))
