"""The arithmetic of the matrix unit: what its source registers keep, its fidelity phases, its accumulator.

Sources have 19 bits: sign, 8 of exponent, 10 of mantissa. One phase multiplies 5 significant bits of SrcA (the second
operand of a matmul: weights) by 7 of SrcB (the first: activations); more phases add the parts left over:

    lofi    A high x B high
    hifi2   A       x B high
    hifi3   A       x B       without A low x B low
    hifi4   A       x B
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Bilinear: (activations, weights) to their product, such as a matmul or a convolution."""

_SRC_BITS = 11
_SRC_A_HIGH_BITS = 5
_SRC_B_HIGH_BITS = 7

K_STEP = 32
"""Elements of the inner dimension that go into the accumulator between two roundings of a 16-bit one: a tile's."""


def significant(tensor: torch.Tensor, bits: int) -> torch.Tensor:
    """``tensor`` (float32 or bfloat16) with only the first ``bits`` significant bits, the hidden one included."""
    view, width = (torch.int32, 24) if tensor.dtype is torch.float32 else (torch.int16, 8)
    if bits >= width:
        return tensor
    return (tensor.view(view) & -(1 << (width - bits))).view(tensor.dtype)


def sources(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both operands in one dtype, as the 19-bit source registers hold them."""
    if a.dtype is not b.dtype:
        a, b = a.to(torch.float32), b.to(torch.float32)
    return significant(a, _SRC_BITS), significant(b, _SRC_BITS)


def fidelity(config: Mapping[str, Any] | None) -> str:
    return str((config or {}).get("math_fidelity") or "hifi4").lower()


def keeps_float32(config: Mapping[str, Any] | None) -> bool:
    """Whether the accumulator has 32 bits."""
    return (config or {}).get("fp32_dest_acc_en") is not False


def multiply(
    product: Product, a: torch.Tensor, b: torch.Tensor, config: Mapping[str, Any] | None, *, silicon: bool
) -> torch.Tensor:
    """``product(a, b)`` as the matrix unit computes it with a 32-bit accumulator.

    Args:
        a: activations (SrcB).
        b: weights (SrcA).
    """
    if not silicon:
        return product(a, b) if a.dtype is b.dtype else product(a.to(torch.float32), b.to(torch.float32))
    a, b = sources(a, b)
    level = fidelity(config)
    if level == "hifi4":
        return product(a, b)
    b_high = significant(b, _SRC_A_HIGH_BITS)
    a_high = significant(a, _SRC_B_HIGH_BITS)
    if level == "lofi":
        return product(a_high, b_high)
    if level == "hifi2":
        return product(a_high, b)
    if level != "hifi3":
        raise ValueError(f"math_fidelity is {level!r}, expected lofi, hifi2, hifi3 or hifi4")
    a, b, a_high, b_high = (tensor.to(torch.float32) for tensor in (a, b, a_high, b_high))
    return product(a_high, b) + product(a - a_high, b_high)


def matmul_in_bfloat16_steps(a: torch.Tensor, b: torch.Tensor, config: Mapping[str, Any] | None) -> torch.Tensor:
    """``a @ b`` with an accumulator of bfloat16, rounded after each 32 elements of the inner dimension; float32."""

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x.to(torch.float32), y.to(torch.float32))

    total: torch.Tensor | None = None
    for start in range(0, a.shape[-1], K_STEP):
        part = slice(start, start + K_STEP)
        partial = multiply(step, a[..., part], b[..., part, :], config, silicon=True)
        total = partial if total is None else total + partial
        total = total.to(torch.bfloat16).to(torch.float32)
    return step(a, b) if total is None else total
