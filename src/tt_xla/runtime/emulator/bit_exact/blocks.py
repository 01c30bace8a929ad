"""In which blocks of the inner dimension TT-NN 0.81 computes a product, which decides where partial sums are rounded.

A kernel keeps the sums of one block in the accumulator. Between blocks they lie in L1, in the partial sums' own type.
Source: tt-metal's ``matmul_program_config.cpp``, ``matmul_utilities.cpp`` and the program factories of its matmul. All
sizes are in tiles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.layout import TILE, BufferType, DataType, MemoryLayout, TensorLayout

_NARROW = 8
"""A product whose sides differ by more than this factor is computed along one side alone."""
_LARGEST_SIDE = 16
"""Side of the largest part of a result that a core gets unless all tensors lie in DRAM."""
L1_BYTES = 1_428_992
"""L1 of a core that circular buffers may fill."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a product, and what happens between them."""

    width: int
    """Elements of the inner dimension in a block, a multiple of a tile."""
    adds_in_l1: bool
    """Whether the packer adds the sums of a block to those in L1; if not, the accumulator loads those first."""
    reloads_last: bool
    """Whether the sums in L1 are loaded into the accumulator for the last block; only where ``adds_in_l1``."""
    between: DataType
    """Type of the sums in L1."""
    through_source: bool = False
    """Whether sums are loaded into the accumulator through a source register, which keeps 19 bits of them."""


@dataclass(frozen=True)
class Product:
    """The facts of a product by which TT-NN chooses its blocks."""

    shape: tuple[int, int, int]
    """Rows of a matrix of the left operand, inner dimension and columns, in elements."""
    batches: tuple[int, int]
    """Matrices of the left and of the right operand."""
    left: TensorLayout
    right: TensorLayout
    result: TensorLayout
    program_config: Mapping[str, Any] | None
    """The op's program config; without one TT-NN decides by the others."""
    wide: bool
    """Whether the accumulator has 32 bits."""

    @property
    def adds_bias_after(self) -> bool:
        """Whether TT-NN adds a bias to the rounded product, since it may choose its plain kernel: without a program
        config, where the result lies in L1, or an operand in L1 or shards while the left one is in none."""
        if self.program_config:
            return False
        layouts = (self.left, self.right, self.result)
        in_dram = all(each.buffer is BufferType.DRAM and not each.is_sharded for each in layouts)
        return self.result.buffer is not BufferType.DRAM or (not self.left.is_sharded and not in_dram)

    @property
    def tiles(self) -> tuple[int, int, int]:
        """The shape in tiles."""
        rows, inner, columns = (-(-size // TILE) for size in self.shape)
        return rows, inner, columns


def blocks_of(product: Product, width: int, config: Mapping[str, Any] | None, *, biased: bool) -> Blocks:
    """Returns the blocks of a product.

    Args:
        product: the product.
        width: tiles of the inner dimension in a block, by :func:`width_of`.
        config: the op's compute config.
        biased: whether the kernel adds a bias.
    """
    count = -(-product.tiles[1] // width)
    # TT-NN's own choice without a config, and the one that generated programs ask for, is to add in L1.
    adds = (config or {}).get("packer_l1_acc") is not False and count > 1
    between = DataType.F32 if product.wide else DataType.BF16 if adds else product.result.dtype
    return Blocks(width * TILE, adds, adds and not biased, between)


def width_of(product: Product, grid: tuple[int, int]) -> int | None:
    """Returns the tiles of the inner dimension in a block.

    Args:
        product: the product.
        grid: rows and columns of cores.

    Returns:
        None for TT-NN's plain kernel, which keeps the whole sum in the accumulator and adds no bias.
    """
    if product.program_config:
        width = product.program_config.get("in0_block_w")
        return int(width) if width else None
    if product.left.is_sharded:
        return _of_shards(product, grid)
    return _of_interleaved(product, grid)


def _of_shards(product: Product, grid: tuple[int, int]) -> int:
    """Returns the width for a left operand in shards."""
    inner = product.tiles[1]
    memory, (high, wide), shard = product.left.memory, product.left.grid, product.left.shard[1]
    if product.batches[1] > 1:
        return shard
    if memory is not MemoryLayout.BLOCK_SHARDED and high * wide > 1:
        return inner if memory is MemoryLayout.HEIGHT_SHARDED else math.gcd(shard, inner)
    if memory is MemoryLayout.BLOCK_SHARDED and high > 1 and wide > 1:
        return math.gcd(shard, inner) if wide * shard == inner else 1
    if memory is MemoryLayout.BLOCK_SHARDED:
        return math.gcd(shard, inner)
    return _divisor(inner, -(-inner // (grid[0] * grid[1])))


def _divisor(size: int, most: int) -> int:
    """Returns the largest divisor up to a bound."""
    return next(width for width in range(most, 0, -1) if size % width == 0)


def _of_interleaved(product: Product, grid: tuple[int, int]) -> int | None:
    """Returns the width for a left operand that lies in no shards."""
    rows, inner, columns = product.tiles
    layouts = (product.left, product.right, product.result)
    is_interleaved = not any(layout.is_sharded for layout in layouts)
    in_dram = all(layout.buffer is BufferType.DRAM for layout in layouts)
    pairs = 1 if inner % 2 else 2
    if product.batches[0] == 1 < product.batches[1] and is_interleaved:
        return pairs
    long, short = max(rows, columns), min(rows, columns)
    is_narrow = is_interleaved and (long // short > _NARROW or (in_dram and short == 1))
    if in_dram and is_interleaved:
        return pairs if is_narrow else 1 if inner % grid[1] else inner // grid[1]
    side = _side(product)
    high, wide = -(-rows // side), -(-columns // side)
    split = product.result.is_sharded or high > 1 or wide > 1
    width = pairs if split else 2
    if high * wide > grid[0] * grid[1] or inner % width:
        return None
    is_spread = high * wide > 1 and high <= grid[0] and wide <= grid[1]
    return width if is_narrow or is_spread or product.result.is_sharded else None


def _side(product: Product) -> int:
    """Returns the side of the part of a result that TT-NN plans for a core."""
    left, right = product.left.dtype.tile_bytes, product.right.dtype.tile_bytes
    narrow = max(DataType.BF16.tile_bytes, product.result.dtype.tile_bytes)
    partial = DataType.F32.tile_bytes if product.wide else narrow
    side = _LARGEST_SIDE
    while side > 1 and side * 2 * 2 * (left + right) + side * side * (left + partial) >= L1_BYTES:
        side //= 2
    return side
