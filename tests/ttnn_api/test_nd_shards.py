"""Shards of tensors that are cut along several dimensions. What is expected is TT-NN's, in its mock mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


@pytest.fixture
def cut(ttnn: Any, device: Any) -> Any:
    """Returns a function that puts a tensor into L1 in shards over 2 by 2 cores."""
    grid = ttnn.CoreRangeSet({ttnn.CoreRange((0, 0), (1, 1))})

    def put(shape: tuple[int, ...], shard: list[int], layout: Any = None, **options: Any) -> Any:
        config = ttnn.MemoryConfig(ttnn.BufferType.L1, ttnn.NdShardSpec(shard, grid, **options))
        values = torch.arange(torch.Size(shape).numel()).reshape(shape) % 64
        layout = layout or ttnn.TILE_LAYOUT
        return ttnn.from_torch(values.bfloat16(), layout=layout, device=device, memory_config=config)

    return put


@pytest.mark.parametrize(
    ("shape", "shard", "kind", "rows_and_columns"),
    [
        ((4, 64, 64), [1, 32, 32], "ND_SHARDED", None),
        ((4, 64, 64), [2, 32, 64], "ND_SHARDED", None),
        ((4, 64, 64), [1, 96, 64], "ND_SHARDED", None),
        ((4, 64, 64), [32, 64], "ND_SHARDED", None),
        ((4, 64, 64), [2, 64, 64], "HEIGHT_SHARDED", (128, 64)),
        ((4, 64, 64), [64, 64], "HEIGHT_SHARDED", (64, 64)),
        ((4, 64, 64), [4, 64, 32], "WIDTH_SHARDED", (256, 32)),
        ((64, 64), [32, 32], "BLOCK_SHARDED", (32, 32)),
    ],
)
def test_kinds(cut: Any, shape: Any, shard: list[int], kind: str, rows_and_columns: Any) -> None:
    memory = cut(shape, shard).memory_config()
    assert memory.memory_layout.name == kind
    assert (memory.shard_spec and tuple(memory.shard_spec.shape)) == rows_and_columns


def test_values_and_memory(ttnn: Any, device: Any, cut: Any) -> None:
    before = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank
    x = cut((4, 64, 64), [1, 32, 32])
    held = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank - before
    assert held == 4 * 32 * 32 * 2  # 16 shards on 4 cores
    doubled = ttnn.add(x, x)
    assert doubled.memory_config() == x.memory_config()
    assert torch.equal(ttnn.to_torch(doubled), 2 * ttnn.to_torch(x))
    moved = ttnn.to_memory_config(x, ttnn.DRAM_MEMORY_CONFIG)
    assert torch.equal(ttnn.to_torch(moved), ttnn.to_torch(x))
    assert x.spec.memory_config.nd_shard_spec.num_cores() == 4


@pytest.mark.parametrize(
    ("shape", "shard", "words"),
    [
        ((4, 64, 64), [1, 1, 32, 32], r"Tensor shape rank \(3\) can't be less than shard shape rank \(4\)"),
        ((4, 64, 64), [1, 20, 64], r"Physical shard shape Shape\(\[1, 20, 64\]\) must be tile \{32, 32\} sized"),
    ],
)
def test_refused(cut: Any, shape: Any, shard: list[int], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        cut(shape, shard)


def test_grids_are_wide_enough(ttnn: Any, cut: Any) -> None:
    with pytest.raises(RuntimeError, match="must not exceed core grid width"):
        cut((64, 128), [32, 32], shard_distribution_strategy=ttnn.ShardDistributionStrategy.GRID_2D)


def test_description(ttnn: Any, cut: Any) -> None:
    assert repr(cut((4, 64, 64), [1, 32, 32]).memory_config()) == (
        "MemoryConfig(memory_layout=TensorMemoryLayout::ND_SHARDED,buffer_type=BufferType::L1,shard_spec=std::nullopt,"
        'nd_shard_spec={"shard_shape":[1, 32, 32],"grid":[{"start":{"x":0,"y":0},"end":{"x":1,"y":1}}],'
        '"orientation":"ShardOrientation::ROW_MAJOR",'
        '"shard_distribution_strategy":"ShardDistributionStrategy::ROUND_ROBIN_1D"},'
        "created_with_nd_shard_spec=1,per_core_allocation=0,range_lockstep_allocation=0)"
    )
