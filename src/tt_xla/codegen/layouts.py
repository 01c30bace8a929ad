"""Translates element types, layouts and memory configs to TT-NN's names and constructors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tt_xla.codegen.expressions import Call, Expression, Name
from tt_xla.ir.layout import TILE, BufferType, DataType, MemoryLayout, TensorLayout


def dtype(value: DataType | str) -> Name:
    """Returns TT-NN's name of an element type."""
    return Name(f"ttnn.{DataType(value).ttnn}")


def layout(tiled: bool) -> Name:
    """Returns TT-NN's name of the tiled or the row-major layout."""
    return Name("ttnn.TILE_LAYOUT" if tiled else "ttnn.ROW_MAJOR_LAYOUT")


def memory_config(tensor_layout: TensorLayout, grid: tuple[int, int]) -> Expression:
    """Returns the memory config of a tensor; None for a tensor on the host.

    Args:
        tensor_layout: layout of the tensor.
        grid: rows and columns of the chip's worker cores; shards along one dimension fill the grid row by row.
    """
    if not tensor_layout.on_device:
        return None
    if not tensor_layout.is_sharded:
        return Name("ttnn.L1_MEMORY_CONFIG" if tensor_layout.buffer is BufferType.L1 else "ttnn.DRAM_MEMORY_CONFIG")
    assert tensor_layout.memory is not None
    unit = TILE if tensor_layout.tiled else 1
    shard = tensor_layout.shard[0] * unit, tensor_layout.shard[1] * unit
    return _sharded(tensor_layout.memory, tensor_layout.buffer, core_ranges(tensor_layout, grid), shard, "row_major")


def memory_config_of(fields: Sequence[Any] | None) -> Expression:
    """Returns the memory config that a property states as buffer, memory layout and shard spec, by default DRAM."""
    if fields is None or fields[2] is None:
        in_l1 = fields is not None and fields[0] == BufferType.L1
        return Name("ttnn.L1_MEMORY_CONFIG" if in_l1 else "ttnn.DRAM_MEMORY_CONFIG")
    buffer, memory, (ranges, sizes, orientation) = fields
    return _sharded(MemoryLayout(memory), BufferType(buffer), core_range_set(ranges), sizes, orientation)


def _sharded(
    memory: MemoryLayout, buffer: BufferType, cores: Call, shard: Sequence[int], orientation: object
) -> Expression:
    spec = Call("ttnn.ShardSpec", (cores, tuple(shard), Name(f"ttnn.ShardOrientation.{str(orientation).upper()}")))
    kind = Name(f"ttnn.TensorMemoryLayout.{memory.value.upper()}")
    return Call("ttnn.MemoryConfig", (kind, Name(f"ttnn.BufferType.{buffer.name}"), spec))


def core_range_set(rectangles: Iterable[Any]) -> Call:
    """Returns a set of cores, given the (column, row) coordinates of the corners of its rectangles."""
    ranges = tuple(
        Call("ttnn.CoreRange", (Call("ttnn.CoreCoord", tuple(first)), Call("ttnn.CoreCoord", tuple(last))))
        for first, last in rectangles
    )
    return Call("ttnn.CoreRangeSet", (ranges,))


def core_ranges(tensor_layout: TensorLayout, grid: tuple[int, int]) -> Call:
    """Returns the cores that hold a sharded tensor, as rectangles of (column, row) coordinates."""
    rows, columns = tensor_layout.grid
    if tensor_layout.memory is MemoryLayout.BLOCK_SHARDED:
        return core_range_set([((0, 0), (columns - 1, rows - 1))])
    full, rest = divmod(math.prod(tensor_layout.grid), grid[1])
    rectangles: list[tuple[tuple[int, int], tuple[int, int]]] = []
    if full:
        rectangles.append(((0, 0), (grid[1] - 1, full - 1)))
    if rest:
        rectangles.append(((0, full), (rest - 1, full)))
    return core_range_set(rectangles)
