"""Backward ops without a decomposition in torch: JAX differentiates the rules of their forward ops."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tt_xla.frontends.torch.aten.decompositions import decompositions
from tt_xla.frontends.torch.aten.registry import DTYPES, Array, Context, apply, full, lower, rule_of
from tt_xla.frontends.torch.private.fake import FakeTensorMode

aten = torch.ops.aten

_TORCH_TYPES = {dtype: torch_type for torch_type, dtype in DTYPES.items()}


def derivative(ctx: Context, forward: Callable[..., torch.Tensor], grad: Array, *primals: Array) -> tuple[Array, ...]:
    """Returns the gradients of a function's arguments.

    Args:
        ctx: The backward op.
        forward: The forward op as a function of ``primals``, in torch's ops; its other arguments are bound.
        grad: Gradient of the forward op's result.
        primals: Arguments of the forward op.
    """
    _, backward = jax.vjp(_in_jax(ctx, forward, primals), *primals)
    return backward(grad)


def _in_jax(ctx: Context, function: Callable[..., torch.Tensor], arrays: Sequence[Array]) -> Callable[..., Array]:
    """Returns a function of arrays that evaluates a function of torch's ops by their lowering rules."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        fakes = [torch.empty(x.shape, dtype=_TORCH_TYPES[x.dtype], device="cpu") for x in arrays]
        traced = make_fx(function, decomposition_table=decompositions(), tracing_mode="real")(*fakes)

    def call(*primals: Array) -> Array:
        values: dict[torch.fx.Node, Any] = dict(zip(traced.graph.find_nodes(op="placeholder"), primals, strict=True))
        for node in traced.graph.nodes:
            if node.op == "get_attr":
                values[node] = jnp.asarray(np.asarray(getattr(traced, str(node.target))))
            elif node.op == "call_function":
                args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
                if node.target is operator.getitem:
                    values[node] = args[0][args[1]]
                    continue
                rule = rule_of(node.target)
                if rule is None:
                    ctx.unsupported(f"because its forward op needs {node.target}, which has no lowering rule")
                values[node] = apply(Context(node, node.meta["val"], ctx.location), rule, args, kwargs)
        return values[traced.graph.output_node().args[0]]

    return call


def _zeros(shape: Sequence[int], like: Array) -> Array:
    """Returns zeros for an input whose values the derivative does not depend on."""
    return full([int(size) for size in shape], 0, like.dtype)


def _lower_resizing(name: str) -> None:
    """Registers the rule of the gradient of an op that resizes images."""
    forward: Any = getattr(aten, name).default

    @lower(getattr(aten, f"{name}_backward").default)
    def backward(ctx: Context, grad: Array, size: Sequence[int], input_size: Sequence[int], *rest: Any) -> Array:
        counts = [int(count) for count in size]
        return derivative(ctx, lambda x: forward(x, counts, *rest), grad, _zeros(input_size, grad))[0]


for _name in (
    "upsample_nearest1d",
    "upsample_nearest3d",
    "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d",
    "_upsample_nearest_exact3d",
    "upsample_linear1d",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
):
    _lower_resizing(_name)


def _lower_replication_pad(rank: int) -> None:
    """Registers the rule of the gradient of replication padding of ``rank`` dimensions."""
    forward: Any = getattr(aten, f"replication_pad{rank}d").default

    @lower(getattr(aten, f"replication_pad{rank}d_backward").default)
    def backward(ctx: Context, grad: Array, x: Array, padding: Sequence[int]) -> Array:
        amounts = [int(amount) for amount in padding]
        return derivative(ctx, lambda x: forward(x, amounts), grad, x)[0]


for _rank in (1, 2, 3):
    _lower_replication_pad(_rank)


@lower(aten.grid_sampler_2d_backward.default)
def grid_sampler_2d_backward(
    ctx: Context,
    grad: Array,
    x: Array,
    grid: Array,
    mode: int,
    padding: int,
    align_corners: bool,
    output_mask: list[bool],
) -> tuple[Array | None, ...]:
    """Differentiates torch's decomposition for bicubic samples, and ``_sampled`` otherwise."""

    def forward(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        if mode == _BICUBIC:
            return aten.grid_sampler_2d.default(x, grid, mode, padding, align_corners)
        return _sampled(x, grid, mode == _NEAREST, padding, align_corners)

    gradients = derivative(ctx, forward, grad, x, grid)
    return tuple(gradient if want else None for gradient, want in zip(gradients, output_mask, strict=True))


_NEAREST, _BICUBIC = 1, 2
_ZEROS, _REFLECTION = 0, 2


def _reflected(pixel: torch.Tensor, low: float, span: float) -> torch.Tensor:
    """Returns positions reflected at both ends of ``low`` to ``low + span``."""
    if span == 0:
        return torch.zeros_like(pixel)
    distance = torch.where(pixel < low, low - pixel, pixel - low)
    flips = (distance / span).floor()
    rest = distance - flips * span
    return torch.where(flips % 2 == 0, rest + low, span + low - rest)


def _sampled(x: torch.Tensor, grid: torch.Tensor, nearest: bool, padding: int, align_corners: bool) -> torch.Tensor:
    """Samples images by positions in the flattened image. At ties its derivative is PyTorch's.

    Tiles of one long dimension hold no padding, unlike tiles of rows and columns.
    """
    batch, channels, height, width = x.shape

    def pixels(coordinates: torch.Tensor, size: int) -> torch.Tensor:
        pixel = (coordinates + 1) / 2 * (size - 1) if align_corners else ((coordinates + 1) * size - 1) / 2
        if padding == _REFLECTION:
            pixel = _reflected(pixel, *((0.0, size - 1) if align_corners else (-0.5, size)))
        if padding == _ZEROS:
            return pixel
        # Nothing flows to positions on the edge and beyond it.
        inside = (pixel > 0) & (pixel < size - 1)
        edge = torch.where(pixel > 0, torch.full_like(pixel, size - 1), torch.zeros_like(pixel))
        return torch.where(inside, pixel, edge)

    column, row = (
        pixels(part.flatten(1), size) for part, size in zip(grid.float().unbind(-1), (width, height), strict=True)
    )
    left, top = (column.round(), row.round()) if nearest else (column.floor(), row.floor())
    right_share, low_share = column - left, row - top
    image, result = x.flatten(2), torch.zeros((), dtype=torch.float32, device=x.device)
    for right, low in [(0, 0)] if nearest else [(0, 0), (1, 0), (0, 1), (1, 1)]:
        sample_column, sample_row = left + right, top + low
        share = (sample_column >= 0) & (sample_column < width) & (sample_row >= 0) & (sample_row < height)
        if not nearest:
            share = share * (right_share if right else 1 - right_share) * (low_share if low else 1 - low_share)
        index = sample_row.clamp(0, height - 1).long() * width + sample_column.clamp(0, width - 1).long()
        samples = image.gather(2, index[:, None].expand(batch, channels, -1))
        result = result + samples * share[:, None]
    return result.unflatten(2, grid.shape[1:3]).to(x.dtype)


@lower(aten._weight_norm_interface_backward.default)
def weight_norm_backward(
    ctx: Context, grad: Array, direction: Array, length: Array, norms: Array, dim: int
) -> tuple[Array, ...]:
    def forward(direction: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        return aten._weight_norm_interface.default(direction, length, dim)[0]

    return derivative(ctx, forward, grad, direction, length)


@lower(aten.masked_scatter_backward.default)
def masked_scatter_backward(ctx: Context, grad: Array, mask: Array, sizes: Sequence[int]) -> Array:
    def forward(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        return aten.masked_scatter.default(x, mask, source)

    call = _in_jax(ctx, forward, [grad, mask, source := _zeros(sizes, grad)])
    return jax.vjp(lambda source: call(grad, mask, source), source)[1](grad)[0]


@lower(aten._cdist_backward.default)
def cdist_backward(ctx: Context, grad: Array, one: Array, other: Array, order: float, distances: Array) -> Array:
    """Computes PyTorch's own gradient, in which nothing flows to points without a distance."""

    def gradient(grad: torch.Tensor, one: torch.Tensor, other: torch.Tensor, distances: torch.Tensor) -> torch.Tensor:
        difference = one.unsqueeze(-2) - other.unsqueeze(-3)
        grad, length = grad.unsqueeze(-1), distances.unsqueeze(-1)
        size, zero = difference.abs(), torch.zeros_like(difference)
        if order == 0:
            return zero.sum(-2)
        if order == 1:
            return (grad * difference.sign()).sum(-2)
        if math.isinf(order):
            return torch.where(size == length, grad * difference.sign(), zero).sum(-2)
        apart = (length > 0) & ((difference != 0) | (order >= 1))
        size, length = torch.where(size > 0, size, 1.0), torch.where(apart, length, 1.0)
        shares = difference.sign() * size ** (order - 1) / length ** (order - 1)
        return torch.where(apart, grad * shares, zero).sum(-2)

    return _in_jax(ctx, gradient, [grad, one, other, distances])(grad, one, other, distances)


__all__ = ["derivative"]
