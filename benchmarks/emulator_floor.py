"""Builds the lower bound for the emulated card: only a program's heavy ops, as oneDNN calls on prepacked weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.program import Function, FunctionKind, Instruction, Program

Call = Callable[[], Any]
_mkldnn: Any = torch.ops.mkldnn


def floor_of(program: Program) -> Call:
    """Returns a call that runs all heavy ops in order. Weights are distinct; inputs of one shape are shared."""
    inputs: dict[tuple[int, ...], torch.Tensor] = {}
    calls = [
        _CALLS[step.op](function, step, inputs)
        for function in program.functions
        if function.kind in (FunctionKind.FORWARD, FunctionKind.TRACE)
        for step in function.body
        if step.op in _CALLS
    ]

    def run() -> None:
        for call in calls:
            call()

    return run


def _shape(function: Function, step: Instruction, name: str) -> tuple[int, ...]:
    value = step.operands[name]
    assert isinstance(value, int)
    return tuple(function.values[value].shape)


def _input(inputs: dict[tuple[int, ...], torch.Tensor], shape: tuple[int, ...]) -> torch.Tensor:
    return inputs.setdefault(shape, torch.randn(shape).to(torch.bfloat16))


def _product(function: Function, step: Instruction, inputs: dict[tuple[int, ...], torch.Tensor]) -> Call:
    a, b = _shape(function, step, "a"), _shape(function, step, "b")
    if step.attributes.get("transpose_a"):
        a = (*a[:-2], a[-1], a[-2])
    if step.attributes.get("transpose_b"):
        b = (*b[:-2], b[-1], b[-2])
    if math.prod(b[:-2]) > 1:
        x, y = _input(inputs, a), _input(inputs, b)
        return lambda: torch.matmul(x, y)
    rows = math.prod(a[:-1])
    x = _input(inputs, (rows, a[-1]))
    weight = _mkldnn._reorder_linear_weight((torch.randn(b[-1], b[-2]) * 0.05).to(torch.bfloat16), rows)
    bias = torch.randn(b[-1]).to(torch.bfloat16) if "bias" in step.operands else None
    activation = step.attributes.get("activation") or "none"
    name, algorithm = {"silu": ("swish", "")}.get(activation, (activation, "none" if activation == "gelu" else ""))
    return lambda: _mkldnn._linear_pointwise(x, weight, bias, name, [], algorithm)


def _convolution(function: Function, step: Instruction, inputs: dict[tuple[int, ...], torch.Tensor]) -> Call:
    named = step.attributes
    shape = (named["batch_size"], named["in_channels"], named["input_height"], named["input_width"])
    x = _input(inputs, shape).to(memory_format=torch.channels_last)
    kernel, groups, size = tuple(named["kernel_size"]), named["groups"], named["out_channels"]
    weight = (torch.randn(size, named["in_channels"] // groups, *kernel) * 0.05).to(torch.bfloat16)
    padding, stride, dilation = list(named["padding"][-2:]), list(named["stride"]), list(named["dilation"])
    if len(named["padding"]) == 4:
        top, bottom, left, right = named["padding"]
        padding = [max(top, bottom), max(left, right)]
    packed = _mkldnn._reorder_convolution_weight(weight, padding, stride, dilation, groups, shape)
    bias = torch.randn(size).to(torch.bfloat16) if "bias" in step.operands else None
    activation = (named.get("conv2d_config") or {}).get("activation")
    name = str(activation["op_type"] if isinstance(activation, dict) else activation or "none")
    return lambda: _mkldnn._convolution_pointwise(
        x, packed, bias, padding, stride, dilation, groups, name if name == "relu" else "none", [], ""
    )


def _attention(function: Function, step: Instruction, inputs: dict[tuple[int, ...], torch.Tensor]) -> Call:
    q, k, v = (_input(inputs, _shape(function, step, name)) for name in ("query", "key", "value"))
    mask = _input(inputs, _shape(function, step, "attention_mask")) if "attention_mask" in step.operands else None
    causal, grouped = bool(step.attributes.get("is_causal")) and mask is None, q.shape[1] != k.shape[1]
    return lambda: F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=grouped)


_CALLS: dict[str, Callable[[Function, Instruction, dict[tuple[int, ...], torch.Tensor]], Call]] = {
    "ttnn.conv2d": _convolution,
    "ttnn.linear": _product,
    "ttnn.matmul": _product,
    "ttnn.scaled_dot_product_attention": _attention,
}
