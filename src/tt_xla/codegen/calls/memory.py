"""Calls that create, move, convert and free tensors, write to caches, and record traces."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import MEMORY, Op, calls, row, without_none
from tt_xla.codegen.expressions import Call, Data, Device
from tt_xla.ir.layout import BufferType
from tt_xla.ir.program import TensorSpec


@calls("ttnn.to_layout")
def to_layout(op: Op) -> Call:
    """Returns one call, or two on the host, where TT-NN ignores the data type of a layout change."""
    converts = op.result.layout.dtype != op.spec("input").layout.dtype
    if converts and not op.result.layout.on_device:
        return Call("ttnn.to_dtype", (Call("ttnn.to_layout", (op["input"], op.layout)), op.dtype))
    keywords = without_none(dtype=op.dtype if converts else None, memory_config=op.memory)
    return Call("ttnn.to_layout", (op["input"], op.layout), keywords)


@calls("ttnn.to_memory_config")
def to_memory_config(op: Op) -> Call:
    converts = op.result.layout.dtype != op.spec("input").layout.dtype
    return Call("ttnn.to_memory_config", (op["input"], op.memory), without_none(dtype=op.dtype if converts else None))


@calls("ttnn.constant")
def constant(op: Op) -> Call | Data:
    """Returns a constant of the program: a row-major host tensor, moved to the device if the result lies there."""
    result = op.result
    host = result.layout.with_(result.shape, buffer=BufferType.SYSTEM_MEMORY)
    data = Data(op.instruction.attributes["value"], TensorSpec(result.shape, host))
    if not result.layout.on_device:
        return data
    return Call("ttnn.to_device", (data, Device()), without_none(memory_config=op.memory))


@calls("ttnn.paged_update_cache")
def paged_update_cache(op: Op) -> Call:
    keywords = without_none(update_idxs_tensor=op["update_index"], page_table=op["page_table"])
    shared = {"share_cache": True} if op.get("share_cache") else {}
    return Call("ttnn.experimental.paged_update_cache", (op["cache"], op["input"]), keywords | shared)


_PLACEMENT = {"dtype": "dtype", "layout": "layout", "device": "device_of_result", **MEMORY}
"""Keywords of functions that create a tensor."""

row("ttnn.typecast", "input", "dtype", **MEMORY)
row("ttnn.to_device", "input", "device", **MEMORY)
row("ttnn.from_device", "input")
row("ttnn.assign", "input", function="ttnn.clone", **MEMORY)
row("ttnn.full", "shape", "fill_value", **_PLACEMENT)
row("ttnn.arange", "start", "end", "step", **_PLACEMENT)
row("ttnn.deallocate", "input", "force")
row("ttnn.fill_cache", "cache", "input", "batch_offset")
row("ttnn.empty", "shape", "dtype", "layout", "device", "memory")
row("ttnn.copy", "src", "dst")
row("ttnn.write_tensor", "host_tensor", "device_tensor", function="ttnn.copy_host_to_device_tensor", cq_id="cq_id")
row("ttnn.begin_trace_capture", "device", cq_id="cq_id")
row("ttnn.end_trace_capture", "device", "trace_id", cq_id="cq_id")
row("ttnn.execute_trace", "device", "trace_id", cq_id="cq_id", blocking="blocking")
