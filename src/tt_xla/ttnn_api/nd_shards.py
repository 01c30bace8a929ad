"""Shards of tensors that are cut along several dimensions.

A cut that a matrix of rows and columns has as well, with a shard for each core, is one of TT-NN's three older kinds, as
TT-NN itself has it. Any other one deals its shards to the cores in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_xla.ttnn_api.enums import Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig, NdShardSpec, ShardSpec
from tt_xla.ttnn_api.operation_enums import ShardDistributionStrategy
from tt_xla.ttnn_api.shapes import Sizes, padded


def resolved(shape: Sizes, layout: Layout, memory: MemoryConfig) -> MemoryConfig:
    """Returns the memory config of a tensor whose config may have an n-dimensional shard spec.

    Raises:
        TTFatal: the shards do not fit the tensor.
    """
    spec = memory.nd_shard_spec
    if spec is None:
        return memory
    size, shard = _aligned(shape, layout, spec)
    if _matrix_shard(size, shard) is None:
        return memory
    rows, columns = math.prod(shard[:-1]), shard[-1]
    counts = -(-math.prod(size[:-1]) // rows), -(-size[-1] // columns)
    kind = _kind(counts, spec)
    if kind is None:
        return memory
    return MemoryConfig(kind, memory.buffer_type, ShardSpec(spec.grid, (rows, columns), spec.orientation))


def units_per_core(shape: Sizes, layout: Layout, spec: NdShardSpec) -> tuple[int, int]:
    """Returns rows and columns of the elements that a core holds, its shards one above the other."""
    size, shard = _aligned(shape, layout, spec)
    shards = math.prod(-(-whole // part) for whole, part in zip(size, shard, strict=True))
    return -(-shards // spec.num_cores()) * math.prod(shard[:-1]), shard[-1]


def _aligned(shape: Sizes, layout: Layout, spec: NdShardSpec) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the sizes in memory of a tensor and of a shard, with as many dimensions as the shard has."""
    size, shard = padded(shape, layout), Sizes(spec.shard_shape)
    if len(shard) > len(size):
        raise TTFatal(
            f"Tensor shape rank ({len(size)}) can't be less than shard shape rank ({len(shard)})!",
            hint="Name the sizes of the tensor's own dimensions.",
        )
    if layout is Layout.TILE and any(each % TILE_SIZE for each in shard[-2:]):
        raise TTFatal(
            f"Physical shard shape {shard} must be tile {{{TILE_SIZE}, {TILE_SIZE}}} sized!",
            hint="Round the last two sizes of the shard up to tiles.",
        )
    front = len(size) - len(shard) + 1
    size = (math.prod(size[:front]), *size[front:])
    grid = spec.grid.bounding_box().grid_size()
    if spec.shard_distribution_strategy is ShardDistributionStrategy.GRID_2D and -(-size[-1] // shard[-1]) > grid.x:
        raise TTFatal(
            "Number of shards along width must not exceed core grid width!", hint="Take wider shards or more cores."
        )
    return size, shard


def _matrix_shard(size: Sequence[int], shard: Sequence[int]) -> Sequence[int] | None:
    """Returns the shard if it is a block of the matrix of rows and columns; None otherwise.

    Its rows lie one behind the other: outer sizes are 1, then one dimension is cut, and the inner ones are whole.
    """
    outer = [*zip(size[:-1], shard[:-1], strict=True)]
    while outer and outer[-1][0] == outer[-1][1]:
        outer.pop()
    if not outer:
        return shard
    whole, part = outer.pop()
    divides = whole % part == 0 or all(each == 1 for each, _ in outer)
    return shard if divides and part <= whole and all(each == 1 for _, each in outer) else None


def _kind(counts: tuple[int, int], spec: NdShardSpec) -> TensorMemoryLayout | None:
    """Returns the older kind of a cut into rows and columns of shards; None if a core gets several."""
    rows, columns = counts
    if rows * columns > spec.num_cores():
        return None
    if rows == 1:
        return TensorMemoryLayout.WIDTH_SHARDED
    if columns == 1:
        return TensorMemoryLayout.HEIGHT_SHARDED
    box = spec.grid.bounding_box().grid_size()
    across = box.x if spec.orientation is ShardOrientation.ROW_MAJOR else box.y
    return TensorMemoryLayout.BLOCK_SHARDED if columns == across else None
