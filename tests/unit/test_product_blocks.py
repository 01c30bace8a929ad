"""Blocks of matrix products that TT-NN chooses, worked out by hand from its rules. Sizes are in tiles."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tt_xla.cost.product_blocks import Blocks, Product, chosen, configured, subblock
from tt_xla.cost.rates import Work, rates_of
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

N150 = rates_of(load_target("n150"))
L1: dict[str, Any] = {"buffer": BufferType.L1}
SHARDS = {memory: L1 | {"memory": memory} for memory in MemoryLayout}


def work(rows: int, columns: int, dtype: DataType = DataType.BFP_BF8, **place: Any) -> Work:
    return Work(TensorLayout.of((32 * rows, 32 * columns), dtype, **place))


def product(
    rows: int,
    inner: int,
    columns: int,
    *,
    batches: tuple[int, int] = (1, 1),
    left: dict[str, Any] | None = None,
    result: dict[str, Any] | None = None,
    dtype: DataType = DataType.BFP_BF8,
    wide: bool = False,
) -> Product:
    works = (
        work(rows, inner, dtype, **(left or {})),
        work(inner, columns, dtype),
        work(rows, columns, dtype, **(result or {})),
    )
    return Product((rows, inner, columns), batches, works, wide)


def test_the_grid_divides_a_product_in_dram() -> None:
    assert chosen(product(64, 96, 96), N150) == Blocks(8, 12, (8, 12), 12, (4, 2))
    assert chosen(product(64, 97, 96), N150) == Blocks(8, 12, (8, 12), 1, (4, 2))  # 97 is no multiple of 8 columns
    assert chosen(product(66, 96, 98), N150) == Blocks(9, 13, (9, 13), 12, (3, 1))


def test_blocks_that_do_not_fit_become_thinner_before_parts_become_smaller() -> None:
    large = product(96, 128, 128)  # 12 x 16 tiles for a core, by 16 of the inner dimension
    assert chosen(large, N150) == Blocks(12, 16, (12, 16), 8, (4, 2))
    assert chosen(large, N150, in_2025=True) == Blocks(12, 16, (12, 8), 16, (4, 2))


def test_equal_parts_that_fit_are_the_squarest() -> None:
    tight = dataclasses.replace(N150, l1_bytes=500_000)
    assert chosen(product(64, 8, 96), tight) == Blocks(8, 12, (8, 12), 1, (4, 2))
    assert chosen(product(128, 8, 128), tight) == Blocks(16, 16, (8, 16), 1, (4, 2))  # not 16 x 8, nor 4 x 32


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((4, 64, 64), Blocks(4, 1, (4, 1), 2, (4, 1))),  # sixteen times as wide as high
        ((64, 63, 4), Blocks(1, 4, (1, 4), 1, (1, 4))),  # an odd inner dimension
        ((1, 64, 8), Blocks(1, 1, (1, 1), 2, (1, 1))),  # one row of tiles
        ((8, 64, 64), Blocks(1, 8, (1, 8), 8, (1, 8))),  # just not narrow
    ],
)
def test_narrow_products_are_divided_along_one_side(size: tuple[int, int, int], expected: Blocks) -> None:
    assert chosen(product(*size), N150) == expected


def test_one_row_of_squares_was_divided_along_one_side_in_2025() -> None:
    flat = product(16, 32, 64)
    assert chosen(flat, N150) == Blocks(2, 8, (2, 8), 4, (2, 4))
    assert chosen(flat, N150, in_2025=True) == Blocks(16, 1, (16, 1), 2, (8, 1))
    tall = product(64, 32, 16)
    assert chosen(tall, N150, in_2025=True) == Blocks(1, 16, (1, 16), 2, (1, 8))


def test_a_matrix_for_many_is_divided_by_rows() -> None:
    assert chosen(product(64, 32, 64, batches=(1, 4)), N150) == Blocks(1, 64, (1, 64), 2, (1, 8))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((64, 32, 64), Blocks(16, 16, (16, 16), 2, (1, 2))),  # 4 x 4 squares of 16 x 16
        ((16, 32, 64), Blocks(16, 1, (16, 1), 2, (8, 1))),  # one row of them
        ((16, 32, 16), None),  # one square
        ((256, 32, 256), None),  # more squares than cores
        ((64, 33, 64), Blocks(16, 16, (16, 16), 1, (1, 2))),
    ],
)
def test_tensors_in_l1_are_spread_over_squares(size: tuple[int, int, int], expected: Blocks | None) -> None:
    assert chosen(product(*size, left=L1), N150) == expected


def test_sums_of_32_bits_take_smaller_squares_and_subblocks() -> None:
    assert chosen(product(64, 32, 64, left=L1, wide=True), N150) == Blocks(8, 8, (8, 8), 2, (1, 2))
    assert chosen(product(64, 96, 96, wide=True), N150) == Blocks(8, 12, (8, 12), 12, (2, 2))


def test_a_sharded_result_decides_on_the_side() -> None:
    by_rows, by_columns, by_both = (
        SHARDS[MemoryLayout.HEIGHT_SHARDED] | {"grid": (16, 1)},
        SHARDS[MemoryLayout.WIDTH_SHARDED] | {"grid": (1, 16)},
        SHARDS[MemoryLayout.BLOCK_SHARDED] | {"grid": (4, 4)},
    )
    assert chosen(product(16, 32, 16, result=by_rows), N150) == Blocks(1, 16, (1, 16), 2, (1, 8))
    assert chosen(product(16, 32, 16, result=by_columns), N150) == Blocks(16, 1, (16, 1), 2, (8, 1))
    assert chosen(product(16, 32, 16, result=by_both), N150) == Blocks(16, 16, (16, 16), 2, (1, 2))


@pytest.mark.parametrize(
    ("memory", "grid", "expected"),
    [
        (MemoryLayout.HEIGHT_SHARDED, (16, 1), Blocks(4, 64, (4, 64), 32, (4, 2))),
        (MemoryLayout.WIDTH_SHARDED, (1, 16), Blocks(64, 4, (64, 4), 2, (4, 2))),
        (MemoryLayout.BLOCK_SHARDED, (8, 4), Blocks(8, 16, (8, 16), 8, (4, 2))),
        (MemoryLayout.BLOCK_SHARDED, (8, 6), Blocks(8, 11, (8, 11), 1, (8, 1))),  # 6 shards of 6 are not 32 tiles
    ],
)
def test_shards_of_the_left_operand_decide(memory: MemoryLayout, grid: tuple[int, int], expected: Blocks) -> None:
    rates = dataclasses.replace(N150, l1_bytes=1 << 24)
    assert chosen(product(64, 32, 64, left=SHARDS[memory] | {"grid": grid}), rates) == expected


def test_shards_of_a_batch_are_multiplied_where_they_lie() -> None:
    shards = SHARDS[MemoryLayout.HEIGHT_SHARDED] | {"grid": (16, 1)}
    assert chosen(product(64, 32, 4, batches=(4, 4), left=shards), N150) == Blocks(4, 4, (4, 4), 32, (4, 2))


def test_blocks_of_a_config() -> None:
    whole = product(64, 32, 64)
    assert configured({"per_core_m": 8, "per_core_n": 6}, whole) == Blocks(8, 6, (8, 6), 3, (4, 2))
    config = {"per_core_m": 8, "per_core_n": 8, "in0_block_w": 2, "out_block_h": 4, "out_subblock_w": 2}
    blocks = configured(config, whole)
    assert blocks == Blocks(8, 8, (4, 8), 2, (1, 2))
    assert blocks.parts == 2
    assert configured(blocks.config, whole) == blocks


def test_subblocks() -> None:
    assert [subblock(*size) for size in ((7, 3), (2, 7), (6, 5), (11, 13))] == [(7, 1), (1, 7), (6, 1), (1, 1)]
    assert subblock(8, 8, wide=True) == (2, 2)
