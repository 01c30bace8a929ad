"""Gradients that TT-NN computes in kernels of their own, and chains of functions of one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.elementwise import applied
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.unary_chain")
def unary_chain(ctx: Context, input: Tensor, functions: Sequence[Any]) -> Tensor:
    """Applies functions one after another."""
    return applied(input, functions)


@kernel("ttnn.sigmoid_bw")
def sigmoid_bw(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Returns a gradient by the derivative of the logistic function; ``rhs`` is the operand of the function."""
    curve = torch.sigmoid(rhs.to(torch.float32))
    return lhs.to(torch.float32) * curve * (1 - curve)


@kernel("ttnn.tanh_bw")
def tanh_bw(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Returns a gradient by the derivative of the hyperbolic tangent; ``rhs`` is the operand of the function."""
    return lhs.to(torch.float32) / torch.cosh(rhs.to(torch.float32)).square()
