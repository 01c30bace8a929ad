"""Ops that create a tensor from a shape and numbers."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import Array, Context, cast, full, lower, spread

aten = torch.ops.aten
prims = torch.ops.prims


@lower(
    aten._efficientzerotensor.default,  # the gradient of what is constant between its steps, such as sgn
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.empty_permuted.default,
    aten.empty_strided.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
    aten.new_zeros.default,
    aten.zeros.default,
    aten.zeros_like.default,
    prims.empty_strided.default,
)
def zeros(ctx: Context, *args: Any, **options: Any) -> Array:
    return full(ctx.shape, 0, ctx.dtype)


@lower(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def ones(ctx: Context, *args: Any, **options: Any) -> Array:
    return full(ctx.shape, 1, ctx.dtype)


@lower(aten.full.default, aten.full_like.default, aten.fill.Scalar, aten.fill.Tensor)
def fill(ctx: Context, like: Any, value: Any, **options: Any) -> Array:
    return spread(value, ctx.shape, ctx.dtype)


@lower(aten.new_full.default)
def new_full(ctx: Context, like: Any, size: Any, value: Any, **options: Any) -> Array:
    return spread(value, ctx.shape, ctx.dtype)


@lower(aten.scalar_tensor.default, torch.ops.prims.scalar_tensor.default)
def scalar_tensor(ctx: Context, value: Any, **options: Any) -> Array:
    return full((), value, ctx.dtype)


@lower(aten.arange.default)
def arange(ctx: Context, end: Any, **options: Any) -> Array:
    return _range(ctx, 0, 1)


@lower(aten.arange.start)
def arange_start(ctx: Context, start: Any, end: Any, **options: Any) -> Array:
    return _range(ctx, start, 1)


@lower(aten.arange.start_step)
def arange_step(ctx: Context, start: Any, end: Any, step: Any = 1, **options: Any) -> Array:
    return _range(ctx, start, step)


@lower(prims.iota.default)
def iota(ctx: Context, length: int, *, start: int, step: int, **options: Any) -> Array:
    return _range(ctx, start, step)


def _range(ctx: Context, start: Any, step: Any) -> Array:
    """Returns start, start + step, ... in the shape of the result, computed in integers if all of them are integers."""
    exact = jnp.issubdtype(ctx.dtype, jnp.integer) and not isinstance(start, float) and isinstance(step, int)
    dtype = ctx.dtype if exact else jnp.promote_types(ctx.dtype, jnp.float32)
    line = lax.broadcasted_iota(dtype, ctx.shape, 0)
    if step != 1:
        line = lax.mul(line, full(ctx.shape, step, line.dtype))
    if not isinstance(start, int | float) or start != 0:
        line = lax.add(line, spread(start, ctx.shape, line.dtype))
    return cast(line, ctx.dtype)


@lower(aten.eye.default, aten.eye.m)
def eye(ctx: Context, *args: Any, **options: Any) -> Array:
    rows, columns = (lax.broadcasted_iota("int32", ctx.shape, dim) for dim in (0, 1))
    return cast(lax.eq(rows, columns), ctx.dtype)
