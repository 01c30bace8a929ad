"""Data types, layouts and memory configs in TT-NN's terms."""

from __future__ import annotations

import math

from tt_xla.codegen.expressions import Call, Expression, Name
from tt_xla.ir.layout import TILE, BufferType, DataType, MemoryLayout, TensorLayout

_BUFFERS = {BufferType.DRAM: "ttnn.BufferType.DRAM", BufferType.L1: "ttnn.BufferType.L1"}


def dtype(value: DataType | str) -> Name:
    return Name(f"ttnn.{DataType(value).ttnn}")


def layout(tiled: bool) -> Name:
    return Name("ttnn.TILE_LAYOUT" if tiled else "ttnn.ROW_MAJOR_LAYOUT")


def memory_config(found: TensorLayout, grid: tuple[int, int]) -> Expression:
    """The memory config of a tensor; None for one on the host.

    Args:
        grid: worker cores of the chip, rows and columns; shards along one dimension fill it row by row.
    """
    if not found.on_device:
        return None
    if not found.is_sharded:
        return Name("ttnn.L1_MEMORY_CONFIG" if found.buffer is BufferType.L1 else "ttnn.DRAM_MEMORY_CONFIG")
    assert found.memory is not None
    unit = TILE if found.tiled else 1
    spec = Call(
        "ttnn.ShardSpec",
        (
            core_ranges(found, grid),
            (found.shard[0] * unit, found.shard[1] * unit),
            Name("ttnn.ShardOrientation.ROW_MAJOR"),
        ),
    )
    kind = Name(f"ttnn.TensorMemoryLayout.{found.memory.value.upper()}")
    return Call("ttnn.MemoryConfig", (kind, Name(_BUFFERS[found.buffer]), spec))


def core_ranges(found: TensorLayout, grid: tuple[int, int]) -> Call:
    """The cores that hold a sharded tensor, as rectangles of (column, row) coordinates."""
    rows, columns = found.grid
    if found.memory is MemoryLayout.BLOCK_SHARDED:
        return _ranges(((0, 0), (columns - 1, rows - 1)))
    full, rest = divmod(math.prod(found.grid), grid[1])
    rectangles: list[tuple[tuple[int, int], tuple[int, int]]] = []
    if full:
        rectangles.append(((0, 0), (grid[1] - 1, full - 1)))
    if rest:
        rectangles.append(((0, full), (rest - 1, full)))
    return _ranges(*rectangles)


def _ranges(*rectangles: tuple[tuple[int, int], tuple[int, int]]) -> Call:
    ranges = tuple(
        Call("ttnn.CoreRange", (Call("ttnn.CoreCoord", first), Call("ttnn.CoreCoord", last)))
        for first, last in rectangles
    )
    return Call("ttnn.CoreRangeSet", (ranges,))
