"""Products: matmul, and linear with its bias and activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tt_xla.runtime.emulator import matrix_unit, sums
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.functions import activate, fused_activation
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Config = Mapping[str, Any] | None


def _operand(tensor: Tensor, transpose: bool) -> Tensor:
    return tensor.transpose(-2, -1) if transpose else tensor


@kernel("ttnn.linear", "ttnn.matmul", prepared=True)
def linear(
    ctx: Context,
    transpose_a: bool = False,
    transpose_b: bool = False,
    matmul_program_config: Mapping[str, Any] | None = None,
    activation: str | None = None,
    compute_config: Config = None,
) -> Callable[..., Tensor]:
    """Bias and activation are applied to the float32 product, before the one rounding."""
    activation = fused_activation(activation, matmul_program_config)

    def call(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        a, b = _operand(a, transpose_a), _operand(b, transpose_b)
        if not a.is_floating_point():
            wide = a.dtype if ctx.container.is_floating_point else ctx.container
            product = torch.matmul(a.to(wide), b.to(wide))
        elif ctx.silicon and not matrix_unit.keeps_float32(compute_config):
            product = matrix_unit.matmul_in_bfloat16_steps(a, b, compute_config)
        else:
            rounded_once = (
                bias is None and activation in (None, "relu") and ctx.container is a.dtype and onednn.is_fast(a.dtype)
            )
            if not rounded_once:
                a, b = a.to(torch.float32), b.to(torch.float32)
            product = matrix_unit.multiply(sums.product, a, b, compute_config, silicon=ctx.silicon)
        if bias is not None and bias.dim() > 1 and bias.shape[-2] != product.shape[-2]:
            bias = bias[..., :1, :]  # a row, in a tile with rows of padding or without
        return activate(product if bias is None else product + bias, activation)

    return call
