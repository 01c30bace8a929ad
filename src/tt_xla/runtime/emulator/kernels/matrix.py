"""Matmul and linear."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.containers import CONTAINERS
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


@kernel("ttnn.linear", prepared=True)
def linear(
    ctx: Context,
    transpose_a: bool = False,
    transpose_b: bool = False,
    matmul_program_config: Mapping[str, Any] | None = None,
    activation: str | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Callable[..., Tensor]:
    activation = fused_activation(activation, matmul_program_config)

    def in_two(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        result = _product(ctx, _operand(a, transpose_a), _operand(b, transpose_b), compute_config)
        return activate(result if bias is None else result + bias, activation)

    if not _one_call(ctx, transpose_b, compute_config):
        return in_two
    multiply = matrix_unit.multiplier(compute_config, silicon=ctx.silicon)

    def in_one(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        def with_bias(x: Tensor, y: Tensor) -> Tensor:
            row = bias if bias.ndim == 1 else bias.reshape(-1)
            return F.linear(x, y, row if row.dtype is x.dtype else row.to(x.dtype))

        # Weights lie as torch's linear wants them: a row for each feature of the result.
        return activate(multiply(with_bias, _operand(a, transpose_a), _operand(b, not transpose_b)), activation)

    def plain(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        return F.linear(a, b if transpose_b else b.t(), bias if bias.ndim == 1 else bias.reshape(-1))

    return plain if not transpose_a and not activation and _takes_all_bits(ctx, compute_config) else in_one


def _takes_all_bits(ctx: Context, config: Mapping[str, Any] | None) -> bool:
    """Whether both operands are bfloat16 and the matrix unit multiplies all of their bits."""
    types = {CONTAINERS[spec.layout.dtype] for spec in (ctx.operands["a"], ctx.operands["b"])}  # type: ignore[union-attr]
    return types == {torch.bfloat16} and (not ctx.silicon or matrix_unit.fidelity(config) == "hifi4")


def _one_call(ctx: Context, transpose_b: bool, config: Mapping[str, Any] | None) -> bool:
    """Whether torch's linear adds the bias, a row of the result's type, before it rounds."""
    a, b, bias = (ctx.operands.get(name) for name in ("a", "b", "bias"))
    if not isinstance(a, TensorSpec) or not isinstance(b, TensorSpec) or not isinstance(bias, TensorSpec):
        return False
    columns = b.shape[-2 if transpose_b else -1]
    fits = len(b.shape) == 2 and len(bias.shape) <= len(a.shape) and math.prod(bias.shape) == columns
    one_product = not ctx.silicon or (matrix_unit.fidelity(config) != "hifi3" and matrix_unit.keeps_float32(config))
    same_type = CONTAINERS[bias.layout.dtype] is CONTAINERS[a.layout.dtype]
    return fits and bias.shape[-1:] == (columns,) and one_product and same_type
