"""Decompositions of random ops whose distribution depends on tensors: drawn numbers, and arithmetic on them.

The host draws the numbers with torch's own kernels for the CPU and in the same order, so a seed gives the same results
as on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten

RANDOM = {
    aten.bernoulli.p,
    aten.rand.default,
    aten.rand_like.default,
    aten.randn.default,
    aten.randn_like.default,
    aten.randint.default,
    aten.randint.low,
    aten.randint_like.default,
    aten.randint_like.low_dtype,
    aten.randperm.default,
}
"""Ops whose results the host draws before a program runs; the program takes them as inputs."""


def _bernoulli(probabilities: Tensor, **generator: Any) -> Tensor:
    return _bernoulli_like(probabilities, probabilities, **generator)


def _bernoulli_like(x: Tensor, probabilities: Tensor, **generator: Any) -> Tensor:
    dtype = probabilities.dtype if probabilities.is_floating_point() else torch.float32
    return (_draw(aten.rand, x.shape, dtype, x.device, **generator) < probabilities).to(x.dtype)


def _dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Decomposes dropout with the mask that PyTorch's kernel for the CPU draws, in the order of memory."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    strides = torch.empty_like(x).stride()
    order = sorted(range(x.dim()), key=lambda dim: -strides[dim])
    back = [order.index(dim) for dim in range(x.dim())]
    mask = aten.bernoulli.p(x.permute(order), 1 - p).permute(back).to(torch.bool)
    return x * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def _normal(mean: Any, deviation: Any, **generator: Any) -> Tensor:
    tensors = [value for value in (mean, deviation) if isinstance(value, Tensor)]
    shape = torch.broadcast_shapes(*[tensor.shape for tensor in tensors])
    return _draw(aten.randn, shape, tensors[0].dtype, tensors[0].device, **generator) * deviation + mean


def _normal_around(mean: Tensor, deviation: float = 1.0, **generator: Any) -> Tensor:
    return _normal(mean, deviation, **generator)


def _normal_of(
    shape: torch.Size,
    *,
    mean: float,
    std: float,
    dtype: torch.dtype,
    device: torch.device,
    requires_grad: bool = False,
    **generator: Any,
) -> Tensor:
    """Decomposes ``prims.normal``, which torch records for ``torch.normal`` in a graph."""
    drawn = _draw(aten.randn, shape, dtype, device, **generator)
    return drawn if (mean, std) == (0, 1) else drawn * std + mean


def _draw(
    function: Callable[..., Tensor],
    shape: torch.Size,
    dtype: torch.dtype,
    device: torch.device,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Returns random numbers of a factory function, drawn by a generator or by torch's default one."""
    options = {} if generator is None else {"generator": generator}
    return function(shape, dtype=dtype, device=device, **options)


DRAWN: dict[OpOverload, Callable[..., Tensor]] = {
    aten.bernoulli.default: _bernoulli,
    aten.bernoulli.Tensor: _bernoulli_like,
    aten.native_dropout.default: _dropout,
    aten.normal.Tensor_Tensor: _normal,
    aten.normal.Tensor_float: _normal_around,
    aten.normal.float_Tensor: _normal,
    torch.ops.prims.normal.default: _normal_of,
}
"""Decompositions by op."""

__all__ = ["DRAWN", "RANDOM"]
