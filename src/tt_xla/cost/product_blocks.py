"""The blocks in which TT-NN computes a matrix product: those of its program config, or those that TT-NN chooses.

Source: tt-metal's ``matmul_program_config.cpp`` (``create_simple_matmul_program_config``,
``get_matmul_program_config``) and ``matmul_utilities.cpp``. All sizes are in tiles unless a name says bytes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.cost.rates import DRAM, SHARDED, TILE_BYTES, Rates, Work
from tt_xla.ir.layout import MemoryLayout

NARROW = 8
"""A product whose sides differ by more than this factor is divided along its longer side alone."""

LARGEST_SIDE = 16
"""Side of the largest part of a result that TT-NN plans for a core unless all tensors lie in DRAM."""

SUBBLOCKS = (
    *((4, 2), (2, 4), (8, 1), (1, 8), (7, 1), (1, 7), (3, 2), (2, 3), (6, 1), (1, 6)),
    *((5, 1), (1, 5), (2, 2), (4, 1), (1, 4), (3, 1), (1, 3), (2, 1), (1, 2), (1, 1)),
)
"""Rows and columns of the parts of a block that the destination register can hold, in TT-NN's order of preference."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The parts in which cores compute a product."""

    rows: int
    """Rows of the result that a core computes."""
    columns: int
    """Columns of the result that a core computes."""
    part: tuple[int, int]
    """Rows and columns that a core computes at a time; operands are read again for each such part."""
    width: int
    """Part of the inner dimension that is read at a time."""
    subblock: tuple[int, int]
    """Rows and columns whose sums the destination register holds."""

    @property
    def config(self) -> dict[str, int]:
        """The blocks as fields of a program config."""
        fields = {"per_core_m": self.rows, "per_core_n": self.columns, "in0_block_w": self.width}
        fields |= {"out_block_h": self.part[0], "out_block_w": self.part[1]}
        return fields | {"out_subblock_h": self.subblock[0], "out_subblock_w": self.subblock[1]}

    @property
    def parts(self) -> int:
        """Number of parts that a core computes one after another."""
        return -(-self.rows // self.part[0]) * -(-self.columns // self.part[1])


@dataclass(frozen=True, slots=True)
class Product:
    """The facts of a product by which TT-NN chooses its blocks."""

    size: tuple[int, int, int]
    """Rows, inner dimension and columns of one matrix product."""
    batches: tuple[int, int]
    """Matrices of the left and of the right operand."""
    works: Sequence[Work]
    """The left operand, the right operand and the result."""
    wide: bool
    """Whether sums have 32 bits."""


def configured(config: Mapping[str, Any], product: Product) -> Blocks:
    """Returns the blocks of a program config that gives at least the part of the result that a core computes."""
    inner, columns = product.size[1:]
    rows, wide = int(config["per_core_m"]), int(config["per_core_n"])
    part = (int(config.get("out_block_h") or rows), int(config.get("out_block_w") or wide))
    width = int(config.get("in0_block_w") or -(-inner // max(-(-columns // wide), 1)))
    given = int(config.get("out_subblock_w") or 0)
    held = (int(config.get("out_subblock_h") or 1), given) if given else subblock(*part, wide=product.wide)
    return Blocks(rows, wide, part, width, held)


def chosen(product: Product, rates: Rates, *, in_2025: bool = False) -> Blocks | None:
    """Returns the blocks that TT-NN chooses; None for its plain kernel, which reads both tiles of each product.

    Args:
        product: the product.
        rates: the chip.
        in_2025: whether to follow the rules before tt-metal's pull request 49621 of July 2026. Those divide a product
            of tensors in DRAM along one side if one row or column of squares covers the result, and halve parts of the
            result before blocks of the inner dimension.
    """
    if product.works[0].place == SHARDED:
        return _of_shards(product, rates)
    rows, inner, columns = product.size
    interleaved = all(work.place != SHARDED for work in product.works)
    in_dram = interleaved and all(work.place == DRAM for work in product.works)
    pair = 2 - inner % 2
    if product.batches[0] == 1 < product.batches[1] and interleaved:
        return _along(product, rates, pair, by_rows=True)
    side, high, wide = _squares(product, rates)
    spread = high * wide > 1 and high <= rates.rows and wide <= rates.columns
    even = high * wide <= rates.cores and inner % (pair if high * wide > 1 else 2) == 0
    long, short = max(rows, columns), min(rows, columns)
    narrow = interleaved and (long // short > NARROW or (in_dram and short == 1))
    if not in_dram and not even:
        return None
    if narrow:
        return _along(product, rates, pair, by_rows=columns <= rows)
    if spread and 1 in (high, wide) and (in_2025 or not in_dram):
        return _along(product, rates, pair, by_rows=high > 1)
    if in_dram:
        width = 1 if inner % rates.columns else inner // rates.columns
        per_core = (-(-rows // rates.rows), -(-columns // rates.columns))
        return _fitted(product, rates, *per_core, width, thinner=True, in_2025=in_2025)
    shards = product.works[2].shards
    if shards is not None and not spread and shards[0] is not MemoryLayout.BLOCK_SHARDED:
        return _along(product, rates, pair, by_rows=shards[0] is MemoryLayout.HEIGHT_SHARDED)
    return Blocks(side, side, (side, side), pair, (1, min(side, 2))) if spread or shards is not None else None


def _squares(product: Product, rates: Rates) -> tuple[int, int, int]:
    """Returns the side of the squares that TT-NN plans for cores, and how many cover the rows and the columns."""
    side = LARGEST_SIDE
    while side > 1 and _buffer_bytes(product, side, side, 2) >= rates.l1_bytes:
        side //= 2
    return side, -(-product.size[0] // side), -(-product.size[2] // side)


def _along(product: Product, rates: Rates, width: int, *, by_rows: bool) -> Blocks:
    """Returns the blocks of a product whose cores divide its rows, or its columns, alone."""
    rows, _, columns = product.size
    per_core = (-(-rows // rates.cores), columns) if by_rows else (rows, -(-columns // rates.cores))
    return _fitted(product, rates, *per_core, width)


def _of_shards(product: Product, rates: Rates) -> Blocks:
    """Returns the blocks of a product whose left operand is sharded: each core has its shard's rows."""
    rows, inner, columns = product.size
    shards = product.works[0].shards
    assert shards is not None
    kind, (high, wide), (shard_rows, shard_columns) = shards
    if product.batches[1] > 1:
        return Blocks(shard_rows, columns, (shard_rows, columns), shard_columns, subblock(shard_rows, columns))
    if kind is MemoryLayout.HEIGHT_SHARDED:
        return _fitted(product, rates, shard_rows, columns, inner)
    if kind is MemoryLayout.WIDTH_SHARDED:
        return _fitted(product, rates, rows, -(-columns // wide), math.gcd(shard_columns, inner))
    width = math.gcd(shard_columns, inner) if wide * shard_columns == inner else 1
    return _fitted(product, rates, -(-rows // high), -(-columns // wide), width)


@functools.cache
def subblock(rows: int, columns: int, *, wide: bool = False) -> tuple[int, int]:
    """Returns the subblock that TT-NN prefers: rows and columns.

    Args:
        rows: rows of the part of the result that a core computes at a time.
        columns: its columns.
        wide: whether sums have 32 bits, so that the destination register holds half as many tiles.
    """
    most = 4 if wide else 8
    fitting = (each for each in SUBBLOCKS if each[0] * each[1] <= most)
    return next((high, broad) for high, broad in fitting if rows % high == 0 and columns % broad == 0)


def _fitted(
    product: Product, rates: Rates, rows: int, columns: int, width: int, *, thinner: bool = False, in_2025: bool = False
) -> Blocks:
    """Returns the largest part of a core's result whose buffers fit in L1, of equal parts the squarest.

    Args:
        product: the product.
        rates: the chip.
        rows: rows of the result that a core computes.
        columns: its columns.
        width: part of the inner dimension that is read at a time.
        thinner: whether smaller widths are tried too.
        in_2025: whether smaller parts are tried before smaller widths.
    """
    choices: Iterable[tuple[tuple[int, int], int]] = [((rows, columns), width)]
    if _buffer_bytes(product, rows, columns, width) >= rates.l1_bytes:
        parts = [(high, wide) for high in _divisors(rows) for wide in _divisors(columns)]
        parts.sort(key=lambda part: (-part[0] * part[1], max(part) / min(part), part[0]))
        widths = _divisors(width) if thinner else (width,)
        choices = itertools.product(parts, widths)
        if in_2025:
            choices = ((part, step) for step in widths for part in parts)
    for part, step in choices:
        if _buffer_bytes(product, *part, step) < rates.l1_bytes:
            return Blocks(rows, columns, part, step, subblock(*part, wide=product.wide))
    return Blocks(rows, columns, (1, 1), 1, (1, 1))


@functools.cache
def _divisors(size: int) -> tuple[int, ...]:
    """Returns the divisors of a size, the largest first."""
    return tuple(divisor for divisor in range(size, 0, -1) if size % divisor == 0)


def _buffer_bytes(product: Product, rows: int, columns: int, width: int) -> int:
    """Returns TT-NN's estimate of the bytes of the circular buffers of a core."""
    left, right, result = (work.page if work.tiled else TILE_BYTES["bf16"] for work in product.works)
    partial = TILE_BYTES["f32"] if product.wide else max(TILE_BYTES["bf16"], result)
    return 2 * width * (rows * left + columns * right) + rows * columns * (left + partial)
