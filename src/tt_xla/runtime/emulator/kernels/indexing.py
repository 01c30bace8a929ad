"""Ops that read and write elements at computed positions, and sorts."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.embedding")
def embedding(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
    """Returns the rows of ``weight``, along its last two dimensions, at the indices ``input``."""
    table = weight.reshape(-1, weight.shape[-1])
    indices = input.to(torch.int64)
    if indices.numel():
        low, high = (int(bound) for bound in torch.aminmax(indices))
        if low < 0 or high >= len(table):
            raise IndexError(f"embedding index {low if low < 0 else high} is outside the table of {len(table)} rows")
    return F.embedding(indices, table).reshape(ctx.result.shape)


@kernel("ttnn.embedding_bw")
def embedding_bw(ctx: Context, input: Tensor, weight: Tensor, in_gradient: Tensor) -> Tensor:
    width = weight.shape[-1]
    gradient = in_gradient.to(torch.float32).reshape(-1, width)
    total = torch.zeros((weight.numel() // width, width), dtype=torch.float32, device=gradient.device)
    return total.index_add_(0, input.flatten().to(torch.int64), gradient).reshape(ctx.result.shape)


@kernel("ttnn.gather")
def gather(ctx: Context, input: Tensor, index: Tensor, dim: int) -> Tensor:
    return torch.gather(input, dim, index.to(torch.int64))


_REDUCTIONS = {"sum": "sum", "prod": "prod", "max": "amax", "min": "amin"}


@kernel("ttnn.scatter")
def scatter(
    ctx: Context, input: Tensor, index: Tensor, source: Tensor, dim: int, scatter_reduce_type: str = "invalid"
) -> Tensor:
    """Writes ``source`` at ``index``; with a reduction other than ``invalid``, combines it with the elements there."""
    positions, values = index.to(torch.int64), source.to(input.dtype)
    if scatter_reduce_type == "invalid":
        return input.scatter(dim, positions, values)
    wide = torch.float32 if input.is_floating_point() else input.dtype
    return input.to(wide).scatter_reduce(dim, positions, values.to(wide), _REDUCTIONS[scatter_reduce_type])


@kernel("ttnn.sort")
def sort(
    ctx: Context, input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False
) -> tuple[Tensor, Tensor]:
    values, indices = torch.sort(input, dim=dim, descending=descending, stable=True)
    return values, indices


@kernel("ttnn.topk")
def topk(
    ctx: Context,
    input_tensor: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    stable: bool = True,
) -> tuple[Tensor, Tensor]:
    """Returns the k greatest or least values; among equal ones, those that come first."""
    values, indices = torch.sort(input_tensor, dim=dim, descending=largest, stable=True)
    return values.narrow(dim, 0, k), indices.narrow(dim, 0, k)
