"""``ttnn.TensorSpec``: shape, data type, layout and memory of a tensor that need not exist."""

from __future__ import annotations

import math
from typing import Any

from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.geometry import (
    TILE_SIZE,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    NdShardSpec,
    Shape,
    ShardSpec,
    Tile,
    padded,
)

__all__ = ["TensorSpec"]


class TensorSpec:
    """Shape, data type, layout and memory of a tensor. The arguments are those of TT-NN's constructors."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        values = _bound(arguments, fields)
        self.shape = Shape(values["shape"])
        self.dtype: DataType = values["dtype"]
        self.layout: Layout = values["layout"]
        self.tile: Tile = values["tile"] or Tile()
        layout = values.get("memory_layout") or TensorMemoryLayout.INTERLEAVED
        shards = (values.get("shard_spec"), values.get("nd_shard_spec"))
        self.memory_config = MemoryConfig(layout, values["buffer_type"], *shards)

    def height_sharded(
        self, grid: CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """Returns the spec with the rows split over cores."""
        rows, columns = self._size()
        shard = (self._rounded(rows, grid.num_cores()), columns)
        return self._sharded(TensorMemoryLayout.HEIGHT_SHARDED, grid, shard, orientation)

    def width_sharded(
        self, grid: CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """Returns the spec with the columns split over cores."""
        rows, columns = self._size()
        shard = (rows, self._rounded(columns, grid.num_cores()))
        return self._sharded(TensorMemoryLayout.WIDTH_SHARDED, grid, shard, orientation)

    def block_sharded(self, grid: CoreRange, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR) -> TensorSpec:
        """Returns the spec with rows and columns split over a rectangle of cores."""
        rows, columns = self._size()
        size = grid.grid_size()
        down, across = (size.y, size.x) if orientation is ShardOrientation.ROW_MAJOR else (size.x, size.y)
        shard = (self._rounded(rows, down), self._rounded(columns, across))
        return self._sharded(TensorMemoryLayout.BLOCK_SHARDED, CoreRangeSet([grid]), shard, orientation)

    def _size(self) -> tuple[int, int]:
        """Returns rows and columns of the tensor in memory, its outer dimensions among the rows."""
        full = padded(self.shape, self.layout)
        return math.prod(full[:-1]), full[-1] if full else 1

    def _rounded(self, size: int, parts: int) -> int:
        unit = TILE_SIZE if self.layout is Layout.TILE else 1
        return -(-size // (parts * unit)) * unit

    def _sharded(
        self, layout: TensorMemoryLayout, grid: CoreRangeSet, shard: tuple[int, int], orientation: ShardOrientation
    ) -> TensorSpec:
        buffer = self.memory_config.buffer_type
        return TensorSpec(self.shape, self.dtype, self.layout, layout, ShardSpec(grid, shard, orientation), buffer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.layout, self.memory_config, self.tile

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}, layout={self.layout}, memory={self.memory_config})"


def _bound(arguments: Any, fields: Any) -> dict[str, Any]:
    """Returns the parameters of the overload of TT-NN's constructor that takes the arguments."""
    fourth = arguments[3] if len(arguments) > 3 else None
    for binder in signatures.binders("ttnn.TensorSpec"):
        names = binder.__code__.co_varnames
        if isinstance(fourth, TensorMemoryLayout) and "memory_layout" not in names:
            continue
        if isinstance(fourth, BufferType) and names[3] != "buffer_type":
            continue
        if isinstance(fourth, NdShardSpec) and names[3] != "nd_shard_spec":
            continue
        try:
            values = binder(*arguments, **fields)
        except TypeError:
            continue
        return values
    raise signatures.refused("ttnn.TensorSpec", arguments, fields)
