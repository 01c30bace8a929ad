"""How far two results of one element type lie apart, counted in values of the type between them."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Deviation:
    """Distances between two results, counted in values of their element type."""

    largest: int
    mean: float
    beyond_one: float
    """Fraction of elements with a distance of more than one."""
    pcc: float


def deviation(one: torch.Tensor, other: torch.Tensor) -> Deviation:
    """Measures the deviation of two tensors of one element type and shape."""
    distance = (_ordered(one) - _ordered(other)).abs()
    first, second = one.double().flatten(), other.double().flatten()
    if torch.equal(first, second):
        pcc = 1.0
    elif first.numel() < 2 or not first.std() or not second.std():
        pcc = 0.0
    else:
        pcc = float(torch.corrcoef(torch.stack([first, second]))[0, 1])
    if not distance.numel():
        return Deviation(0, 0.0, 0.0, pcc)
    return Deviation(int(distance.max()), float(distance.double().mean()), float((distance > 1).double().mean()), pcc)


def _ordered(tensor: torch.Tensor) -> torch.Tensor:
    """Maps values to integers in the same order, neighbours to neighbours, and both zeros to 0."""
    if not tensor.is_floating_point():
        return tensor.to(torch.int64)
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    pattern = tensor.contiguous().view(bits).to(torch.int64)
    return torch.where(pattern < 0, torch.iinfo(bits).min - pattern, pattern)
