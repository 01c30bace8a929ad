"""Calls for traces and for the tensors that traces read and write."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls
from tt_xla.codegen.expressions import Call, Device, Expression


@calls("ttnn.empty")
def empty(op: Op) -> Call:
    return Call("ttnn.empty", (op.get("shape"), op.dtype, op.layout, Device(), op.memory))


@calls("ttnn.copy")
def copy(op: Op) -> Call:
    return Call("ttnn.copy", (op["src"], op["dst"]))


@calls("ttnn.write_tensor")
def write_tensor(op: Op) -> Call:
    return Call("ttnn.copy_host_to_device_tensor", (op["host_tensor"], op["device_tensor"]), _queue(op))


@calls("ttnn.begin_trace_capture")
def begin_trace_capture(op: Op) -> Call:
    return Call("ttnn.begin_trace_capture", (Device(),), _queue(op))


@calls("ttnn.end_trace_capture")
def end_trace_capture(op: Op) -> Call:
    return Call("ttnn.end_trace_capture", (Device(), op["trace_id"]), _queue(op))


@calls("ttnn.execute_trace")
def execute_trace(op: Op) -> Call:
    return Call("ttnn.execute_trace", (Device(), op["trace_id"]), _queue(op) | {"blocking": op.get("blocking")})


def _queue(op: Op) -> dict[str, Expression]:
    return {"cq_id": op.get("cq_id")}
