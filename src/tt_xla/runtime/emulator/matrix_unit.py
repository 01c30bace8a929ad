"""The arithmetic of the matrix unit: the bits that its source registers keep, its fidelity phases, its accumulator.

Sources have 19 bits: sign, 8 of exponent, 10 of mantissa. One phase multiplies 5 significant bits of SrcA (the second
operand of a matmul: weights) by 7 of SrcB (the first: activations); more phases add the parts left over. SrcA's second
part has 5 bits too, so that its last bit of 11 never takes part; SrcB's has the last 4.

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

from tt_xla.runtime.emulator import sums

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""A bilinear function of activations and weights, such as a matmul or a convolution."""

Multiplier = Callable[[Product, torch.Tensor, torch.Tensor], torch.Tensor]
"""Takes a product, activations and weights; returns the product as the matrix unit computes it."""

_SRC_A_BITS = 10
_SRC_B_BITS = 11
_SRC_A_HIGH_BITS = 5
_SRC_B_HIGH_BITS = 7

SIGNIFICANT = {torch.bfloat16: 8, torch.float32: 24}
"""Significant bits of each dtype, the hidden one included."""

K_STEP = 32
"""Elements of the inner dimension, one tile's, that a 16-bit accumulator adds between two roundings."""


_KEPT = "tt_significant_bits"
"""Attribute of a tensor that was computed with no more significant bits than this."""


def significant(tensor: torch.Tensor, bits: int) -> torch.Tensor:
    """Clears all but the first ``bits`` significant bits, the hidden one included, of float32 or bfloat16."""
    return cutter(tensor.dtype, bits)(tensor)


def mark_cut(tensor: torch.Tensor, bits: int) -> None:
    """Has :func:`significant` return a tensor as it is: all but its first ``bits`` significant bits are clear, and
    nobody writes to it."""
    setattr(tensor, _KEPT, bits)


@functools.cache
def cutter(dtype: torch.dtype, bits: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Returns :func:`significant` for one dtype and number of bits."""
    view, width = torch.int32 if dtype is torch.float32 else torch.int16, SIGNIFICANT[dtype]
    if bits >= width:
        return lambda tensor: tensor
    mask, bitwise_and = _mask(view, width - bits), torch.bitwise_and

    def cut(tensor: torch.Tensor) -> torch.Tensor:
        if getattr(tensor, _KEPT, width) <= bits:
            return tensor
        return bitwise_and(tensor.view(view), mask).view(dtype)

    return cut


def mask_of(bits: int) -> int:
    """Returns the mask that leaves the first ``bits`` significant bits of a float32's 32 bits."""
    cleared = max(SIGNIFICANT[torch.float32] - bits, 0)
    return 0xFFFFFFFF >> cleared << cleared


def _mask(dtype: torch.dtype, cleared: int) -> torch.Tensor:
    """Returns the mask as a tensor, which torch takes as an operand in half the time of a number."""
    return torch.tensor(-(1 << cleared), dtype=dtype, device="cpu")


def sources(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns activations and weights in one dtype, with the bits of the 19-bit source registers that take part."""
    if a.dtype is not b.dtype:
        a, b = a.to(torch.float32), b.to(torch.float32)
    return significant(a, _SRC_B_BITS), significant(b, _SRC_A_BITS)


def fidelity(config: Mapping[str, Any] | None) -> str:
    """Returns the math fidelity of a compute config in lower case, ``hifi4`` if it names none."""
    return str((config or {}).get("math_fidelity") or "hifi4").lower()


def keeps_float32(config: Mapping[str, Any] | None) -> bool:
    """Whether the accumulator has 32 bits."""
    return (config or {}).get("fp32_dest_acc_en") is not False


def activation_bits(op: str, operand: str, attributes: Mapping[str, Any], *, silicon: bool) -> int:
    """Returns the significant bits of a float32 that an op reads of an operand: fewer than 24 only if it is the
    activations of one product."""
    config = attributes.get("compute_config")
    if _ACTIVATIONS.get(op) != operand or not is_one_product(config, silicon=silicon):
        return SIGNIFICANT[torch.float32]
    return source_bits(config, silicon=silicon)[0]


_ACTIVATIONS = {"ttnn.linear": "a", "ttnn.matmul": "a", "ttnn.conv2d": "input"}
"""Operand with the activations, by op."""


def is_one_product(config: Mapping[str, Any] | None, *, silicon: bool) -> bool:
    """Whether one product with a 32-bit accumulator, of sources cut to :func:`source_bits`, is all that is computed."""
    return not silicon or (fidelity(config) != "hifi3" and keeps_float32(config))


def source_bits(config: Mapping[str, Any] | None, *, silicon: bool) -> tuple[int, int]:
    """Returns the significant bits of activations and of weights that take part in a product.

    It holds for fidelities that :func:`is_one_product` accepts, so not for ``hifi3``.

    Raises:
        ValueError: there is no such fidelity.
    """
    if not silicon:
        return 24, 24
    level = fidelity(config)
    if level not in _MULTIPLIERS:
        raise ValueError(f"math_fidelity is {level!r}, expected {', '.join(_MULTIPLIERS)}")
    weights = _SRC_A_HIGH_BITS if level == "lofi" else _SRC_A_BITS
    return _SRC_B_BITS if level == "hifi4" else _SRC_B_HIGH_BITS, weights


def multiply(
    product: Product, a: torch.Tensor, b: torch.Tensor, config: Mapping[str, Any] | None, *, silicon: bool
) -> torch.Tensor:
    """Returns ``product(a, b)`` as the matrix unit computes it with a 32-bit accumulator.

    Args:
        product: a matmul or a convolution.
        a: activations (SrcB).
        b: weights (SrcA).
        config: compute config of the op.
        silicon: whether to compute as the chip does, rather than exactly.
    """
    return multiplier(config, silicon=silicon)(product, a, b)


def multiplier(config: Mapping[str, Any] | None, *, silicon: bool) -> Multiplier:
    """Returns :func:`multiply` for one compute config.

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
    """Returns ``a @ b`` in float32, with an accumulator that is rounded to bfloat16 after each tile of the inner
    dimension."""

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return sums.product(x.to(torch.float32), y.to(torch.float32))

    total: torch.Tensor | None = None
    for start in range(0, a.shape[-1], K_STEP):
        part = slice(start, start + K_STEP)
        partial = multiply(step, a[..., part], b[..., part, :], config, silicon=True)
        total = partial if total is None else total + partial
        total = total.to(torch.bfloat16).to(torch.float32)
    return step(a, b) if total is None else total
