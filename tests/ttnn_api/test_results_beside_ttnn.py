"""Types, shapes and memories of results that TT-NN gives, as measured on its simulator."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


@pytest.fixture
def put(ttnn: Any, device: Any) -> Any:
    def make(shape: tuple[int, ...], dtype: str = "bfloat16", memory: str = "DRAM") -> Any:
        values = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape) % 7
        config = getattr(ttnn, f"{memory}_MEMORY_CONFIG")
        kind = torch.float32 if "float" in dtype else torch.int32
        return ttnn.from_torch(
            values.to(kind), dtype=getattr(ttnn, dtype), layout=ttnn.TILE_LAYOUT, device=device, memory_config=config
        )

    return make


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((3,), (5,)), (3, 5)),
        (((3, 1), (1, 5)), (3, 1, 5)),
        (((2, 3), (2, 5)), (2, 3, 5)),
        (((1, 1, 3, 1), (1, 1, 1, 5)), (1, 1, 3, 1, 5)),
    ],
)
def test_an_outer_product_is_that_of_the_last_dimensions(
    ttnn: Any, put: Any, shapes: tuple[tuple[int, ...], ...], expected: tuple[int, ...]
) -> None:
    a, b = map(put, shapes)
    result = ttnn.to_torch(ttnn.outer(a, b))
    first, second = ttnn.to_torch(a).unsqueeze(-1), ttnn.to_torch(b).unsqueeze(-2)
    assert result.shape == expected
    assert torch.equal(result, first * second)


def test_an_outer_product_is_refused_in_ttnns_words(ttnn: Any, put: Any) -> None:
    with pytest.raises(RuntimeError, match=r"ttnn\.outer: inputs must have the same dtype"):
        ttnn.outer(put((3,)), put((3,), "float32"))
    with pytest.raises(RuntimeError, match=r"ttnn\.outer: unsupported dtype"):
        ttnn.outer(put((3,), "uint16"), put((3,), "uint16"))


def test_stacks_of_uint16_that_move_nothing_are_taken(ttnn: Any, put: Any) -> None:
    x = put((2, 32, 64), "uint16")
    assert list(ttnn.stack([x, x], 0).shape) == [2, 2, 32, 64]
    with pytest.raises(RuntimeError, match="Can only work with bfloat16/float32"):
        ttnn.stack([x, x], -1)


def test_positions_of_sorted_uint16_are_uint32(ttnn: Any, put: Any) -> None:
    _, positions = ttnn.sort(put((32, 64), "uint16"))
    assert positions.dtype == ttnn.uint32


def test_the_memory_of_a_choice_beside_a_number_is_that_of_the_tensor(ttnn: Any, put: Any) -> None:
    predicate, chosen = put((32, 64), memory="L1"), put((32, 64))
    assert ttnn.where(predicate, 0.0, chosen).memory_config() == ttnn.DRAM_MEMORY_CONFIG
    assert ttnn.where(predicate, chosen, 0.0).memory_config() == ttnn.DRAM_MEMORY_CONFIG


@pytest.mark.parametrize(("name", "factor"), [("sum", -2.0), ("mean", -2.0), ("std", 2.0), ("var", 4.0)])
def test_a_scalar_multiplies_what_is_reduced(ttnn: Any, put: Any, name: str, factor: float) -> None:
    x = put((4, 32), "float32")
    expected = factor * ttnn.to_torch(getattr(ttnn, name)(x, -1))
    assert torch.allclose(ttnn.to_torch(getattr(ttnn, name)(x, -1, scalar=-2.0)), expected)


def test_a_negative_scalar_exchanges_extremes(ttnn: Any, put: Any) -> None:
    x = put((4, 32), "float32")
    assert torch.equal(ttnn.to_torch(ttnn.max(x, -1, scalar=-2.0)), -2 * ttnn.to_torch(ttnn.min(x, -1)))
    whole = put((4, 32), "int32")
    exact = -2.5 * ttnn.to_torch(ttnn.sum(whole, -1))
    assert torch.equal(ttnn.to_torch(ttnn.sum(whole, -1, scalar=-2.5)), exact.trunc().int())


def test_rdiv_rounds_quotients(ttnn: Any, put: Any) -> None:
    x = ttnn.add(put((4, 32), "float32"), 1.0)
    quotients = 5.0 / ttnn.to_torch(x)
    assert torch.equal(ttnn.to_torch(ttnn.rdiv(x, 5.0, rounding_mode="floor")), quotients.floor())
    assert torch.equal(ttnn.to_torch(ttnn.rdiv(x, -5.0, rounding_mode="trunc")), (-quotients).trunc())


def test_the_bits_of_a_float_are_inverted(ttnn: Any, put: Any) -> None:
    x = put((4, 32))
    assert torch.equal(ttnn.to_torch(ttnn.bitwise_not(x)).view(torch.int16), ~ttnn.to_torch(x).view(torch.int16))


@pytest.mark.parametrize("dtype", ["bfloat8_b", "bfloat4_b"])
def test_block_floats_stay_in_tiles_where_nothing_is_turned(ttnn: Any, put: Any, dtype: str) -> None:
    x = put((64, 64), dtype)
    assert ttnn.to_layout(x, ttnn.TILE_LAYOUT).layout == ttnn.TILE_LAYOUT
    host = x.cpu().to(ttnn.ROW_MAJOR_LAYOUT)
    assert (host.layout, host.dtype) == (ttnn.TILE_LAYOUT, getattr(ttnn, dtype))


def test_rows_are_made_in_the_type_of_the_tiles(ttnn: Any, put: Any) -> None:
    rows = ttnn.ROW_MAJOR_LAYOUT
    with pytest.raises(RuntimeError, match="dtype cannot be different from tensor dtype"):
        ttnn.to_layout(put((64, 64)), rows, dtype=ttnn.float32)
    assert ttnn.to_layout(put((64, 64), "bfloat8_b"), rows, dtype=ttnn.bfloat16).dtype == ttnn.bfloat16
    with pytest.raises(RuntimeError, match="Only TILE layout is supported"):
        ttnn.to_layout(put((64, 64), "bfloat4_b"), rows)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dim", [0, 1])
def test_shards_are_not_accumulated(ttnn: Any, put: Any, name: str, dim: int) -> None:
    core = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
    spec = ttnn.ShardSpec(core, [32, 32], ttnn.ShardOrientation.ROW_MAJOR)
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)
    x = ttnn.to_memory_config(put((32, 32)), memory)
    with pytest.raises(RuntimeError, match="do not support sharded input tensors"):
        getattr(ttnn, name)(x, dim)


def test_a_typecast_does_not_distribute_anew(ttnn: Any, put: Any) -> None:
    core = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
    spec = ttnn.ShardSpec(core, [32, 32], ttnn.ShardOrientation.ROW_MAJOR)
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)
    x = put((32, 32))
    for tensor, other in ((x, memory), (ttnn.to_memory_config(x, memory), ttnn.DRAM_MEMORY_CONFIG)):
        with pytest.raises(RuntimeError, match="requires Input and Output memory layout to match"):
            ttnn.typecast(tensor, ttnn.float32, memory_config=other)
    assert ttnn.typecast(x, ttnn.float32, memory_config=ttnn.L1_MEMORY_CONFIG).dtype == ttnn.float32
