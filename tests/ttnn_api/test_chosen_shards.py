"""Results whose memory config names a kind of sharding alone. The shards are those of TT-NN's mock mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


@pytest.fixture
def put(ttnn: Any, device: Any) -> Any:
    """Returns a function that puts zeros into DRAM, or into shards of 32 rows: whole ones, or blocks of 32 columns."""

    def made(shape: tuple[int, ...], kind: str = "", block: tuple[int, int] = (32, 32)) -> Any:
        tensor = ttnn.zeros(list(shape), layout=ttnn.TILE_LAYOUT, device=device)
        if not kind:
            return tensor
        rows, columns = torch.Size(shape[:-1]).numel(), shape[-1]
        high, wide = block if kind == "BLOCK" else (32, columns)
        grid = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (columns // wide - 1, rows // high - 1))])
        spec = ttnn.ShardSpec(grid, (high, wide), ttnn.ShardOrientation.ROW_MAJOR)
        layout = getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED")
        return ttnn.to_memory_config(tensor, ttnn.MemoryConfig(layout, ttnn.BufferType.L1, spec))

    return made


def described(tensor: Any) -> str:
    spec = tensor.memory_config().shard_spec
    return f"{list(spec.shape)} on {spec.grid} {spec.orientation.name.lower()}"


@pytest.fixture
def kinds(ttnn: Any) -> dict[str, Any]:
    names = {"H": "HEIGHT", "W": "WIDTH", "B": "BLOCK"}
    return {key: getattr(ttnn, f"L1_{name}_SHARDED_MEMORY_CONFIG") for key, name in names.items()}


@pytest.mark.parametrize(
    ("config", "memory", "expected"),
    [
        ({"per_core_M": 2, "per_core_N": 4}, "B", "[64, 128] on {[0-0 - 3-3]} row_major"),
        ({"per_core_M": 3, "per_core_N": 5}, "B", "[96, 160] on {[0-0 - 3-2]} row_major"),
        ({"per_core_M": 2, "per_core_N": 8, "transpose_mcast": True}, "B", "[64, 256] on {[0-0 - 3-1]} col_major"),
        ({"per_core_M": 8, "per_core_N": 1, "mcast_in0": True}, "W", "[256, 32] on {[0-0 - 7-1]} row_major"),
        ({"per_core_M": 1, "per_core_N": 16, "mcast_in0": False}, "H", "[32, 512] on {[0-0 - 7-0]} row_major"),
    ],
)
def test_shards_of_products_follow_from_their_program_config(
    ttnn: Any, put: Any, kinds: Any, config: dict[str, Any], memory: str, expected: str
) -> None:
    common = {"compute_with_storage_grid_size": (8, 8), "in0_block_w": 2, "out_subblock_h": 1, "out_subblock_w": 1}
    if "mcast_in0" in config:
        kind, more = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig, {"fuse_batch": True, "fused_activation": None}
    else:
        kind, more = ttnn.MatmulMultiCoreReuseMultiCastProgramConfig, {"fused_activation": None}
        config = {"transpose_mcast": False, **config}
    a, b = put((1, 1, 256, 256)), put((1, 1, 256, 512))
    product = ttnn.matmul(a, b, program_config=kind(**common, **more, **config), memory_config=kinds[memory])
    assert described(product) == expected


def test_products_of_batches_are_rows_in_the_order_of_columns(ttnn: Any, put: Any, kinds: Any) -> None:
    config = ttnn.MatmulMultiCoreReuseProgramConfig(
        compute_with_storage_grid_size=(8, 8),
        in0_block_w=2,
        out_subblock_h=1,
        out_subblock_w=1,
        per_core_M=2,
        per_core_N=3,
    )
    a, b = put((2, 4, 64, 64)), put((2, 4, 64, 96))
    made = ttnn.matmul(a, b, program_config=config, memory_config=kinds["H"])
    assert described(made) == "[64, 96] on {[0-0 - 0-7]} col_major"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ttnn.exp(x, memory_config=H)", "[32, 256] on {[0-0 - 7-0]} row_major"),
        ("ttnn.add(x, x, memory_config=B)", "[32, 32] on {[0-0 - 7-7]} row_major"),
        ("ttnn.where(x, x, 1.0, memory_config=H)", "[32, 256] on {[0-0 - 7-0]} row_major"),
        ("ttnn.permute(x, [0, 1, 3, 2], memory_config=H)", "[32, 256] on {[0-0 - 7-0]} row_major"),
        ("ttnn.slice(x, [0, 0, 0, 0], [1, 1, 128, 256], memory_config=H)", "[32, 256] on {[0-0 - 3-0]} row_major"),
        ("ttnn.matmul(x, x, memory_config=W)", "[256, 32] on {[0-0 - 7-0]} row_major"),
        ("ttnn.matmul(x, x, memory_config=B)", "[256, 256] on {[0-0 - 0-0]} row_major"),
        ("ttnn.exp(rows, memory_config=H)", "[32, 256] on {[0-0 - 0-7]} row_major"),
        ("ttnn.add(x, rows, memory_config=H)", "[32, 256] on {[0-0 - 0-7]} row_major"),
        ("ttnn.matmul(blocks, x, memory_config=B)", "[32, 32] on {[0-0 - 7-7]} row_major"),
        ("ttnn.layer_norm(blocks, memory_config=B)", "[32, 32] on {[0-0 - 7-7]} row_major"),
        ("ttnn.reshape(rows, [1, 2, 128, 256], memory_config=H)", "[32, 256] on {[0-0 - 0-7]} row_major"),
        ("ttnn.add(rows, blocks)", "[32, 32] on {[0-0 - 7-7]} row_major"),
    ],
)
def test_results_are_divided_among_cores(ttnn: Any, put: Any, kinds: Any, call: str, expected: str) -> None:
    shape = (1, 1, 256, 256)
    names = {"ttnn": ttnn, "x": put(shape), "rows": put(shape, "HEIGHT"), "blocks": put(shape, "BLOCK"), **kinds}
    assert described(eval(call, names)) == expected


def test_heads_stay_on_their_cores(ttnn: Any, put: Any, kinds: Any) -> None:
    joined = ttnn.experimental.nlp_concat_heads(put((1, 8, 32, 64), "HEIGHT"), memory_config=kinds["W"])
    assert described(joined) == "[32, 64] on {[0-0 - 0-7]} row_major"
    heads = ttnn.transformer.split_query_key_value_and_split_heads(
        put((2, 64, 192), "BLOCK", (64, 96)), num_heads=2, memory_config=kinds["H"]
    )
    assert [described(each).partition(" on ")[0] for each in heads] == ["[64, 32]", "[32, 64]", "[64, 32]"]


def test_calls_that_need_shards_are_refused(ttnn: Any, put: Any, kinds: Any) -> None:
    x = put((1, 1, 256, 256))
    for call in (
        lambda: ttnn.to_memory_config(x, kinds["H"]),
        lambda: ttnn.softmax(x, -1, memory_config=kinds["H"]),
        lambda: ttnn.sum(x, -1, memory_config=kinds["H"]),
    ):
        with pytest.raises(RuntimeError, match="Sharded memory config must have a shard spec"):
            call()
