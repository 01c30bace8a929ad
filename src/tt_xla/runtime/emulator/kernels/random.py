"""Ops that draw random numbers, from torch's generator: they are not those of the card. The parameters are TT-NN's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def generator(seed: int | None) -> torch.Generator | None:
    """Returns a generator of a seed; for 0 or None, torch's own, which goes on."""
    return torch.Generator(device=place.device()).manual_seed(seed) if seed else None


@kernel("ttnn.rand")
def rand(ctx: Any, shape: Sequence[int], low: float = 0.0, high: float = 1.0, seed: int = 0) -> Tensor:
    return (
        torch.rand(tuple(shape), generator=generator(seed), device=place.device(), dtype=torch.float32) * (high - low)
        + low
    )


@kernel("ttnn.randn")
def randn(ctx: Any, shape: Sequence[int], seed: int | None = None) -> Tensor:
    return torch.randn(tuple(shape), generator=generator(seed), device=place.device(), dtype=torch.float32)


@kernel("ttnn.uniform")
def uniform(ctx: Any, input: Tensor, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Tensor:
    return torch.empty(input.shape, dtype=input.dtype, device=place.device()).uniform_(
        low, high, generator=generator(seed)
    )


@kernel("ttnn.bernoulli")
def bernoulli(ctx: Any, input: Tensor, seed: int = 0) -> Tensor:
    """Returns 1 with the probability that each element is, else 0."""
    drawn = torch.rand(input.shape, generator=generator(seed), device=place.device(), dtype=torch.float32)
    return drawn if input.is_meta else (drawn <= input.float()).float()


@kernel("ttnn.experimental.dropout")
def dropout(ctx: Any, input_tensor: Tensor, probability: float, scale: float, seed: int) -> Tensor:
    """Clears elements with a probability, and multiplies the others by ``scale``."""
    if input_tensor.is_meta:
        return input_tensor
    kept = (
        torch.rand(input_tensor.shape, generator=generator(seed), device=place.device(), dtype=torch.float32)
        >= probability
    )
    return torch.where(kept, input_tensor.float() * scale, 0.0)


@kernel("ttnn.sampling")
def sampling(
    ctx: Any,
    input_values_tensor: Tensor,
    input_indices_tensor: Tensor,
    k: Tensor,
    p: Tensor,
    temp: Tensor,
    seed: int | None = None,
) -> Tensor:
    """Draws one of the first ``k`` values of each row, whose probabilities add up to ``p``; returns its index."""
    shape = (*input_values_tensor.shape[:-2], 1, input_values_tensor.shape[-2])
    if input_values_tensor.is_meta:
        return torch.empty(shape, device="meta", dtype=torch.float32)
    rows = input_values_tensor.float().reshape(-1, input_values_tensor.shape[-1])
    names = input_indices_tensor.reshape(rows.shape).long()
    drawing, chosen = generator(seed), []
    for row, name, count, most, factor in zip(rows, names, k.flatten(), p.flatten(), temp.flatten(), strict=False):
        values, order = row.sort(descending=True, stable=True)
        share = torch.softmax(values[: int(count)] * float(factor), -1)
        kept = share.cumsum(-1) - share < float(most)
        kept[0] = True
        chosen_place = torch.multinomial(share * kept, 1, generator=drawing)
        chosen.append(name[order[chosen_place]])
    return torch.cat(chosen).reshape(shape)
