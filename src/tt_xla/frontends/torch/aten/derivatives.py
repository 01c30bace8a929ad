"""Backward ops that torch has no decomposition of: the derivatives, by JAX, of their forward ops."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from tt_xla.frontends.torch.aten.registry import DTYPES, Array, Context, apply, full, lower, rule_of

aten = torch.ops.aten

_TORCH_TYPES = {dtype: torch_type for torch_type, dtype in DTYPES.items()}


def derivative(ctx: Context, forward: Callable[..., torch.Tensor], grad: Array, *primals: Array) -> tuple[Array, ...]:
    """The gradients of ``primals`` of a function in torch's ops, given that of its result.

    Args:
        ctx: the backward op.
        forward: what it is the backward op of; what else it takes is bound.
    """
    _, backward = jax.vjp(_in_jax(ctx, forward, primals), *primals)
    return backward(grad)


def _in_jax(ctx: Context, function: Callable[..., torch.Tensor], arrays: Sequence[Array]) -> Callable[..., Array]:
    """The function by the rules of the ops that it decomposes into."""
    from tt_xla.frontends.torch.decompositions import decompositions

    with FakeTensorMode(allow_non_fake_inputs=True):
        fakes = [torch.empty(x.shape, dtype=_TORCH_TYPES[x.dtype], device="cpu") for x in arrays]
        traced = make_fx(function, decomposition_table=decompositions(), tracing_mode="real")(*fakes)

    def call(*given: Array) -> Array:
        values: dict[torch.fx.Node, Any] = dict(zip(traced.graph.find_nodes(op="placeholder"), given, strict=True))
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
                    ctx.unsupported(f"as its forward op needs {node.target}")
                values[node] = apply(Context(node, node.meta["val"], ctx.location), rule, args, kwargs)
        return values[traced.graph.output_node().args[0]]

    return call


def _zeros(shape: Sequence[int], like: Array) -> Array:
    """In place of an input whose values the derivative does not depend on."""
    return full([int(size) for size in shape], 0, like.dtype)


def _lower_resizing(name: str) -> None:
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
    forward: Any = getattr(aten, f"replication_pad{rank}d").default

    @lower(getattr(aten, f"replication_pad{rank}d_backward").default)
    def backward(ctx: Context, grad: Array, x: Array, padding: Sequence[int]) -> Array:
        amounts = [int(amount) for amount in padding]
        return derivative(ctx, lambda x: forward(x, amounts), grad, x)[0]


for _rank in (1, 2, 3):
    _lower_replication_pad(_rank)


@lower(aten.grid_sampler_2d_backward.default)
def grid_sampler_2d_backward(
    ctx: Context, grad: Array, x: Array, grid: Array, mode: int, padding: int, align_corners: bool, wanted: list[bool]
) -> tuple[Array | None, ...]:
    def forward(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return aten.grid_sampler_2d.default(x, grid, mode, padding, align_corners)

    found = derivative(ctx, forward, grad, x, grid)
    return tuple(result if want else None for result, want in zip(found, wanted, strict=True))


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
    return derivative(ctx, lambda x, y: aten._cdist_forward.default(x, y, order, None), grad, one, other)[0]


__all__ = ["derivative"]
