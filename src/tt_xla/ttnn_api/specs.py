"""``ttnn.TensorSpec``: shape, data type, layout and memory of a tensor that need not exist."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.conditions import place_of
from tt_xla.ttnn_api.enums import DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, CoreRange, CoreRangeSet, MemoryConfig, NdShardSpec, ShardSpec, Tile
from tt_xla.ttnn_api.nd_shards import resolved
from tt_xla.ttnn_api.operation_enums import ShardDistributionStrategy, ShardShapeAlignment
from tt_xla.ttnn_api.shapes import Shape, Sizes, padded

__all__ = ["TensorSpec"]

_RECOMMENDED = 64
"""Bytes to which TT-NN rounds up the columns of row-major shards."""


class TensorSpec:
    """Shape, data type, layout and memory of a tensor. The arguments are those of TT-NN's constructors."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        _, values = signatures.bound("ttnn.TensorSpec", arguments, fields)
        self.shape = Shape(values["shape"])
        self._sizes = Sizes(self.shape)
        self.dtype: DataType = values["dtype"]
        self.layout: Layout = values["layout"]
        self.tile: Tile = values["tile"] or Tile()
        layout = values.get("memory_layout") or TensorMemoryLayout.INTERLEAVED
        cut, buffer = values.get("nd_shard_spec"), values["buffer_type"]
        if cut is None:
            self.memory_config = MemoryConfig(layout, buffer, values.get("shard_spec"))
        else:
            self.memory_config = MemoryConfig(buffer_type=buffer, nd_shard_spec=cut)

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

    def block_sharded(
        self, grid: CoreRange | CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """Returns the spec with rows and columns split over a rectangle of cores.

        Raises:
            TTFatal: the cores are no rectangle.
        """
        cores = grid if isinstance(grid, CoreRangeSet) else CoreRangeSet([grid])
        if len(cores.ranges()) != 1:
            raise TTFatal("Block sharding requires a single CoreRange", hint="Pass one rectangle of cores.")
        rows, columns = self._size()
        size = cores.ranges()[0].grid_size()
        down, across = (size.y, size.x) if orientation is ShardOrientation.ROW_MAJOR else (size.x, size.y)
        high, wide = self._rounded(rows, down), -(-columns // across)
        shard = self._aligned((high, wide), ShardShapeAlignment.RECOMMENDED)
        return self._sharded(TensorMemoryLayout.BLOCK_SHARDED, cores, (high, shard[-1]), orientation)

    def sharded(
        self,
        shard_shape: Sequence[int] | NdShardSpec,
        grid: CoreRangeSet | None = None,
        shard_alignment: ShardShapeAlignment = ShardShapeAlignment.RECOMMENDED,
        orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
        shard_distribution_strategy: ShardDistributionStrategy = ShardDistributionStrategy.ROUND_ROBIN_1D,
    ) -> TensorSpec:
        """Returns the spec cut into shards of a shape, which may have several dimensions.

        Args:
            shard_shape: sizes of a shard; or a whole spec of shards, in place of all but the alignment.
            grid: the cores.
            shard_alignment: whether rows and columns of a shard are rounded up: to whole tiles, or, where recommended,
                the columns of row-major shards to 64 bytes.
            orientation: the order of the cores.
            shard_distribution_strategy: how shards are dealt to the cores.

        Raises:
            TTFatal: the shards do not fit the tensor.
            TypeError: ``grid`` is missing.
        """
        if isinstance(shard_shape, NdShardSpec):
            spec = shard_shape
        elif grid is None:
            raise TypeError("TensorSpec.sharded() missing 1 required argument: 'grid'")
        else:
            spec = NdShardSpec(Shape(shard_shape), grid, orientation, shard_distribution_strategy)
        aligned = replace(spec, shard_shape=Shape(self._aligned([*spec.shard_shape], shard_alignment)))
        memory = resolved(self._sizes, self.layout, MemoryConfig(self.memory_config.buffer_type, aligned))
        return self._with(memory)

    def sharded_across_dims(
        self, dims: Sequence[int], grid: CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """Returns the spec cut along some dimensions into the smallest shards: of 1, of a tile, or of 64 bytes.

        Raises:
            TTFatal: the tensor has no such dimension.
        """
        sizes = list(padded(self._sizes, self.layout))
        for each in dims:
            sizes[place_of(each, len(sizes))] = 1
        return self.sharded(sizes, grid, ShardShapeAlignment.RECOMMENDED, orientation)

    def sharded_across_dims_except(
        self, dims: Sequence[int], grid: CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """Returns the spec cut along all other dimensions into the smallest shards.

        Raises:
            TTFatal: the tensor has no such dimension.
        """
        rank = len(padded(self._sizes, self.layout))
        whole = {place_of(each, rank) for each in dims}
        return self.sharded_across_dims([each for each in range(rank) if each not in whole], grid, orientation)

    def _aligned(self, shard: Sequence[int], alignment: ShardShapeAlignment) -> list[int]:
        """Returns the sizes of a shard, rounded up."""
        if alignment is ShardShapeAlignment.NONE:
            return list(shard)
        units = [1] * len(shard)
        if self.layout is Layout.TILE:
            units[-2:] = list(self.tile.tile_shape)[-len(units) :]
        elif alignment is ShardShapeAlignment.RECOMMENDED:
            units[-1] = _RECOMMENDED // self.dtype.element.element_bytes
        return [-(-size // unit) * unit for size, unit in zip(shard, units, strict=True)]

    def _size(self) -> tuple[int, int]:
        """Returns rows and columns of the tensor in memory, its outer dimensions among the rows."""
        full = padded(self._sizes, self.layout)
        return math.prod(full[:-1]), full[-1] if full else 1

    def _rounded(self, size: int, parts: int) -> int:
        unit = TILE_SIZE if self.layout is Layout.TILE else 1
        return -(-size // (parts * unit)) * unit

    def _sharded(
        self, layout: TensorMemoryLayout, grid: CoreRangeSet, shard: tuple[int, int], orientation: ShardOrientation
    ) -> TensorSpec:
        return self._with(MemoryConfig(layout, self.memory_config.buffer_type, ShardSpec(grid, shard, orientation)))

    def _with(self, memory: MemoryConfig) -> TensorSpec:
        """Returns the spec of the same tensor in another memory."""
        made = copy(self)
        made.memory_config = memory
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.layout, self.memory_config, self.tile

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}, layout={self.layout}, memory={self.memory_config})"
