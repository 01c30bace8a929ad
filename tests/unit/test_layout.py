"""Tests of layouts against numbers computed by hand and against the text of tt-mlir's compiler."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout, round_up
from tt_xla.ir.ttnn.attributes import TTNNLayoutAttr

pytestmark = pytest.mark.quick

TILE_BYTES = {"f32": 4096, "bf16": 2048, "bfp_bf8": 1088, "bfp_bf4": 576, "u32": 4096, "u16": 2048, "u8": 1024}
TILE_BYTES |= {"si32": 4096}


@pytest.mark.parametrize("dtype", [dtype for dtype in DataType if not dtype.is_host_only])
def test_bytes_of_a_tile(dtype: DataType) -> None:
    assert dtype.tile_bytes == TILE_BYTES[dtype]
    if dtype.is_block_float:
        with pytest.raises(ValueError, match="has no element size"):
            _ = dtype.element_bytes
    else:
        assert dtype.element_bytes * 1024 == dtype.tile_bytes


UPSTREAM = {
    (64, 26, 26, 32): ((832, 32, 1), (1664, 1)),
    (1, 3, 224, 224): ((672, 224, 1), (21, 7)),
    (32, 64): ((1,), (1, 2)),
    (33, 65): ((1,), (2, 3)),
    (7,): ((), (1, 1)),
    (100,): ((), (1, 4)),
    (): (None, (1, 1)),
    (2, 3, 4): ((32, 1), (2, 1)),
}
"""Row strides and tiles by shape, as tt-mlir lays tensors out in tiles."""


@pytest.mark.parametrize("shape", UPSTREAM)
def test_tiles(shape: tuple[int, ...]) -> None:
    layout = TensorLayout.of(shape, DataType.BF16)
    strides, tiles = UPSTREAM[shape]
    assert layout.row_strides == strides
    assert layout.shard == tiles
    assert layout.bytes == tiles[0] * tiles[1] * 2048
    assert layout.page_bytes == 2048
    assert layout.pages == tiles[0] * tiles[1]


def test_the_text_is_upstreams() -> None:
    layout = TensorLayout.of((64, 26, 26, 32), DataType.BF16)
    assert str(TTNNLayoutAttr(layout)) == (
        "#ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 832 + d1 * 32 + d2, d3), <1x1>, "
        "memref<1664x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>"
    )


def test_row_major() -> None:
    layout = TensorLayout.of((2, 3, 5), DataType.F32, tiled=False)
    assert (layout.row_strides, layout.shard) == ((3, 1), (6, 5))
    assert (layout.page_bytes, layout.pages, layout.bytes) == (20, 6, 120)


def test_system_memory() -> None:
    layout = TensorLayout.of((2, 3), DataType.BF16, tiled=False, buffer=BufferType.SYSTEM_MEMORY)
    assert layout.memory is None
    assert not layout.on_device
    moved = layout.with_((2, 3), buffer=BufferType.DRAM)
    assert moved.memory is MemoryLayout.INTERLEAVED
    assert moved.with_((2, 3), buffer=BufferType.SYSTEM_MEMORY) == layout


SHARDED = {
    MemoryLayout.HEIGHT_SHARDED: ((8, 1), (2, 4)),
    MemoryLayout.WIDTH_SHARDED: ((1, 4), (16, 1)),
    MemoryLayout.BLOCK_SHARDED: ((3, 3), (6, 2)),
}


@pytest.mark.parametrize("memory", SHARDED)
def test_shards_round_up(memory: MemoryLayout) -> None:
    grid, shard = SHARDED[memory]
    layout = TensorLayout.of((512, 128), DataType.BF16, buffer=BufferType.L1, memory=memory, grid=grid)
    assert layout.is_sharded
    assert layout.shard == shard
    assert layout.bytes == shard[0] * shard[1] * grid[0] * grid[1] * 2048


def test_interleaved_in_l1_is_not_cut() -> None:
    layout = TensorLayout.of((512, 128), DataType.BF16, buffer=BufferType.L1, grid=(8, 8))
    assert not layout.is_sharded
    assert layout.shard == (16, 4)
    assert layout.bytes == 64 * 2048


@given(st.lists(st.integers(1, 70), max_size=4), st.sampled_from(DataType))
def test_what_a_layout_holds(sizes: list[int], dtype: DataType) -> None:
    layout = TensorLayout.of(sizes, dtype)
    elements = 1
    for size in sizes:
        elements *= size
    padded = [*sizes]
    for position in range(-1, -1 - min(2, len(sizes)), -1):
        padded[position] = round_up(padded[position], 32)
    tiles = 1
    for size in padded:
        tiles *= size
    expected = max(tiles // 1024, round_up(sizes[0], 32) // 32 if len(sizes) == 1 else 1)
    assert layout.pages == expected
    assert layout.pages * 1024 >= elements
    assert layout.with_(sizes) == layout
    assert layout.retyped(DataType.F32).shard == layout.shard
