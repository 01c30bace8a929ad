"""The arithmetic of the matrix unit: what its source registers keep, its fidelity phases, its accumulator.

Sources have 19 bits: sign, 8 of exponent, 10 of mantissa. One phase multiplies 5 significant bits of SrcA (the second
operand of a matmul: weights) by 7 of SrcB (the first: activations); more phases add the parts left over:

    lofi    A high x B high
    hifi2   A       x B high
    hifi3   A       x B       without A low x B low
    hifi4   A       x B
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Bilinear: (activations, weights) to their product, such as a matmul or a convolution."""

Multiplier = Callable[[Product, torch.Tensor, torch.Tensor], torch.Tensor]
"""A product, activations and weights to the product as the matrix unit computes it."""

_SRC_BITS = 11
_SRC_A_HIGH_BITS = 5
_SRC_B_HIGH_BITS = 7

SIGNIFICANT = {torch.bfloat16: 8, torch.float32: 24}
"""Significant bits of each dtype, the hidden one included."""

K_STEP = 32
"""Elements of the inner dimension that go into the accumulator between two roundings of a 16-bit one: a tile's."""


def significant(tensor: torch.Tensor, bits: int) -> torch.Tensor:
    """``tensor`` (float32 or bfloat16) with only the first ``bits`` significant bits, the hidden one included."""
    return cutter(tensor.dtype, bits)(tensor)


@functools.cache
def cutter(dtype: torch.dtype, bits: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """:func:`significant` of one type and number of bits."""
    view, width = torch.int32 if dtype is torch.float32 else torch.int16, SIGNIFICANT[dtype]
    if bits >= width:
        return lambda tensor: tensor
    mask, bitwise_and = _mask(view, width - bits), torch.bitwise_and
    return lambda tensor: bitwise_and(tensor.view(view), mask).view(dtype)


def _mask(dtype: torch.dtype, cleared: int) -> torch.Tensor:
    """A tensor, which torch takes up in half the time of a number."""
    return torch.tensor(-(1 << cleared), dtype=dtype, device="cpu")


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


def is_one_product(config: Mapping[str, Any] | None, *, silicon: bool) -> bool:
    """Whether a product with a 32-bit accumulator, of sources with :func:`source_bits`, is all that is computed."""
    return not silicon or (fidelity(config) != "hifi3" and keeps_float32(config))


def source_bits(config: Mapping[str, Any] | None, *, silicon: bool) -> tuple[int, int]:
    """Significant bits that take part of activations and weights, where one product has them all: not for ``hifi3``.

    Raises:
        ValueError: there is no such fidelity.
    """
    if not silicon:
        return 24, 24
    level = fidelity(config)
    if level not in _MULTIPLIERS:
        raise ValueError(f"math_fidelity is {level!r}, expected {', '.join(_MULTIPLIERS)}")
    weights = _SRC_A_HIGH_BITS if level == "lofi" else _SRC_BITS
    return _SRC_BITS if level == "hifi4" else _SRC_B_HIGH_BITS, weights


def multiply(
    product: Product, a: torch.Tensor, b: torch.Tensor, config: Mapping[str, Any] | None, *, silicon: bool
) -> torch.Tensor:
    """``product(a, b)`` as the matrix unit computes it with a 32-bit accumulator.

    Args:
        a: activations (SrcB).
        b: weights (SrcA).
    """
    return multiplier(config, silicon=silicon)(product, a, b)


def multiplier(config: Mapping[str, Any] | None, *, silicon: bool) -> Multiplier:
    """:func:`multiply` for one config.

    Raises:
        ValueError: there is no such fidelity.
    """
    if not silicon:
        return _multiply_exactly
    level = fidelity(config)
    if level not in _MULTIPLIERS:
        raise ValueError(f"math_fidelity is {level!r}, expected {', '.join(_MULTIPLIERS)}")
    return _MULTIPLIERS[level]


def _multiply_exactly(product: Product, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return product(a, b) if a.dtype is b.dtype else product(a.to(torch.float32), b.to(torch.float32))


def _multiply_lofi(product: Product, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a, b = sources(a, b)
    return product(significant(a, _SRC_B_HIGH_BITS), significant(b, _SRC_A_HIGH_BITS))


def _multiply_hifi2(product: Product, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a, b = sources(a, b)
    return product(significant(a, _SRC_B_HIGH_BITS), b)


def _multiply_hifi3(product: Product, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a, b = sources(a, b)
    b_high, a_high = significant(b, _SRC_A_HIGH_BITS), significant(a, _SRC_B_HIGH_BITS)
    a, b, a_high, b_high = (tensor.to(torch.float32) for tensor in (a, b, a_high, b_high))
    return product(a_high, b) + product(a - a_high, b_high)


def _multiply_hifi4(product: Product, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return product(*sources(a, b))


_MULTIPLIERS: dict[str, Multiplier] = {
    "lofi": _multiply_lofi,
    "hifi2": _multiply_hifi2,
    "hifi3": _multiply_hifi3,
    "hifi4": _multiply_hifi4,
}


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
