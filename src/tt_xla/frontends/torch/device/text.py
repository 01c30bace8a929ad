"""Shows recorded ops as text, in the form of torch_xla's IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.device.buffers import LOCK, buffer_of
from tt_xla.frontends.torch.device.kinds import fill
from tt_xla.frontends.torch.device.mode import MODE
from tt_xla.frontends.torch.device.programs import collect
from tt_xla.frontends.torch.device.recording import read
from tt_xla.frontends.torch.device.values import Node, Value

XLA_NAMES: dict[torch.dtype, str] = {
    **{torch.bool: "pred", torch.bfloat16: "bf16", torch.complex64: "c64", torch.complex128: "c128"},
    **{torch.float16: "f16", torch.float32: "f32", torch.float64: "f64"},
    **{torch.int8: "s8", torch.int16: "s16", torch.int32: "s32", torch.int64: "s64"},
    **{torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"},
}
"""XLA's name of each dtype."""


def text_of(tensors: Sequence[torch.Tensor]) -> str:
    """Returns the recorded ops on which tensors depend, one a line, after their numbers and tensors."""
    with LOCK:
        values = [read(tensor) for tensor in tensors]
        trace = collect([value for value in values if value.node is not None])
        numbers: dict[Value | tuple[Node, int], int] = {}
        lines: list[str] = []

        def add(shape: str, op: str, more: str = "") -> int:
            lines.append(f"  %{len(lines)} = {shape} {op}{more}")
            return len(lines) - 1

        def number_of(value: Value) -> int:
            return numbers[value if value.node is None else (value.node, value.index)]

        constants = {
            scalar: add(_scalar_type(scalar), "prim::Constant()", f", value={scalar}") for scalar in trace.scalars
        }
        for leaf in dict.fromkeys([*trace.leaves, *(value for value in values if value.node is None)]):
            numbers[leaf] = add(_shape(leaf.shape, leaf.dtype), "xla::device_data()", f", device=TT:{leaf.chip or 0}")
        for node in trace.nodes:
            inputs = [f"%{number_of(value)}" for value in node.inputs]
            args, kwargs = fill(node.kind.template, inputs, [f"%{constants[scalar]}" for scalar in node.scalars])
            operands = ", ".join([*map(_written, args), *(f"{name}={_written(arg)}" for name, arg in kwargs.items())])
            results = [_shape(output.shape, output.dtype) for output in node.kind.outputs]
            shape = results[0] if len(results) == 1 else f"({', '.join(results)})"
            namespace, name, *_ = str(node.kind.op).split(".")
            number = add(shape, f"{namespace}::{name}({operands})", f", location={node.location}" if node.where else "")
            numbers |= {(node, index): number for index in range(len(results))}
        for position, value in enumerate(values):
            lines[number_of(value)] += f", ROOT={position}"
    return "IR {\n" + "".join(f"{line}\n" for line in lines) + "}\n"


def key_of(tensors: Sequence[torch.Tensor]) -> str:
    """Returns what the program of recorded ops depends on, in this process."""
    with LOCK:
        trace = collect([value for tensor in tensors if (value := read(tensor)).node is not None])
    donated = [number for number, leaf in enumerate(trace.leaves) if leaf.donated] if MODE.takes_donations else []
    return repr((trace.key, donated))


def describe(tensor: torch.Tensor) -> str:
    """Returns where a tensor of the device is, and the recorded ops that compute it or the bytes that it has."""
    buffer = buffer_of(tensor)
    data = _shape(tensor.shape, tensor.dtype)
    handle = "Deleted" if buffer.is_placeholder else buffer.handle
    bytes_of = f"XLAData:\n  Data Device: TT:{buffer.chip}\n  Data Shape: {data}\n  Data Handle: {handle}"
    lines = [
        "XLATensor {",
        f"Device: TT:{buffer.chip}",
        f"XLA Shape: {data}",
        f"IR: {text_of([tensor]) if buffer.pending else None}",
        "XLAData: None" if buffer.pending else bytes_of,
        "}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _shape(shape: Sequence[int], dtype: torch.dtype) -> str:
    """Returns a type as XLA writes it, such as ``f32[2,3]{1,0}``."""
    order = f"{{{','.join(str(dim) for dim in reversed(range(len(shape))))}}}" if shape else ""
    return f"{XLA_NAMES[dtype]}[{','.join(str(size) for size in shape)}]{order}"


def _written(argument: Any) -> str:
    if isinstance(argument, list | tuple):
        return f"[{', '.join(map(_written, argument))}]"
    return argument if isinstance(argument, str) else repr(argument)


def _scalar_type(scalar: float) -> str:
    return "s64[]" if isinstance(scalar, int) else "f32[]"
