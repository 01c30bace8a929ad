"""Shows recorded ops as text, in the form of torch_xla's IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.device.kinds import fill
from tt_xla.frontends.torch.device.recording import read
from tt_xla.frontends.torch.device.traces import collect
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
    with session.current.running:
        values = [read(tensor) for tensor in tensors]
        trace = collect([value for value in values if value.node is not None])
        numbers: dict[Value | tuple[Node, int], int] = {}
        lines: list[str] = []

        def add(shape: str, op: str, more: str = "") -> int:
            lines.append(f"  %{len(lines)} = {shape} {op}{more}")
            return len(lines) - 1

        def number_of(value: Value) -> int:
            return numbers[value if value.node is None else (value.node, value.index)]

        constants: dict[str, str] = {}
        for number in (number for node in trace.nodes for number in _numbers(node)):
            if repr(number) not in constants:
                line = add("s64[]" if isinstance(number, int) else "f32[]", "prim::Constant()", f", value={number}")
                constants[repr(number)] = f"%{line}"
        for leaf in dict.fromkeys([*trace.leaves, *(value for value in values if value.node is None)]):
            numbers[leaf] = add(_shape(leaf.shape, leaf.dtype), "xla::device_data()", f", device=TT:{leaf.chip or 0}")
        for node in trace.nodes:
            inputs = [f"%{number_of(value)}" for value in node.inputs]
            operands = ", ".join(
                ("" if type(key) is int else f"{key}=")
                + (constants[repr(argument)] if is_number else _written(argument))
                for key, argument, is_number in _arguments(node, inputs)
            )
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
    with session.current.running:
        trace = collect([value for tensor in tensors if (value := read(tensor)).node is not None])
    takes_donations = session.current.mode.takes_donations
    donated = [number for number, leaf in enumerate(trace.leaves) if leaf.donated] if takes_donations else []
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


def _arguments(node: Node, inputs: Sequence[str]) -> Iterator[tuple[int | str, Any, bool]]:
    """Yields position or name of each argument, the argument, and whether it is a number that a tensor could be."""
    takes: set[int | str] = set()
    for position, argument in enumerate(node.kind.op._schema.arguments):
        if str(argument.type) in ("Tensor", "number", "Optional[number]"):
            takes |= {position, argument.name}
    args, kwargs = fill(node.kind.template, inputs, node.scalars)
    for key, argument in (*enumerate(args), *kwargs.items()):
        yield key, argument, key in takes and isinstance(argument, int | float)


def _numbers(node: Node) -> Iterator[float]:
    """Yields the arguments that are numbers."""
    return (argument for _, argument, is_number in _arguments(node, [""] * len(node.inputs)) if is_number)


def _written(argument: Any) -> str:
    if isinstance(argument, list | tuple):
        return f"[{', '.join(map(_written, argument))}]"
    return argument if isinstance(argument, str) else repr(argument)
