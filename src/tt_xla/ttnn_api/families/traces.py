"""Traces: calls that are captured once and replayed."""

from __future__ import annotations

import itertools

from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.identifiers import MeshTraceId
from tt_xla.ttnn_api.operation import operation

_numbers = itertools.count()


@operation("ttnn.begin_trace_capture", composite=True)
def begin_trace_capture(mesh_device: MeshDevice) -> MeshTraceId:
    """Starts to capture calls, and returns the trace's number. The calls are executed as well."""
    if mesh_device.recording is not None:
        raise TTFatal("CQ is already being used for tracing tid", hint="End the capture first.")
    mesh_device.recording = []
    return MeshTraceId(next(_numbers))


@operation("ttnn.end_trace_capture", composite=True)
def end_trace_capture(mesh_device: MeshDevice, trace_id: int) -> None:
    """Ends a capture."""
    if mesh_device.recording is None:
        raise TTFatal("CQ is not being used for tracing tid", hint="Begin with ttnn.begin_trace_capture.")
    mesh_device.traces[trace_id] = mesh_device.recording
    mesh_device.recording = None


@operation("ttnn.execute_trace", composite=True)
def execute_trace(mesh_device: MeshDevice, trace_id: int) -> None:
    """Replays captured calls on the tensors of the capture."""
    if trace_id not in mesh_device.traces:
        raise TTFatal(f"Trace instance {trace_id} must exist on device", hint="Capture it first.")
    for plan, operands, results in mesh_device.traces[trace_id]:
        plan.replay(operands, results)
        mesh_device.predicted_us += plan.traced_us


@operation("ttnn.release_trace", composite=True)
def release_trace(mesh_device: MeshDevice, trace_id: int) -> None:
    """Forgets a trace."""
    mesh_device.traces.pop(trace_id, None)
