"""Positions that become channels, and channels that come first or last, with the memories that TT-NN gives them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


@pytest.fixture
def grid(ttnn: Any) -> Any:
    def make(x: int, y: int) -> Any:
        return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(x - 1, y - 1))])

    return make


@pytest.fixture
def sharded(ttnn: Any, grid: Any) -> Any:
    def make(shape: tuple[int, int], cores: tuple[int, int], layout: str = "HEIGHT", memory: str = "L1") -> Any:
        spec = ttnn.ShardSpec(grid(*cores), shape, ttnn.ShardOrientation.ROW_MAJOR)
        kind = getattr(ttnn.TensorMemoryLayout, f"{layout}_SHARDED")
        return ttnn.MemoryConfig(kind, getattr(ttnn.BufferType, memory), spec)

    return make


@pytest.fixture
def put(ttnn: Any, device: Any) -> Any:
    def make(values: torch.Tensor, memory: Any = None, layout: str = "ROW_MAJOR", dtype: str = "bfloat16") -> Any:
        return ttnn.from_torch(
            values,
            dtype=getattr(ttnn, dtype),
            layout=getattr(ttnn, f"{layout}_LAYOUT"),
            device=device,
            memory_config=memory or ttnn.DRAM_MEMORY_CONFIG,
        )

    return make


def _drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape))).bfloat16()


def _blocks(x: torch.Tensor) -> torch.Tensor:
    batch, rows, columns, channels = x.shape
    x = x.reshape(batch, rows // 2, 2, columns // 2, 2, channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(batch, rows // 2, columns // 2, 4 * channels)


def test_tiles_fold_into_rows(ttnn: Any, put: Any) -> None:
    x = _drawn(1, 4, 8, 32)
    result = ttnn.fold(put(x, layout="TILE"), 2, 2)
    assert result.layout == ttnn.ROW_MAJOR_LAYOUT
    assert torch.equal(ttnn.to_torch(result), _blocks(x))
    assert ttnn.fold(put(x, layout="TILE", dtype="bfloat8_b"), 2, 2).dtype == ttnn.bfloat16


@pytest.mark.parametrize(
    ("shape", "cores", "layout", "expected"),
    [
        ((16, 32), (2, 1), "HEIGHT", [4, 128]),
        ((32, 16), (2, 1), "WIDTH", [8, 64]),
        ((16, 16), (2, 2), "BLOCK", [4, 64]),
    ],
)
def test_shards_are_folded_where_they_are(
    ttnn: Any,
    put: Any,
    sharded: Any,
    shape: tuple[int, int],
    cores: tuple[int, int],
    layout: str,
    expected: list[int],
) -> None:
    x = _drawn(1, 4, 8, 32)
    result = ttnn.fold(put(x, sharded(shape, cores, layout)), 2, 2)
    assert result.memory_config().shard_spec.shape == expected
    assert torch.equal(ttnn.to_torch(result), _blocks(x))


def test_shards_that_cut_a_block_are_divided_anew(ttnn: Any, put: Any, sharded: Any, grid: Any) -> None:
    x = _drawn(2, 6, 8, 32)
    result = ttnn.fold(put(x, sharded((8, 32), (4, 3))), 2, 2)
    spec = result.memory_config().shard_spec
    assert (spec.shape, spec.grid) == ([4, 128], grid(6, 1))
    assert torch.equal(ttnn.to_torch(result), _blocks(x))


def test_padded_shards_are_divided_anew(ttnn: Any, put: Any, sharded: Any, grid: Any) -> None:
    x = _drawn(1, 16, 16, 8)
    result = ttnn.fold(put(x, sharded((64, 8), (4, 1))), 2, 2, padding=[2, 2])
    spec = result.memory_config().shard_spec
    assert (spec.shape, spec.grid) == ([10, 32], grid(10, 1))
    assert torch.equal(ttnn.to_torch(result), _blocks(torch.nn.functional.pad(x, (0, 0, 2, 2, 2, 2))))


def test_an_open_memory_takes_the_folded_shards(ttnn: Any, put: Any, sharded: Any) -> None:
    x = put(_drawn(1, 4, 8, 32), sharded((16, 32), (2, 1)))
    open_one = ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG
    assert ttnn.fold(x, 2, 2, override_memory_config=open_one).memory_config().shard_spec.shape == [4, 128]
    named = sharded((2, 128), (4, 1))
    assert ttnn.fold(x, 2, 2, override_memory_config=named).memory_config() == named


def test_folding_by_transposing_fills_tiles(ttnn: Any, put: Any, sharded: Any) -> None:
    x = _drawn(1, 3, 30, 60)
    result = ttnn.fold(put(x), 2, 2, use_transpose_as_fold=True)
    assert list(result.shape) == [1, 16, 32, 12]
    assert result.memory_config() == ttnn.L1_MEMORY_CONFIG
    whole = _blocks(torch.nn.functional.pad(x, (0, 4, 0, 2)).permute(0, 2, 3, 1))
    assert torch.equal(ttnn.to_torch(result), whole)
    part = ttnn.fold(put(x), 2, 2, use_transpose_as_fold=True, output_shape=ttnn.Shape([1, 15, 30, 12]))
    assert torch.equal(ttnn.to_torch(part), whole[:, :15, :30])


def test_float32_rows_fold_by_transposing_in_whole_reads_only(ttnn: Any, put: Any) -> None:
    x = put(_drawn(1, 3, 32, 32).float(), dtype="float32")
    with pytest.raises(RuntimeError, match="dtype must be BFLOAT16 for this reshape operation"):
        ttnn.fold(x, 2, 2, use_transpose_as_fold=True)
    assert list(ttnn.fold(x, 2, 2, use_transpose_as_fold=True, padding=[0, 0, 0, 0, 0, 1]).shape) == [1, 16, 16, 16]


def test_shards_folded_by_transposing_are_padded_on_both_sides(ttnn: Any, put: Any, sharded: Any) -> None:
    x = _drawn(1, 3, 32, 32)
    source = put(x, sharded((24, 32), (2, 2)))
    result = ttnn.fold(source, 2, 2, use_transpose_as_fold=True, padding=[3, 3, 3, 3, 0, 1])
    assert result.memory_config().shard_spec.shape == [91, 16]
    padded = torch.nn.functional.pad(x, (3, 3, 3, 3, 0, 1)).permute(0, 2, 3, 1)
    assert torch.equal(ttnn.to_torch(result), _blocks(padded))


@pytest.mark.parametrize(
    ("shape", "layout", "arguments", "words"),
    [
        ((1, 5, 8, 32), "ROW_MAJOR", {}, r"logical H \(5\) must be divisible by stride_h \(2\)"),
        ((1, 4, 7, 32), "ROW_MAJOR", {}, r"logical W \(7\) must be divisible by stride_w \(2\)"),
        ((1, 4, 8, 32), "ROW_MAJOR", {"stride_h": 0}, r"stride_h \(0\) and stride_w \(2\) must be > 0"),
        ((4, 8, 32), "ROW_MAJOR", {}, "only supports 4D tensors"),
        ((1, 4, 8, 32), "TILE", {"padding": [1, 1]}, "does not support front padding"),
        ((1, 3, 32, 32), "TILE", {"use_transpose_as_fold": True, "collapse_output": True}, "collapse_output=True"),
    ],
)
def test_folds_are_refused_in_ttnns_words(
    ttnn: Any, put: Any, shape: tuple[int, ...], layout: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(RuntimeError, match=words):
        ttnn.fold(put(_drawn(*shape), layout=layout), **{"stride_h": 2, "stride_w": 2, **arguments})


@pytest.mark.parametrize(("positions", "height"), [(64, 32), (96, 64)])
def test_channels_come_first_on_the_cores_of_their_positions(
    ttnn: Any, put: Any, sharded: Any, positions: int, height: int
) -> None:
    x = _drawn(1, 1, positions, 8)
    source = put(x, sharded((height, 32), (2, 1)), "TILE")
    result = ttnn.experimental.convert_to_chw(source, dtype=ttnn.bfloat16)
    assert result.layout == ttnn.ROW_MAJOR_LAYOUT
    assert result.memory_config() == sharded((8, height), (2, 1), "WIDTH")
    assert torch.equal(ttnn.to_torch(result), x.transpose(2, 3))


def test_channels_come_last_in_whole_multiples_of_sixteen_bytes(ttnn: Any, put: Any, sharded: Any) -> None:
    x = _drawn(1, 2, 3, 64)
    result = ttnn.experimental.convert_to_hwc(put(x, sharded((6, 32), (2, 1), "WIDTH")))
    assert list(result.shape) == [1, 1, 128, 8]
    assert result.memory_config() == sharded((64, 8), (2, 1))
    values = ttnn.to_torch(result)
    assert torch.equal(values[..., :3], x.transpose(2, 3).reshape(1, 1, 128, 3))
    assert not values[..., 3:].any()


def test_conversions_are_refused_in_ttnns_words(ttnn: Any, put: Any, sharded: Any) -> None:
    to_chw, to_hwc = ttnn.experimental.convert_to_chw, ttnn.experimental.convert_to_hwc
    with pytest.raises(RuntimeError, match="must be sharded to infer output memory config"):
        to_chw(put(_drawn(1, 1, 96, 8), layout="TILE"))
    with pytest.raises(RuntimeError, match=r"C must be less than or equal to 32 \(was 64\)"):
        to_chw(put(_drawn(1, 1, 64, 64), sharded((32, 64), (2, 1)), "TILE"))
    with pytest.raises(RuntimeError, match="HW must be divisible by tile size"):
        to_chw(put(_drawn(1, 1, 48, 8), sharded((24, 8), (2, 1))))
    with pytest.raises(RuntimeError, match="output memory_config must be explicitly specified"):
        to_hwc(put(_drawn(1, 1, 8, 64)))
