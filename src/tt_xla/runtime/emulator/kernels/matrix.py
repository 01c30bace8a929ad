"""Matmul and linear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.registry import Context, kernel

Tensor = torch.Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu6": F.relu6,
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "mish": F.mish,
    "hardsigmoid": F.hardsigmoid,
    "leaky_relu": F.leaky_relu,
}


def activate(tensor: Tensor, activation: str | None) -> Tensor:
    """The fused activation of a matmul or convolution, by its name in IR; may overwrite ``tensor``, the fresh product.

    Raises:
        ValueError: the name is unknown.
    """
    if not activation:
        return tensor
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation {activation!r} is unknown; known are {', '.join(ACTIVATIONS)}")
    return tensor.relu_() if activation == "relu" else ACTIVATIONS[activation](tensor)


def fused_activation(activation: str | None, program_config: Mapping[str, Any] | None) -> str | None:
    """The activation that a product ends with: named by the op or, where it has one, by its program config."""
    fused = (program_config or {}).get("fused_activation")
    return activation or (fused["op_type"] if fused else None)


def _operand(tensor: Tensor, transpose: bool) -> Tensor:
    return tensor.transpose(-2, -1) if transpose else tensor


def _product(ctx: Context, a: Tensor, b: Tensor, config: Mapping[str, Any] | None) -> Tensor:
    if not a.is_floating_point():
        return torch.matmul(a, b.to(a.dtype))
    if ctx.silicon and not matrix_unit.keeps_float32(config):
        return matrix_unit.matmul_in_bfloat16_steps(a, b, config)
    return matrix_unit.multiply(torch.matmul, a, b, config, silicon=ctx.silicon)


@kernel("ttnn.matmul")
def matmul(
    ctx: Context,
    a: Tensor,
    b: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    matmul_program_config: Mapping[str, Any] | None = None,
    activation: str | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    result = _product(ctx, _operand(a, transpose_a), _operand(b, transpose_b), compute_config)
    return activate(result, fused_activation(activation, matmul_program_config))


@kernel("ttnn.linear")
def linear(
    ctx: Context,
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    matmul_program_config: Mapping[str, Any] | None = None,
    activation: str | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    activation = fused_activation(activation, matmul_program_config)
    a, b = _operand(a, transpose_a), _operand(b, transpose_b)
    if bias is None or not _one_call(ctx, a, b, bias, compute_config):
        result = _product(ctx, a, b, compute_config)
        return activate(result if bias is None else result + bias, activation)
    row = bias.reshape(-1)

    def with_bias(x: Tensor, y: Tensor) -> Tensor:
        return F.linear(x, y.t(), row.to(x.dtype))

    return activate(matrix_unit.multiply(with_bias, a, b, compute_config, silicon=ctx.silicon), activation)


def _one_call(ctx: Context, a: Tensor, b: Tensor, bias: Tensor, config: Mapping[str, Any] | None) -> bool:
    """Whether torch's linear adds this bias, a row of the result's type, before it rounds."""
    fits = b.ndim == 2 and bias.ndim <= a.ndim and bias.numel() == bias.shape[-1] == b.shape[-1]
    one_product = not ctx.silicon or (matrix_unit.fidelity(config) != "hifi3" and matrix_unit.keeps_float32(config))
    return fits and one_product and bias.dtype is a.dtype
