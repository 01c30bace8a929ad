"""``ttnn.graph``: captures of calls, and what they tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.graph_capture import CAPTURES, Capture, Node, RunMode
from tt_xla.ttnn_api.operation import operation

REPORT_VERSION = 1


@operation("ttnn.graph.begin_graph_capture", composite=True)
def begin_graph_capture(run_mode: RunMode | None) -> None:
    """Starts to capture calls. The emulated card executes them, also with ``RunMode.NO_DISPATCH``."""
    CAPTURES.append(Capture())


@operation("ttnn.graph.end_graph_capture", composite=True)
def end_graph_capture() -> list[Node]:
    """Ends the capture that began last, and returns its nodes.

    Raises:
        TTFatal: none has begun.
    """
    if not CAPTURES:
        raise TTFatal("No graph capture is active", hint="Begin with ttnn.graph.begin_graph_capture.")
    return CAPTURES.pop().finish()


@operation("ttnn.graph.end_graph_capture_to_file", composite=True)
def end_graph_capture_to_file(report_path: str | Path) -> list[Node]:
    """Ends the capture that began last, writes its nodes into a file as JSON, and returns them."""
    nodes = end_graph_capture()
    Path(report_path).parent.mkdir(parents=True, exist_ok=True)
    Path(report_path).write_text(json.dumps({"version": REPORT_VERSION, "graph": nodes}))
    return nodes


@operation("ttnn.graph.is_graph_capture_active", composite=True)
def is_graph_capture_active() -> bool:
    """Returns whether calls are captured."""
    return bool(CAPTURES)


@operation("ttnn.graph.extract_calltrace", composite=True)
def extract_calltrace(trace: Sequence[Node]) -> list[str]:
    """Returns the names of the functions in the order in which they started."""
    return [node["params"]["name"] for node in trace if node["node_type"] == "function_start"]


@operation("ttnn.graph.extract_peak_L1_memory_usage", composite=True)
def extract_peak_l1_memory_usage(trace: Sequence[Node]) -> int:
    """Returns the most bytes of L1, of all cores together, that tensors of the capture took at one time.

    Circular buffers of kernels do not count.
    """
    used = peak = 0
    for node in trace:
        if node["params"].get("type") != "L1" or node["node_type"] == "tensor":
            continue
        used += {"buffer_allocate": 1, "buffer_deallocate": -1}.get(node["node_type"], 0) * node["params"]["size"]
        peak = max(peak, used)
    return peak


@operation("ttnn.graph.extract_operation_durations", composite=True)
def extract_operation_durations(graph: Sequence[Node]) -> dict[str, float]:
    """Returns the predicted device time of each function in seconds, of all its calls together."""
    durations: dict[str, float] = {}
    for node in graph:
        if node["node_type"] == "function_end":
            name = node["params"]["name"]
            durations[name] = durations.get(name, 0.0) + node["duration_ns"] / 1e9
    return durations


@operation("ttnn.graph.extract_total_duration_from_graph", composite=True)
def extract_total_duration_from_graph(graph: Sequence[Node]) -> float:
    """Returns the predicted device time of the capture in seconds."""
    return sum(node["duration_ns"] for node in graph if node["node_type"] == "function_end" and _outermost(node)) / 1e9


def _outermost(node: Node) -> bool:
    return node["stacking_level"] == 1


@dataclass(frozen=True)
class TensorInfo:
    """Shape, bytes and memory of a tensor."""

    shape: str
    size: int
    type: str

    def __repr__(self) -> str:
        return f"TensorInfo(shape={self.shape}, size={self.size}, type={self.type})"


def _outputs(trace: Sequence[Node]) -> list[Node]:
    """Returns the tensors that the last function with results returned to the user."""
    ends = [node for node in trace if node["node_type"] == "function_end" and _outermost(node) and node["connections"]]
    return [trace[number] for number in ends[-1]["connections"]] if ends else []


@operation("ttnn.graph.extract_output_info", composite=True)
def extract_output_info(trace: Sequence[Node]) -> list[TensorInfo]:
    """Returns shape, bytes and memory of each tensor that the last function returned."""
    return [
        TensorInfo(node["params"]["shape"], node["params"].get("size", 0), node["params"].get("type", "HOST"))
        for node in _outputs(trace)
    ]


@operation("ttnn.graph.extract_output_tensors", composite=True)
def extract_output_tensors(trace: Sequence[Node]) -> set[int]:
    """Returns the nodes of the tensors that the last function returned."""
    return {node["counter"] for node in _outputs(trace)}


@operation("ttnn.graph.count_intermediate_and_output_tensors", composite=True)
def count_intermediate_and_output_tensors(trace: Sequence[Node]) -> tuple[int, int]:
    """Returns the number of tensors that functions made for themselves, and of those that the last one returned."""
    ends = [node for node in trace if node["node_type"] == "function_end"]
    inner, outer = (
        {
            trace[number]["params"]["tensor_id"]
            for node in ends
            if _outermost(node) is outermost
            for number in node["connections"]
        }
        for outermost in (False, True)
    )
    return len(inner - outer), len(_outputs(trace))


_TEXTS = {
    "capture_start": "Capture Start",
    "capture_end": "Capture End",
    "buffer": "Add Device Buffer",
    "buffer_allocate": "Allocate Device Buffer",
    "buffer_deallocate": "Deallocate Device Buffer",
    "function_start": "Function Start: {name}",
    "function_end": "Function End:   {name}",
    "tensor": "Add Tensor: {tensor_id}",
}


@operation("ttnn.graph.pretty_format", composite=True)
def pretty_format(captured_graph: Sequence[Node]) -> str:
    """Returns a line for each node, indented by the functions around it."""
    lines: list[str] = []
    for node in captured_graph:
        kind: str = node["node_type"]
        text = _TEXTS.get(kind, kind).format(**node["params"])
        lines.append(" " * 4 * max(node["stacking_level"] - 1, 0) + text)
    return "\n".join(lines) + "\n"


@operation("ttnn.graph.pretty_print", composite=True)
def pretty_print(captured_graph: Sequence[Node]) -> None:
    """Prints a line for each node."""
    print(pretty_format(captured_graph))


def values() -> dict[str, Any]:
    """Returns the names of ``ttnn.graph`` that are no functions."""
    return {"RunMode": RunMode, "TensorInfo": TensorInfo, "REPORT_VERSION": REPORT_VERSION}
