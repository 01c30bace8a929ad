"""Shards of results, and shards that do not fit a tensor. What is expected is TT-NN's, in its mock mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick

KINDS = {"height": ((64, 128), 2, 1), "width": ((128, 64), 2, 1), "block": ((64, 64), 2, 2)}
"""By kind, the shards of [1, 2, 64, 128], and columns and rows of cores."""


@pytest.fixture
def sharded(ttnn: Any, device: Any) -> Any:
    """Returns a function that puts a tensor [1, 2, 64, 128], or one of another shape, into shards."""

    def put(kind: str, shape: tuple[int, ...] = (1, 2, 64, 128), shard: Any = None) -> Any:
        size, across, down = KINDS[kind]
        grid = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (across - 1, down - 1))])
        layout = getattr(ttnn.TensorMemoryLayout, f"{kind.upper()}_SHARDED")
        spec = ttnn.ShardSpec(grid, shard or size, ttnn.ShardOrientation.ROW_MAJOR)
        memory = ttnn.MemoryConfig(layout, ttnn.BufferType.L1, spec)
        return ttnn.zeros(list(shape), layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)

    return put


def described(tensor: Any) -> str:
    memory = tensor.memory_config()
    if memory.shard_spec is None:
        return memory.memory_layout.name.lower()
    return f"{memory.memory_layout.name.partition('_')[0].lower()} {list(memory.shard_spec.shape)}"


@pytest.mark.parametrize(
    ("call", "height", "width", "block"),
    [
        ("ttnn.relu(x)", "height [64, 128]", "width [128, 64]", "block [64, 64]"),
        ("ttnn.permute(x, [0, 1, 3, 2])", "height [128, 64]", "width [256, 32]", "block [128, 32]"),
        ("ttnn.reshape(x, [1, 1, 128, 128])", "height [64, 128]", "width [128, 64]", "block [64, 64]"),
        ("ttnn.reshape(x, [1, 1, 64, 256])", "height [32, 256]", "width [64, 128]", "block [32, 128]"),
        ("ttnn.slice(x, [0, 0, 0, 0], [1, 1, 32, 32])", "height [32, 32]", "width [32, 32]", "block [32, 32]"),
        ("ttnn.split(x, 32, -1)[1]", "height [64, 32]", "interleaved", "interleaved"),
        ("ttnn.split(x, 128, -1)[0]", "height [64, 128]", "width [128, 64]", "block [64, 64]"),
        ("ttnn.nonzero(ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG))[0]", *["interleaved"] * 3),
        ("ttnn.sum(x, dim=-1, keepdim=True)", "height [64, 32]", "width [128, 32]", "block [64, 32]"),
        ("ttnn.sum(x, dim=-2, keepdim=True)", "height [32, 128]", "width [64, 64]", "block [32, 64]"),
        ("ttnn.sum(x, dim=-1)", "width [32, 64]", "width [32, 32]", "block [32, 32]"),
        ("ttnn.std(x)", "width [32, 32]", "width [32, 32]", "block [32, 32]"),
    ],
)
def test_shards_of_results(ttnn: Any, sharded: Any, call: str, height: str, width: str, block: str) -> None:
    for kind, expected in (("height", height), ("width", width), ("block", block)):
        assert described(eval(call, {"ttnn": ttnn, "x": sharded(kind)})) == expected


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ("ttnn.pad(x, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0)", "height", "Number of shards along height 3"),
        (
            "ttnn.pad(x, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0)",
            "width",
            "Shard height 128 must match physical height 192",
        ),
        ("ttnn.pad(x, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0)", "block", "must not exceed number of rows 2"),
        ("ttnn.max(x, dim=1)", "height", "Number of shards along height 32 must not exceed number of cores 2"),
        ("ttnn.mean(x)", "height", "Shard width 128 must match physical width 32"),
        ("ttnn.sum(x)", "width", "Shard height 128 must match physical height 64"),
        ("ttnn.argmax(x, dim=-1)", "block", "Only INTERLEAVED memory layout"),
        ("ttnn.prod(x, dim=-1)", "height", "Memory layout must be INTERLEAVED"),
        ("ttnn.rms_norm(x, memory_config=ttnn.DRAM_MEMORY_CONFIG)", "block", "require sharded outputs"),
    ],
)
def test_shards_that_do_not_fit(ttnn: Any, sharded: Any, call: str, kind: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        eval(call, {"ttnn": ttnn, "x": sharded(kind)})


def test_padding_of_several_matrices_in_shards(ttnn: Any, sharded: Any) -> None:
    with pytest.raises(RuntimeError, match=r"N_slices > 1 not yet supported \(got 2\)"):
        ttnn.sum(sharded("height", (1, 2, 31, 33), (32, 64)), dim=-1)


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        ("ttnn.slice(x, [0, 0], [32, 33])", "bfloat8_b"),
        ("ttnn.slice(x, [0, 1], [32, 33])", "bfloat16"),
        ("ttnn.concat([x, x], 1)", "bfloat16"),
        ("ttnn.concat([x, x], 0)", "bfloat8_b"),
        ("ttnn.split(x, 16, 1)[1]", "bfloat16"),
        ("ttnn.to_layout(x, ttnn.TILE_LAYOUT, dtype=ttnn.float32)", "bfloat8_b"),
    ],
)
def test_block_floats_that_are_cut_within_tiles(ttnn: Any, device: Any, call: str, dtype: str) -> None:
    x = ttnn.from_torch(torch.randn(32, 50), dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=device)
    assert eval(call, {"ttnn": ttnn, "x": x}).dtype is getattr(ttnn, dtype)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("ttnn.split(x, [16, 32], 2)", "under-cover it by 16"),
        ("ttnn.tril(ttnn.to_layout(y, ttnn.ROW_MAJOR_LAYOUT))", "implicitly changed physical shape"),
        ("ttnn.rms_norm(x, weight=ttnn.from_device(y))", "expect device tensors as inputs"),
        ("ttnn.moreh_mean(x, dim=-1)", "Invalid dimension value: -1"),
        ("ttnn.argmax(ttnn.from_device(x), dim=-1)", "must be on device"),
        ("ttnn.transformer.attention_softmax_(x, head_size=64)", "when attention_mask is not set"),
        (
            "ttnn.fill_implicit_tile_padding(ttnn.to_layout(y, ttnn.ROW_MAJOR_LAYOUT), 0)",
            "only be used for tile layout",
        ),
    ],
)
def test_calls_that_tt_nn_refuses(ttnn: Any, device: Any, call: str, words: str) -> None:
    x, y = (ttnn.zeros([1, 32, size], layout=ttnn.TILE_LAYOUT, device=device) for size in (64, 33))
    with pytest.raises(RuntimeError, match=words):
        eval(call, {"ttnn": ttnn, "x": x, "y": y})
