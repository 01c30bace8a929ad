"""Calls that TT-NN refuses, and values that drawn calls found to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tt_xla.testing.divergence.scripts import compare_script
from tt_xla.ttnn_api import refusals
from tt_xla.ttnn_api.families import operations
from tt_xla.ttnn_api.operation import GOLDENS

pytestmark = pytest.mark.quick


@pytest.fixture
def put(ttnn: Any, device: Any) -> Any:
    def on_device(shape: tuple[int, ...], dtype: Any = None, layout: Any = None, **options: Any) -> Any:
        tensor = torch.arange(torch.Size(shape).numel()).reshape(shape) - 7.0
        where = layout or ttnn.TILE_LAYOUT
        return ttnn.from_torch(tensor, dtype or ttnn.bfloat16, layout=where, device=device, **options)

    return on_device


def test_data_types_layouts_and_memories_are_refused_in_tt_nns_words(ttnn: Any, put: Any) -> None:
    integers, floats = put((32, 32), ttnn.int32), put((32, 32))
    with pytest.raises(
        RuntimeError, match=r"UnaryOpType::ACOS does not support integer input dtype DataType::INT32.*typecast"
    ):
        ttnn.acos(integers)
    with pytest.raises(RuntimeError, match=r"Mixed dtype .* dtype A: DataType::BFLOAT16, dtype B: DataType::INT32"):
        ttnn.add(floats, integers)
    with pytest.raises(RuntimeError, match=r"All Tensors should have same dtypes"):
        ttnn.concat([floats, integers], 0)
    assert ttnn.concat([integers, integers], 0).shape == [64, 32]
    with pytest.raises(RuntimeError, match=r"Inputs to matmul must be tilized.*to_layout"):
        ttnn.matmul(put((32, 32), layout=ttnn.ROW_MAJOR_LAYOUT), floats)
    cores = ttnn.create_sharded_memory_config((1, 1, 64, 32), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.HEIGHT)
    sharded, index = put((64, 32), memory_config=cores), put((64, 32), ttnn.uint32)
    with pytest.raises(RuntimeError, match=r"Sharded tensors are not supported.*to_memory_config"):
        ttnn.scatter(sharded, 0, index, sharded)


def test_shards_of_whole_tiles_are_sliced(ttnn: Any, put: Any) -> None:
    """The table's words about the size of shards are for shards that do not consist of whole tiles."""
    cores = ttnn.create_sharded_memory_config((1, 1, 64, 128), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.HEIGHT)
    x = put((1, 1, 64, 128), memory_config=cores)
    taken = ttnn.slice(x, [0, 0, 0, 0], [1, 1, 64, 64], memory_config=ttnn.DRAM_MEMORY_CONFIG)
    assert torch.equal(ttnn.to_torch(taken), ttnn.to_torch(x)[..., :64])


def test_the_table_is_that_of_known_functions(ttnn: Any) -> None:
    known = operations()
    assert set(refusals.table()) <= set(known)


def test_quotients_are_rounded(ttnn: Any, put: Any) -> None:
    x = put((1, 16), ttnn.float32)
    expected = torch.arange(16.0).reshape(1, 16) - 7
    for mode in ("trunc", "floor"):
        rounded = ttnn.to_torch(ttnn.div(x, 2.0, rounding_mode=mode))
        assert torch.equal(rounded, torch.div(expected, 2, rounding_mode=mode))
    with pytest.raises(RuntimeError, match="Incorrect rounding mode"):
        ttnn.div(x, 2.0, rounding_mode="up")


def test_any_function_is_applied_around_an_operation(ttnn: Any, put: Any) -> None:
    x = put((1, 16), ttnn.float32)
    options = {
        "input_tensor_a_activations": [ttnn.UnaryOpType.SQUARE],
        "activations": [ttnn.UnaryWithParam(ttnn.UnaryOpType.SOFTPLUS, 1, 20)],
    }
    values = torch.arange(16.0).reshape(1, 16) - 7
    expected = torch.nn.functional.softplus(torch.logaddexp2(values**2, torch.tensor(1.0)))
    torch.testing.assert_close(ttnn.to_torch(ttnn.logaddexp2(x, 1.0, **options)), expected)


def test_results_lie_where_tt_nn_puts_them(ttnn: Any, put: Any) -> None:
    cores = ttnn.create_sharded_memory_config((1, 1, 64, 32), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.HEIGHT)
    column = put((64, 32), memory_config=cores)
    wide = ttnn.add(put((64, 32)), column)
    assert wide.memory_config() == cores
    assert (
        ttnn.stack([put((32, 32), memory_config=ttnn.L1_MEMORY_CONFIG)] * 2, 0).memory_config()
        == ttnn.DRAM_MEMORY_CONFIG
    )
    assert ttnn.multiply(put((32, 32), ttnn.int32), put((32, 32))).dtype == ttnn.bfloat16
    assert ttnn.zeros([32, 32], dtype=ttnn.bfloat8_b).layout == ttnn.TILE_LAYOUT


def test_golden_functions_compute_in_float32(ttnn: Any) -> None:
    x = torch.randn(4, 64)
    torch.testing.assert_close(ttnn.get_golden_function(ttnn.softmax)(x, dim=-1), x.softmax(-1))
    table, rows = torch.randn(8, 32), torch.tensor([[1, 7]])
    assert torch.equal(ttnn.get_golden_function(ttnn.embedding)(rows, table), table[rows])
    with pytest.raises(RuntimeError, match="does not have a golden function"):
        ttnn.get_golden_function("ttnn.unknown")


def test_fallback_functions_take_golden_functions(ttnn: Any, put: Any) -> None:
    x = put((4, 32))
    assert ttnn.get_fallback_function(ttnn.reshape)(x, (2, 64)).shape == [2, 64]
    ttnn.attach_golden_function(ttnn.neg, lambda tensor: tensor * 3)
    try:
        tripled = ttnn.get_fallback_function(ttnn.neg)(x)
    finally:
        del GOLDENS["ttnn.neg"]
    assert tripled.layout == ttnn.TILE_LAYOUT
    assert torch.equal(ttnn.to_torch(tripled), ttnn.to_torch(x) * 3)


def test_positions_are_numbers_or_a_tensor(ttnn: Any, device: Any) -> None:
    query, keys = torch.randn(1, 2, 32, 64), torch.randn(2, 1, 64, 64)
    q, k = (ttnn.from_torch(each, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device) for each in (query, keys))
    positions = ttnn.from_torch(torch.tensor([5, 40]), ttnn.int32, device=device)
    decode = ttnn.transformer.scaled_dot_product_attention_decode
    listed, given = decode(q, k, k, cur_pos=[5, 40]), decode(q, k, k, cur_pos_tensor=positions)
    assert torch.equal(ttnn.to_torch(listed), ttnn.to_torch(given))


def test_a_script_is_compared_with_float32(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, ttnn\n"
        "device = ttnn.open_device(device_id=0)\n"
        "x = ttnn.from_torch(torch.rand(32, 32) / 4, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)\n"
        "y = ttnn.exp(ttnn.matmul(x, x))\n"
        "ttnn.to_torch(y)\n"
    )
    comparison = compare_script(script).calls
    assert [row.part.name for row in comparison.rows] == ["ttnn.to_device", "ttnn.matmul", "ttnn.exp"]
    assert comparison.rows[1].part.location.endswith("script.py:4")
    running = comparison.rows[2].running
    assert comparison.passed
    assert running is not None
    assert 0 < running.relative < 0.02


def test_operations_are_listed(ttnn: Any, tmp_path: Path) -> None:
    names = [each.__name__ for each in ttnn.query_registered_operations()]
    assert "ttnn.add" in names
    assert not any(name.startswith("ttnn.experimental.") for name in names)
    ttnn.dump_operations(tmp_path / "ops.csv", include_experimental=True)
    assert "ttnn.experimental.nlp_concat_heads,True,False,True" in (tmp_path / "ops.csv").read_text().splitlines()
    with ttnn.command_queue(1):
        assert ttnn.get_current_command_queue_id_for_thread() == 1
    assert ttnn.get_current_command_queue_id_for_thread() is None
    assert ttnn.get_conv_output_dim(14, 3, stride=2, pad=1) == 7


def test_sub_devices_and_sets_of_cores(ttnn: Any, device: Any) -> None:
    whole = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))])
    left = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))])
    right = whole.subtract(left)
    assert (right.num_cores(), whole.contains(right), left.merge(right).num_cores()) == (4, True, 8)
    manager = device.create_sub_device_manager([ttnn.SubDevice([left]), ttnn.SubDevice([right])], 0)
    device.load_sub_device_manager(manager)
    device.set_sub_device_stall_group([ttnn.SubDeviceId(0)])
    with pytest.raises(RuntimeError, match="Cannot remove active"):
        device.remove_sub_device_manager(manager)
    device.clear_loaded_sub_device_manager()
    device.remove_sub_device_manager(manager)
    with pytest.raises(RuntimeError, match="intersect"):
        device.create_sub_device_manager([ttnn.SubDevice([left]), ttnn.SubDevice([whole])], 0)
