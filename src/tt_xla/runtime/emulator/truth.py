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
        return function(lhs, rhs, out=torch.empty(0, dtype=lhs.dtype, device=lhs.device))
    return function(lhs, rhs)


def as_float(truth: Tensor, dtype: torch.dtype) -> Tensor:
    """Booleans as 1 and 0."""
    if dtype is not torch.bfloat16 or truth.numel() <= _FEW:
        return truth.to(dtype)
    return truth.view(torch.uint8).to(torch.int16).mul_(_ONE_IN_BFLOAT16).view(torch.bfloat16)


def select(condition: Tensor, chosen: Tensor, other: Tensor) -> Tensor:
    """``chosen`` where ``condition`` is not zero, else ``other``; all three broadcast."""
    if other.numel() == 1 and condition.numel() <= _FEW < chosen.numel() and chosen.dtype is other.dtype:
        return chosen.masked_fill(condition == 0, other.reshape(()))  # of rows, as attention does: two calls
    bits = _BITS.get(chosen.dtype)
    if bits is None or chosen.dtype is not other.dtype or max(chosen.numel(), other.numel(), condition.numel()) <= _FEW:
        return torch.where(condition if condition.dtype is torch.bool else condition != 0, chosen, other)
    mask, chosen_bits, other_bits = _mask(condition, bits), chosen.view(bits), other.view(bits)
    # In place where that may be: new memory costs more than the arithmetic.
    if _is_zero(other_bits):
        found = _both(mask, chosen_bits)
    elif _is_zero(chosen_bits):
        found = _both(mask.bitwise_not_(), other_bits)
    else:
        found = _both(torch.bitwise_xor(chosen_bits, other_bits), mask).bitwise_xor_(other_bits)
    return found.view(chosen.dtype)


def _both(bits: Tensor, others: Tensor) -> Tensor:
    """``bits & others``, in the memory of ``bits`` where it has the result's shape."""
    if torch.broadcast_shapes(bits.shape, others.shape) == bits.shape:
        return bits.bitwise_and_(others)
    return torch.bitwise_and(bits, others)


def _is_zero(bits: Tensor) -> bool:
    return bits.numel() == 1 and not int(bits)


def _mask(condition: Tensor, bits: torch.dtype) -> Tensor:
    """All bits where ``condition`` is not zero, none elsewhere."""
    if condition.dtype is torch.bool:
        return condition.view(torch.uint8).to(bits).neg_()
    if condition.dtype not in _BITS:
        return (condition != 0).view(torch.uint8).to(bits).neg_()
    one = torch.ne(condition, 0, out=torch.empty(0, dtype=condition.dtype, device=condition.device))
    if condition.dtype is torch.int32:
        return one.neg_().to(bits)
    raw = one.view(_BITS[condition.dtype])
    # 1.0 has ones from its third bit on: shifted to the sign, and spread from there.
    return raw.bitwise_left_shift_(2).bitwise_right_shift_(8 * raw.element_size() - 1).to(bits)
