"""How far results are from the expected ones, as one number that no wrong result keeps small."""

from __future__ import annotations

import torch


def relative_error(result: torch.Tensor, expected: torch.Tensor) -> float:
    """Returns the root mean square of the differences, as a part of that of the expected numbers.

    It does not depend on how large the numbers are. Rounding to n significant bits alone gives about 2^-(n + 1); a
    result that lacks a term, or has rows in another order, gives about 1.
    """
    assert result.shape == expected.shape
    right = expected.detach().double()
    return float((result.detach().cpu().double() - right).norm() / right.norm())
