"""Truth values, and choices between tensors, in forms that torch computes fast.

The chip has no booleans: a comparison yields 1 or 0 in the type of its operands. Torch compares into such a tensor many
times faster than into a tensor of booleans. Large choices work on the operands' bits, because ``torch.where`` branches
at each element. All forms yield the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Tensor = torch.Tensor

_SMALL_TENSOR = 1 << 12
"""Elements up to which a call of torch costs more than its arithmetic."""

_BITS = {torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.int32: torch.int32}
_ONE_IN_BFLOAT16 = 0x3F80


def compare(function: Callable[..., Tensor], lhs: Tensor, rhs: Tensor) -> Tensor:
    """Returns a comparison of torch: 1 and 0 in the operands' dtype if they share a float dtype, else booleans."""
    if lhs.dtype is rhs.dtype and lhs.dtype.is_floating_point:
        return function(lhs, rhs, out=torch.empty(0, dtype=lhs.dtype, device=lhs.device))
    return function(lhs, rhs)


def as_float(truth: Tensor, dtype: torch.dtype) -> Tensor:
    """Converts booleans to 1 and 0."""
    if dtype is not torch.bfloat16 or truth.numel() <= _SMALL_TENSOR:
        return truth.to(dtype)
    return truth.view(torch.uint8).to(torch.int16).mul_(_ONE_IN_BFLOAT16).view(torch.bfloat16)


def select(condition: Tensor, chosen: Tensor, other: Tensor) -> Tensor:
    """Returns ``chosen`` where ``condition`` is not zero, else ``other``; all three broadcast."""
    if other.numel() == 1 and condition.numel() <= _SMALL_TENSOR < chosen.numel() and chosen.dtype is other.dtype:
        return chosen.masked_fill(condition == 0, other.reshape(()))  # two calls; attention masks rows in this way
    bits = _BITS.get(chosen.dtype)
    if (
        bits is None
        or chosen.dtype is not other.dtype
        or max(chosen.numel(), other.numel(), condition.numel()) <= _SMALL_TENSOR
    ):
        return torch.where(condition if condition.dtype is torch.bool else condition != 0, chosen, other)
    mask, chosen_bits, other_bits = _mask(condition, bits), chosen.view(bits), other.view(bits)
    # In place where possible: new memory costs more than the arithmetic.
    if _is_zero(other_bits):
        result = _both(mask, chosen_bits)
    elif _is_zero(chosen_bits):
        result = _both(mask.bitwise_not_(), other_bits)
    else:
        result = _both(torch.bitwise_xor(chosen_bits, other_bits), mask).bitwise_xor_(other_bits)
    return result.view(chosen.dtype)


def _both(bits: Tensor, others: Tensor) -> Tensor:
    """Returns ``bits & others``, in the memory of ``bits`` if it has the result's shape."""
    if torch.broadcast_shapes(bits.shape, others.shape) == bits.shape:
        return bits.bitwise_and_(others)
    return torch.bitwise_and(bits, others)


def _is_zero(bits: Tensor) -> bool:
    return bits.numel() == 1 and not int(bits)


def _mask(condition: Tensor, bits: torch.dtype) -> Tensor:
    """Returns integers with all bits set where ``condition`` is not zero, and no bit elsewhere."""
    if condition.dtype is torch.bool:
        return condition.view(torch.uint8).to(bits).neg_()
    if condition.dtype not in _BITS:
        return (condition != 0).view(torch.uint8).to(bits).neg_()
    one = torch.ne(condition, 0, out=torch.empty(0, dtype=condition.dtype, device=condition.device))
    if condition.dtype is torch.int32:
        return one.neg_().to(bits)
    raw = one.view(_BITS[condition.dtype])
    # The bits of 1.0 are ones from the third on: the first of them is shifted to the sign, and spread from there.
    return raw.bitwise_left_shift_(2).bitwise_right_shift_(8 * raw.element_size() - 1).to(bits)
