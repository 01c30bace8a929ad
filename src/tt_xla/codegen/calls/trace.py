"""Calls for traces and for the tensors that traces read and write."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import row

row("ttnn.empty", "shape", "dtype", "layout", "device", "memory")
row("ttnn.copy", "src", "dst")
row(
    "ttnn.write_tensor",
    *("host_tensor", "device_tensor"),
    function="ttnn.copy_host_to_device_tensor",
    cq_id="cq_id",
)
row("ttnn.begin_trace_capture", "device", cq_id="cq_id")
row("ttnn.end_trace_capture", "device", "trace_id", cq_id="cq_id")
row("ttnn.execute_trace", "device", "trace_id", cq_id="cq_id", blocking="blocking")
