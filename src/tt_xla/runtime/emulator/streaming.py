"""The softmax inside TT-NN's attention kernel: chunks of keys, an approximate exponential, weights without a divisor.

The function here is the definition. :mod:`tt_xla.runtime.emulator.fast.attention` computes it in C++ with the same
bits, which is why each step has one rounding and the sum is one of integers.
"""

from __future__ import annotations

import torch

Tensor = torch.Tensor

CHUNK = 32
"""Keys of a chunk where the call has no program config."""

LOG2_E = 1.4426950216293335
BIAS = 32500.818359375 / 2 + 0.25
"""Constant of Schraudolph's exponential. The kernel rounds to 8 bits of mantissa, of which the accumulator keeps 7.
Half of the sum and 1/4, cut off, is the same."""
LARGEST = 16383.0
"""Bit pattern of the bfloat16 before 2.0, beyond which no weight lies."""
PARTS = 2.0**24
"""Parts of 1 in which weights are added."""
POWER = (1.0, 0.69314718, 0.24022651, 0.05550411, 0.00961813, 0.0013333558)
"""Coefficients of 2 to the power of a number from 0 to 1, the constant first."""
LEAST = -126.0
"""Exponent below which a power of 2 is zero."""


def constants(factor: float) -> tuple[float, ...]:
    """Returns the numbers that the scale of the scores decides: the slopes of the two exponentials."""
    return 128 * LOG2_E * factor, LOG2_E * factor


def softmax(scores: Tensor, factor: float) -> tuple[Tensor, Tensor]:
    """Returns the weights of keys, and the inverses of their sums ``[..., rows, 1]``, both in bfloat16.

    The maximum is that of the chunks so far. Weights of earlier chunks shrink by an accurate exponential when it grows.
    The inverse is NaN where the largest score is not finite.

    Args:
        scores: products of queries and keys ``[..., rows, keys]`` in bfloat16, before they are scaled.
        factor: the scale of the scores.
    """
    missing = -scores.shape[-1] % CHUNK
    padded = torch.nn.functional.pad(scores, (0, missing), value=-torch.inf) if missing else scores
    chunks = padded.unflatten(-1, (-1, CHUNK))
    largest = chunks.amax(-1, keepdim=True).cummax(-2)[0].to(torch.float32)
    last = largest[..., -1, :]
    slope, exponent = constants(factor)
    base = torch.where(largest == -torch.inf, 0.0, largest)
    places = (chunks.to(torch.float32) - base).mul_(slope).add_(BIAS).clamp_(0.0, LARGEST)
    decays = _power((largest - last.unsqueeze(-2)) * exponent).to(torch.bfloat16)
    weights = places.to(torch.int16).view(torch.bfloat16) * decays
    total = (weights.to(torch.float32) * PARTS).to(torch.int32).sum((-1, -2), dtype=torch.int64).unsqueeze(-1)
    inverses = torch.where(last.isfinite(), PARTS / total.to(torch.float32), torch.nan).to(torch.bfloat16)
    return weights.flatten(-2)[..., : scores.shape[-1]], inverses


def _power(x: Tensor) -> Tensor:
    """Returns 2 to the power of a number that is not positive."""
    whole = x.clamp(LEAST, 0.0).floor()
    rest = x.clamp(LEAST, 0.0) - whole
    result = torch.full_like(x, POWER[-1])
    for coefficient in reversed(POWER[:-1]):
        result = result * rest + coefficient
    scale = (whole.to(torch.int32) + 127 << 23).view(torch.float32)
    return torch.where(x >= LEAST, result * scale, 0.0)
