"""Calls that create, move, convert and free tensors."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, without_none
from tt_xla.codegen.expressions import Call, Data, Device, Expression
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


@calls("ttnn.typecast")
def typecast(op: Op) -> Call:
    return Call("ttnn.typecast", (op["input"], op.dtype), without_none(memory_config=op.memory))


@calls("ttnn.to_device")
def to_device(op: Op) -> Call:
    return Call("ttnn.to_device", (op["input"], Device()), without_none(memory_config=op.memory))


@calls("ttnn.from_device")
def from_device(op: Op) -> Call:
    return Call("ttnn.from_device", (op["input"],))


@calls("ttnn.assign")
def assign(op: Op) -> Call:
    return Call("ttnn.clone", (op["input"],), without_none(memory_config=op.memory))


@calls("ttnn.full")
def full(op: Op) -> Call:
    return Call("ttnn.full", (op.get("shape"), op.get("fill_value")), _placement(op))


@calls("ttnn.arange")
def arange(op: Op) -> Call:
    return Call("ttnn.arange", (op.get("start"), op.get("end"), op.get("step")), _placement(op))


def _placement(op: Op) -> dict[str, Expression]:
    """Returns the keywords of a creation function: data type, layout, device and memory config."""
    device = Device() if op.result.layout.on_device else None
    return without_none(dtype=op.dtype, layout=op.layout, device=device, memory_config=op.memory)


@calls("ttnn.constant")
def constant(op: Op) -> Call | Data:
    """Returns a constant of the program: a row-major host tensor, moved to the device if the result lies there."""
    result = op.result
    host = result.layout.with_(result.shape, buffer=BufferType.SYSTEM_MEMORY)
    data = Data(op.instruction.attributes["value"], TensorSpec(result.shape, host))
    if not result.layout.on_device:
        return data
    return Call("ttnn.to_device", (data, Device()), without_none(memory_config=op.memory))


@calls("ttnn.deallocate")
def deallocate(op: Op) -> Call:
    return Call("ttnn.deallocate", (op["input"], op.get("force")))
