"""``ttnn.graph``: captures of calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


def captured(ttnn: Any, device: Any) -> Any:
    x = ttnn.from_torch(torch.ones(64, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    before = device.predicted_us
    ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
    assert ttnn.graph.is_graph_capture_active()
    y = ttnn.exp(ttnn.add(x, x, memory_config=ttnn.L1_MEMORY_CONFIG), memory_config=ttnn.L1_MEMORY_CONFIG)
    parts = ttnn.split(y, 32, dim=1)
    return ttnn.graph.end_graph_capture(), parts, (device.predicted_us - before) / 1e6


def test_a_capture_has_calls_tensors_and_memory(ttnn: Any, device: Any) -> None:
    graph, parts, spent = captured(ttnn, device)
    assert not ttnn.graph.is_graph_capture_active()
    names = ["ttnn.add", "ttnn.exp", "ttnn.split", "ttnn.slice", "ttnn.slice"]
    assert ttnn.graph.extract_calltrace(graph) == names
    assert ttnn.graph.extract_peak_L1_memory_usage(graph) == 2 * 64 * 64 * 2
    freed = [node["params"]["size"] for node in graph if node["node_type"] == "buffer_deallocate"]
    assert freed == [64 * 64 * 2]  # of the sum, once exp has returned
    assert ttnn.graph.extract_total_duration_from_graph(graph) == pytest.approx(spent, abs=1e-8)
    durations = ttnn.graph.extract_operation_durations(graph)
    assert durations["ttnn.split"] == pytest.approx(durations["ttnn.slice"], abs=1e-8)
    outputs = ttnn.graph.extract_output_info(graph)
    assert [(info.shape, info.type) for info in outputs] == [("Shape([64, 32])", "L1")] * len(parts)
    assert ttnn.graph.count_intermediate_and_output_tensors(graph) == (0, 2)
    text = ttnn.graph.pretty_format(graph)
    assert "Function Start: ttnn.split\n    Function Start: ttnn.slice" in text.replace("    Add Tensor: 3\n", "")
    assert json.loads(json.dumps(graph)) == graph


def test_tensors_link_the_functions(ttnn: Any, device: Any) -> None:
    graph, *_ = captured(ttnn, device)
    starts = {node["params"]["name"]: node for node in graph if node["node_type"] == "function_start"}
    (argument,) = starts["ttnn.exp"]["input_tensors"]
    end = next(node for node in graph if node["node_type"] == "function_end" and node["params"]["name"] == "ttnn.add")
    assert argument in end["connections"]
    assert starts["ttnn.exp"]["counter"] in graph[argument]["connections"]


def test_a_failed_call_ends_in_the_capture(ttnn: Any, device: Any, tmp_path: Path) -> None:
    x = ttnn.zeros([32, 32], layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.graph.begin_graph_capture()
    with pytest.raises(RuntimeError):
        ttnn.reshape(x, (5, 5))
    ttnn.exp(x)
    graph = ttnn.graph.end_graph_capture_to_file(tmp_path / "report" / "graph.json")
    assert ttnn.graph.extract_calltrace(graph) == ["ttnn.reshape", "ttnn.exp"]
    assert [node["stacking_level"] for node in graph if node["node_type"] == "function_start"] == [1, 1]
    assert json.loads((tmp_path / "report" / "graph.json").read_text())["graph"] == graph
    with pytest.raises(RuntimeError, match="No graph capture is active"):
        ttnn.graph.end_graph_capture()
