"""Ops that move, slice, join or repeat elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

import tt_xla.frontends.torch.graph.marks  # defines tt_xla::mark_tensor
import tt_xla.frontends.torch.weight_dtypes  # noqa: F401  defines tt::weight_dtype_override
from tt_xla.frontends.torch.aten.registry import Array, Context, axes, broadcast, cast, full, lower, shape_of

aten = torch.ops.aten
prims = torch.ops.prims


@lower(
    aten._reshape_alias.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.unsqueeze.default,
    aten.view.default,
    aten.view_copy.default,
)
def reshape(ctx: Context, x: Array, *sizes: Any) -> Array:
    return x if tuple(x.shape) == ctx.shape else lax.reshape(x, ctx.shape)


@lower(torch.ops.tt_xla.mark_tensor.default, torch.ops.tt.weight_dtype_override.default)
def mark(ctx: Context, x: Array, *_: Any) -> Array:
    """Drops a mark that nothing uses: of a group that is no composite, or of the format of a weight."""
    return x


@lower(aten.view.dtype)
def view_dtype(ctx: Context, x: Array, dtype: torch.dtype) -> Array:
    if ctx.dtype.itemsize != x.dtype.itemsize:
        ctx.unsupported("between dtypes of different width")
    return lax.bitcast_convert_type(x, ctx.dtype)


@lower(aten.permute.default)
def permute(ctx: Context, x: Array, dims: Sequence[int]) -> Array:
    order = tuple(dim % x.ndim for dim in dims)
    return x if order == tuple(range(x.ndim)) else lax.transpose(x, order)


@lower(aten.transpose.int)
def transpose(ctx: Context, x: Array, dim0: int, dim1: int) -> Array:
    order = list(range(x.ndim))
    if x.ndim:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return lax.transpose(x, order)


@lower(aten.t.default)
def t(ctx: Context, x: Array) -> Array:
    return x if x.ndim < 2 else lax.transpose(x, (1, 0))


@lower(aten.expand.default)
def expand(ctx: Context, x: Array, sizes: Sequence[int], *, implicit: bool = False) -> Array:
    return broadcast(x, ctx.shape)


@lower(aten.repeat.default)
def repeat(ctx: Context, x: Array, repeats: Sequence[int]) -> Array:
    padded = (1,) * (len(repeats) - x.ndim) + tuple(x.shape)
    split = [size for pair in zip(repeats, padded, strict=True) for size in pair]
    element_dims = [2 * i + 1 for i in range(len(repeats))]
    return lax.reshape(lax.broadcast_in_dim(lax.reshape(x, padded), split, element_dims), ctx.shape)


@lower(aten.cat.default)
def cat(ctx: Context, tensors: Sequence[Array], dim: int = 0) -> Array:
    rank = len(ctx.shape)
    nonempty = [cast(x, ctx.dtype) for x in tensors if x.ndim == rank and x.shape[dim % rank] != 0]
    if not nonempty:
        return full(ctx.shape, 0, ctx.dtype)
    return nonempty[0] if len(nonempty) == 1 else lax.concatenate(nonempty, dim % rank)


@lower(aten.stack.default)
def stack(ctx: Context, tensors: Sequence[Array], dim: int = 0) -> Array:
    dim %= len(ctx.shape)
    return lax.concatenate([lax.expand_dims(cast(x, ctx.dtype), (dim,)) for x in tensors], dim)


def slice_along(x: Array, dim: int, start: int, stop: int, step: int = 1) -> Array:
    """Returns ``x[..., start:stop:step, ...]`` along one dimension, for bounds within ``x``."""
    if (start, stop, step) == (0, x.shape[dim], 1):
        return x
    return lax.slice_in_dim(x, start, max(start, stop), step, dim)


@lower(aten.slice.Tensor, aten.slice_copy.Tensor)
def slice_(ctx: Context, x: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Array:
    dim %= x.ndim
    size = x.shape[dim]
    if _are_numbers(size, start, end):
        return slice_along(x, dim, *slice(start, end, step).indices(size))
    begin = _edge(start, size, 0)
    return slice_along(x, dim, begin, begin + (ctx.shape[dim] - 1) * step + 1, step)


def _are_numbers(*sizes: Any) -> bool:
    """Returns whether no size is symbolic."""
    return all(size is None or isinstance(size, int) for size in sizes)


def _edge(edge: Any, size: Any, default: Any) -> Any:
    """Returns the begin or end of a slice where sizes are symbolic, which lies within the dimension."""
    if edge is None or (isinstance(edge, int) and edge >= 2**63 - 1):
        return default
    return size + edge if edge < 0 else edge


@lower(aten.select.int, aten.select_copy.int)
def select(ctx: Context, x: Array, dim: int, index: int) -> Array:
    dim %= x.ndim
    index = index % x.shape[dim]
    if not isinstance(index, int):
        return lax.reshape(lax.dynamic_slice_in_dim(x, index, 1, dim), ctx.shape)
    return lax.reshape(slice_along(x, dim, index, index + 1), ctx.shape)


@lower(aten.narrow.default)
def narrow(ctx: Context, x: Array, dim: int, start: int, length: int) -> Array:
    dim %= x.ndim
    start %= x.shape[dim] + 1
    return slice_along(x, dim, start, start + length)


@lower(aten.split.Tensor, aten.split_with_sizes.default)
def split(ctx: Context, x: Array, sizes: Any, dim: int = 0) -> list[Array]:
    dim %= x.ndim
    pieces, start = [], 0
    for out in ctx.out:
        stop = start + shape_of(out)[dim]
        pieces.append(slice_along(x, dim, start, stop))
        start = stop
    return pieces


@lower(aten.unbind.int)
def unbind(ctx: Context, x: Array, dim: int = 0) -> list[Array]:
    dim %= x.ndim
    return [lax.reshape(slice_along(x, dim, i, i + 1), shape_of(out)) for i, out in enumerate(ctx.out)]


@lower(aten.constant_pad_nd.default)
def constant_pad(ctx: Context, x: Array, pad: Sequence[int], value: Any = 0) -> Array:
    config = [(0, 0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        config[x.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1], 0)
    return lax.pad(x, full((), value, x.dtype), config)


@lower(aten.flip.default, prims.rev.default)
def flip(ctx: Context, x: Array, dims: Sequence[int]) -> Array:
    return lax.rev(x, axes(dims, x.ndim)) if len(dims) else x


@lower(aten.roll.default)
def roll(ctx: Context, x: Array, shifts: Any, dims: Any = ()) -> Array:
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    if not dims:
        return lax.reshape(_roll(lax.reshape(x, (x.size,)), 0, shifts[0]), ctx.shape)
    for shift, dim in zip(shifts, axes(dims, x.ndim), strict=True):
        x = _roll(x, dim, shift)
    return x


def _roll(x: Array, dim: int, shift: int) -> Array:
    """Rolls one dimension."""
    size = x.shape[dim]
    cut = (-shift) % size if size else 0
    if not cut:
        return x
    return lax.concatenate([slice_along(x, dim, cut, size), slice_along(x, dim, 0, cut)], dim)


@lower(aten.diagonal.default, aten.diagonal_copy.default)
def diagonal(ctx: Context, x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    dim1, dim2 = dim1 % x.ndim, dim2 % x.ndim
    others = [dim for dim in range(x.ndim) if dim not in (dim1, dim2)]
    x = lax.transpose(x, (*others, dim1, dim2))
    rows, columns = x.shape[-2:]
    length = ctx.shape[-1]
    first = max(offset, 0) + max(-offset, 0) * columns
    flat = lax.reshape(x, (*x.shape[:-2], rows * columns))
    last = flat.ndim - 1
    return slice_along(flat, last, first, min(first + (length - 1) * (columns + 1) + 1, rows * columns), columns + 1)


@lower(aten.diagonal_scatter.default)
def diagonal_scatter(ctx: Context, x: Array, source: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """Writes ``source`` to a diagonal.

    The source is broadcast so that each element stands in its row, or for a negative offset in its column; a select
    then takes the elements on the diagonal.
    """
    dim1, dim2 = dim1 % x.ndim, dim2 % x.ndim
    line = dim1 if offset >= 0 else dim2
    rows, columns = (lax.broadcasted_iota(np.dtype("int32"), x.shape, dim) for dim in (dim1, dim2))
    on_diagonal = lax.eq(lax.sub(columns, rows), full(x.shape, offset, np.dtype("int32")))
    missing = x.shape[line] - source.shape[-1]
    padded = lax.pad(cast(source, x.dtype), full((), 0, x.dtype), [(0, 0, 0)] * (source.ndim - 1) + [(0, missing, 0)])
    others = [dim for dim in range(x.ndim) if dim not in (dim1, dim2)]
    order = sorted(range(source.ndim), key=[*others, line].__getitem__)
    dims = sorted([*others, line])
    return lax.select(on_diagonal, lax.broadcast_in_dim(lax.transpose(padded, order), x.shape, dims), x)


@lower(aten.slice_scatter.default)
def slice_scatter(
    ctx: Context, x: Array, source: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Array:
    dim %= x.ndim
    size = x.shape[dim]
    if _are_numbers(size, start, end):
        start, stop, step = slice(start, end, step).indices(size)
    else:
        start, stop = _edge(start, size, 0), None
    source = cast(source, ctx.dtype)
    count = source.shape[dim]
    if count == size:
        return source
    if count == 0:
        return x
    if step == 1:
        return lax.dynamic_update_slice(x, source, [start if axis == dim else 0 for axis in range(x.ndim)])
    config = [(0, 0, 0)] * x.ndim
    config[dim] = (start, size - start - (count - 1) * step - 1, step - 1)
    spread = lax.pad(source, full((), 0, x.dtype), config)
    if stop is not None:
        written = np.zeros(size, bool)
        written[start:stop:step] = True
    else:
        behind = jnp.arange(size) - start
        written = (behind >= 0) & (behind < count * step) & (behind % step == 0)
    return lax.select(lax.broadcast_in_dim(written, x.shape, (dim,)), spread, x)


@lower(aten.select_scatter.default)
def select_scatter(ctx: Context, x: Array, source: Array, dim: int, index: int) -> Array:
    dim %= x.ndim
    index = index % x.shape[dim]
    if not isinstance(index, int):
        return lax.dynamic_update_slice_in_dim(x, lax.expand_dims(cast(source, x.dtype), (dim,)), index, dim)
    return slice_scatter(ctx, x, lax.expand_dims(source, (dim,)), dim, index, index + 1)


@lower(aten.unfold.default, aten.unfold_copy.default)
def unfold(ctx: Context, x: Array, dim: int, size: int, step: int) -> Array:
    if x.ndim == 0:
        return lax.full((0,), 0, x.dtype) if size == 0 else lax.reshape(x, (1,))
    dim %= x.ndim
    count = ctx.shape[dim]
    if size == 0:
        return lax.full(ctx.shape, 0, x.dtype)
    windows = [
        lax.expand_dims(slice_along(x, dim, i, i + (count - 1) * step + 1, step), (x.ndim,)) for i in range(size)
    ]
    return lax.concatenate(windows, x.ndim)
