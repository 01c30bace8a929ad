"""What surrounds operations: settings, hooks, memory, events, specs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch


def test_settings_are_checked_and_saved(ttnn: Any, tmp_path: Path) -> None:
    with ttnn.manage_config("enable_logging", True):
        assert ttnn.CONFIG.enable_logging
        ttnn.save_config_to_json_file(tmp_path / "config.json")
    assert not ttnn.CONFIG.enable_logging
    with ttnn.manage_config("enable_logging", False):
        ttnn.load_config_from_json_file(tmp_path / "config.json")
        assert ttnn.CONFIG.enable_logging
    with ttnn.manage_config("report_name", "my run"):
        assert ttnn.CONFIG.report_path == Path("generated/ttnn/reports/my_run")
    with pytest.raises(RuntimeError, match="Invalid configuration key 'enable_loging'"):
        ttnn.CONFIG.enable_loging = True
    with pytest.raises(TypeError, match="is a bool"):
        ttnn.load_config_from_dictionary({"enable_logging": "yes"})


def _begins_with(name: str, value: str) -> subprocess.CompletedProcess[str]:
    shown = "import ttnn; print(ttnn.CONFIG.enable_logging, ttnn.CONFIG.tmp_dir)"
    return subprocess.run(
        [sys.executable, "-c", shown], env=os.environ | {name: value}, capture_output=True, text=True, check=False
    )


def test_settings_begin_with_those_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"enable_logging": true, "tmp_dir": "/there"}')
    assert _begins_with("TTNN_CONFIG_PATH", f"{file}").stdout == "True /there\n"
    assert _begins_with("TTNN_CONFIG_OVERRIDES", '{"enable_logging": true}').stdout == "True /tmp/ttnn\n"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TTNN_CONFIG_OVERRIDES", "{", "TTNN_CONFIG_OVERRIDES holds no settings as JSON: Expecting property name"),
        ("TTNN_CONFIG_OVERRIDES", "[1]", "TTNN_CONFIG_OVERRIDES holds no JSON object of settings. Got '[1]'"),
        ("TTNN_CONFIG_OVERRIDES", '{"a": 1}', "Invalid configuration key 'a'"),
        ("TTNN_CONFIG_PATH", "/nowhere", "TTNN_CONFIG_PATH holds no settings as JSON: [Errno 2] No such file"),
    ],
)
def test_settings_of_the_environment_are_checked(name: str, value: str, words: str) -> None:
    assert words in _begins_with(name, value).stderr


def test_hooks_see_the_calls_of_the_user(ttnn: Any, device: Any) -> None:
    seen: list[str] = []
    x = ttnn.from_torch(torch.ones(32, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

    def before(operation: Any, arguments: Any, keywords: Any) -> None:
        seen.append(operation.python_fully_qualified_name)

    def after(operation: Any, arguments: Any, keywords: Any, output: Any) -> None:
        seen.append(str(getattr(output, "shape", None)))

    with ttnn.register_pre_operation_hook(before), ttnn.register_post_operation_hook(after):
        ttnn.split(x, 32, dim=1)
        ttnn.exp(x)
    ttnn.exp(x)
    assert seen == ["ttnn.split", "None", "ttnn.exp", "Shape([32, 64])"]


def test_memory_views_count_tensors(ttnn: Any, device: Any, tmp_path: Path) -> None:
    empty = ttnn.get_memory_view(device, ttnn.BufferType.DRAM)
    assert empty.total_bytes_allocated_per_bank == 0
    assert empty.num_banks == 8
    x = ttnn.zeros([64, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    view = ttnn.get_memory_view(device, ttnn.BufferType.DRAM)
    assert view.total_bytes_allocated_per_bank == 2048
    first = view.block_table[0]
    assert (first["size"], first["allocated"]) == ("2048", "yes")
    assert x.buffer_address() == ttnn.get_allocator_base_address(device, ttnn.BufferType.DRAM)
    ttnn.dump_device_memory_state(device, prefix=str(tmp_path / "now_"))
    assert "DRAM,8,0,2048,yes" in (tmp_path / "now_memory_usage.csv").read_text()
    with pytest.raises(RuntimeError, match="keeps no account"):
        ttnn.get_memory_view(device, ttnn.BufferType.TRACE)


def test_a_spec_allocates_tensors(ttnn: Any, device: Any) -> None:
    cores = ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 1))
    spec = ttnn.TensorSpec(ttnn.Shape([1, 2, 64, 64]), ttnn.bfloat16, ttnn.TILE_LAYOUT, ttnn.BufferType.L1)
    rows = spec.height_sharded(ttnn.CoreRangeSet([cores]))
    assert rows.memory_config.shard_spec.shape == [32, 64]
    assert spec.block_sharded(cores).memory_config.shard_spec.shape == [64, 32]
    target = ttnn.allocate_tensor_on_device(rows, device)
    assert target.spec == rows
    host = ttnn.from_torch(torch.randn(1, 2, 64, 64), spec=spec)
    ttnn.copy_host_to_device_tensor(host, target)
    back = ttnn.allocate_tensor_on_host(spec, device)
    ttnn.copy_device_to_host_tensor(target, back)
    assert torch.equal(ttnn.to_torch(back), ttnn.to_torch(host))
    with pytest.raises(RuntimeError, match="different shape"):
        ttnn.copy_device_to_host_tensor(target, ttnn.from_torch(torch.zeros(2, 2)))


def test_events_and_traces_tell_their_state(ttnn: Any, device: Any) -> None:
    event = ttnn.record_event(device, 0)
    ttnn.wait_for_event(1, event)
    ttnn.event_synchronize(event)
    with pytest.raises(TypeError, match="MeshEvent"):
        ttnn.event_synchronize(3)
    assert not ttnn.is_trace_capture_active(device)
    number = ttnn.begin_trace_capture(device)
    assert ttnn.is_trace_capture_active(device)
    ttnn.end_trace_capture(device, number)


def test_methods_of_host_tensors(ttnn: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    rows = ttnn.from_torch(x)
    framed = rows.pad([4, 5], [1, 1], 7.0)
    assert (framed.shape, framed.padded_shape, framed.volume()) == ([2, 3], [4, 5], 20)
    assert framed.to_torch().tolist() == [[7, 7, 7], [7, 0, 1]]
    assert framed.to_torch_with_padded_shape().tolist()[1] == [7, 0, 1, 2, 7]
    assert torch.equal(framed.unpad([1, 1], [3, 4]).to_torch(), x)
    assert rows.pad_to_tile(1.0).padded_shape == [32, 32]
    assert torch.equal(rows.pad_to_tile(1.0).unpad_from_tile([2, 3]).to_torch(), x)
    assert torch.equal(ttnn.to_torch(rows.unpad([0, 1], [2, 3])), x[:, 1:])
    tiles = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT)
    assert tiles.pad([4, 5], [1, 1], 7.0).padded_shape == tiles.padded_shape
    for call in (lambda: tiles.unpad([0, 1], [2, 3]), lambda: tiles.unpad_from_tile([2, 3])):
        with pytest.raises(RuntimeError, match="Tensor layout must be ROW_MAJOR for unpadding"):
            call()
    assert ttnn.from_torch(torch.tensor(3.0)).padded_shape == [1]
    assert tiles.to_torch_with_padded_shape().shape == (32, 32)
    assert tiles.host_buffer().get_shard(ttnn.MeshCoordinate(0, 0)).tolist() == x.tolist()
    assert tiles.buffer_unique_id() is None


def test_ranges_of_cores_print_as_those_of_ttnn(ttnn: Any) -> None:
    cores = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (7, 0)), ttnn.CoreRange((0, 1), (3, 1))])
    assert str(cores) == "{[0-0 - 7-0], [0-1 - 3-1]}"
    spec = ttnn.ShardSpec(cores, [32, 64], ttnn.ShardOrientation.ROW_MAJOR)
    assert 'grid=[{"start":{"x":0,"y":0},"end":{"x":7,"y":0}, {"start":{"x":0,"y":1}' in str(spec)
