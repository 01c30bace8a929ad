"""Searches in sorted edges, distances between rows, and scatters that combine elements."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.indexing import combine_at
from tt_xla.frontends.torch.aten.reductions import maximum, minimum, total
from tt_xla.frontends.torch.aten.registry import Array, Context, cast, full, like, lower, spread, wide

aten = torch.ops.aten


@lower(aten.searchsorted.Tensor)
def searchsorted(
    ctx: Context,
    edges: Array,
    x: Array,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Array:
    if sorter is not None:
        ctx.unsupported("with a sorter")
    ctx.refuse_booleans(edges, x)
    dtype = jnp.promote_types(x.dtype, edges.dtype)
    return _first_edge_after(ctx, cast(edges, dtype), cast(x, dtype), right or side == "right")


@lower(aten.bucketize.Tensor, aten.bucketize.Scalar)
def bucketize(ctx: Context, x: Any, boundaries: Array, *, out_int32: bool = False, right: bool = False) -> Array:
    ctx.refuse_booleans(boundaries, x)
    dtype = jnp.promote_types(x.dtype, boundaries.dtype) if hasattr(x, "dtype") else boundaries.dtype
    return _first_edge_after(ctx, cast(boundaries, dtype), spread(x, ctx.shape, dtype), right)


def _first_edge_after(ctx: Context, edges: Array, x: Array, right: bool) -> Array:
    """Returns the position of the first edge that is not below ``x`` (above it with ``right``).

    Comparing with every edge is cheaper than a search where edges are few. NaN comes after every edge, and an edge that
    is NaN after every number, so both are past the edges that compare true.
    """
    shape = (*ctx.shape, edges.shape[-1])
    last = len(shape) - 1
    along = (last,) if edges.ndim == 1 else (*range(last - 1), last)
    edges = lax.broadcast_in_dim(edges, shape, along)
    reached = (lax.gt if right else lax.ge)(edges, lax.broadcast_in_dim(x, shape, range(last)))
    positions = lax.broadcasted_iota(ctx.dtype, shape, last)
    end = full(shape, shape[last], ctx.dtype)
    return minimum(lax.select(reached, positions, end), (last,)) if shape[last] else full(ctx.shape, 0, ctx.dtype)


@lower(aten._cdist_forward.default)
def distances(ctx: Context, x: Array, y: Array, order: float, compute_mode: int | None) -> Array:
    """Returns the norm of the difference of each row of ``x`` and each row of ``y``."""
    *batch, rows, columns = ctx.shape
    shape = (*batch, rows, columns, x.shape[-1])
    last, width = len(shape) - 1, wide(x.dtype)
    left, right = (
        lax.broadcast_in_dim(cast(rows, width), shape, (*range(last - rows.ndim, last - 2), dim, last))
        for rows, dim in ((x, last - 2), (y, last - 1))
    )
    return _norms(ctx, lax.abs(lax.sub(left, right)), order)


@lower(aten._pdist_forward.default)
def pair_distances(ctx: Context, x: Array, order: float = 2) -> Array:
    """Returns the norm of the difference of each two rows of ``x``, as the pairs (0, 1), (0, 2), ... (n-2, n-1)."""
    first, second = np.triu_indices(x.shape[0], 1)
    rows = cast(x, wide(x.dtype))
    left, right = (jnp.take(rows, positions, axis=0, mode="clip") for positions in (first, second))
    return _norms(ctx, lax.abs(lax.sub(left, right)), order)


def _norms(ctx: Context, differences: Array, order: float) -> Array:
    """Returns the norms of the rows in the last dimension."""
    last = differences.ndim - 1
    if not differences.size:
        return full(ctx.shape, 0, ctx.dtype)
    if order == math.inf:
        return maximum(differences, (last,))
    if order == 0:
        return total(lax.min(lax.ceil(differences), like(differences, 1)), (last,))  # NaN stays NaN
    if order == 1:
        return total(differences, (last,))
    if order == 2:
        return lax.sqrt(total(lax.mul(differences, differences), (last,)))
    powers = total(lax.pow(differences, like(differences, order)), (last,))
    return lax.pow(powers, like(powers, 1 / order))


_COMBINERS: dict[str, tuple[Any, float]] = {
    "sum": (lax.scatter_add, 0),
    "mean": (lax.scatter_add, 0),
    "prod": (lax.scatter_mul, 1),
    "amax": (lax.scatter_max, -math.inf),
    "amin": (lax.scatter_min, math.inf),
}


"""Scatter op of JAX and its neutral element, by the name of the reduction."""


@lower(aten.scatter_reduce.two)
def scatter_reduce(
    ctx: Context, x: Array, dim: int, positions: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    if x.dtype == np.bool_:
        ctx.unsupported("for booleans")
    combine, neutral = _COMBINERS[reduce]
    start = x
    if not include_self:
        start = combine_at(x, dim, positions, full(positions.shape, _bound(neutral, x.dtype), x.dtype), lax.scatter)
    result = combine_at(start, dim, positions, source, combine)
    if reduce != "mean":
        return result
    ones = full(positions.shape, 1, x.dtype)
    initial_counts = like(x, 1)
    if not include_self:
        initial_counts = combine_at(initial_counts, dim, positions, like(ones, 0), lax.scatter)
    counts = lax.max(combine_at(initial_counts, dim, positions, ones, lax.scatter_add), like(x, 1))
    if jnp.issubdtype(x.dtype, jnp.floating):
        return lax.div(result, counts)
    quotient = lax.div(result, counts)
    rounds_down = lax.bitwise_and(lax.lt(result, like(x, 0)), lax.ne(lax.rem(result, counts), like(x, 0)))
    return lax.select(rounds_down, lax.sub(quotient, like(x, 1)), quotient)


def _bound(value: float, dtype: np.dtype) -> float | int:
    """Returns the value, or for an infinity and an integer dtype the dtype's greatest or least number."""
    if math.isfinite(value) or not jnp.issubdtype(dtype, jnp.integer):
        return value
    return int(jnp.iinfo(dtype).max if value > 0 else jnp.iinfo(dtype).min)
