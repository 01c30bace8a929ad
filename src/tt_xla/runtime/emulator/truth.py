"""Truth values and choices by them, in the ways in which torch is fast.

The chip has no booleans: what is true is 1 in the type of what was compared. Torch compares into such a tensor many
times faster than into one of its booleans, and ``torch.where`` takes a branch at each element.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Tensor = torch.Tensor

_FEW = 1 << 12
"""Elements up to which one call of torch costs more than what it does."""

_BITS = {torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.int32: torch.int32}
_ONE_IN_BFLOAT16 = 0x3F80


def compare(function: Callable[..., Tensor], lhs: Tensor, rhs: Tensor) -> Tensor:
    """What a comparison of torch gives: 1 and 0 in the operands' type where they share a float, else booleans."""
    if lhs.dtype is rhs.dtype and lhs.dtype.is_floating_point:
        return function(lhs, rhs, out=torch.empty(0, dtype=lhs.dtype))
    return function(lhs, rhs)


def as_float(truth: Tensor, dtype: torch.dtype) -> Tensor:
    """Booleans as 1 and 0."""
    if dtype is not torch.bfloat16 or truth.numel() <= _FEW:
        return truth.to(dtype)
    return truth.view(torch.uint8).to(torch.int16).mul_(_ONE_IN_BFLOAT16).view(torch.bfloat16)


def select(condition: Tensor, chosen: Tensor, other: Tensor) -> Tensor:
    """``chosen`` where ``condition`` is not zero, else ``other``; all three broadcast."""
    bits = _BITS.get(chosen.dtype)
    if bits is None or chosen.dtype is not other.dtype or max(chosen.numel(), other.numel(), condition.numel()) <= _FEW:
        return torch.where(condition if condition.dtype is torch.bool else condition != 0, chosen, other)
    mask, chosen_bits, other_bits = _mask(condition, bits), chosen.view(bits), other.view(bits)
    if _is_zero(other_bits):
        found = torch.bitwise_and(chosen_bits, mask)
    elif _is_zero(chosen_bits):
        found = torch.bitwise_and(other_bits, torch.bitwise_not(mask))
    else:
        found = torch.bitwise_xor(other_bits, torch.bitwise_xor(chosen_bits, other_bits) & mask)
    return found.view(chosen.dtype)


def _is_zero(bits: Tensor) -> bool:
    return bits.numel() == 1 and not int(bits)


def _mask(condition: Tensor, bits: torch.dtype) -> Tensor:
    """All bits where ``condition`` is not zero, none elsewhere."""
    if condition.dtype is torch.bool:
        return condition.view(torch.uint8).to(bits).neg_()
    if condition.dtype not in _BITS:
        return (condition != 0).view(torch.uint8).to(bits).neg_()
    one = torch.ne(condition, 0, out=torch.empty(0, dtype=condition.dtype))
    if condition.dtype is torch.int32:
        return one.neg_().to(bits)
    raw = one.view(_BITS[condition.dtype])
    # 1.0 has ones from its third bit on: shifted to the sign, and spread from there.
    return raw.bitwise_left_shift_(2).bitwise_right_shift_(8 * raw.element_size() - 1).to(bits)
