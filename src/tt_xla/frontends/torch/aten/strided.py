"""``as_strided`` as reshapes, slices and transposes of a tensor's memory where possible, and as a gather otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, lower
from tt_xla.frontends.torch.device.geometry import View, find_view, memory_order, storage_elements

aten = torch.ops.aten

_MAX_WINDOWS = 64
"""Number of overlapping windows up to which each is sliced by itself; more are gathered in one op."""


@lower(aten.as_strided.default)
def as_strided(
    ctx: Context, x: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Array:
    base = ctx.node.args[0].meta["val"]  # type: ignore[union-attr]
    order = memory_order(base.shape, base.stride())
    first = int(base.storage_offset())
    offset = (first if storage_offset is None else storage_offset) - first
    if order is None or offset < 0 or storage_elements(size, stride, offset) > x.size:
        ctx.unsupported("with positions beyond the elements of its input")
    if 0 in ctx.shape:
        return lax.full(ctx.shape, 0, x.dtype)
    memory = lax.transpose(x, order)
    strides = tuple(stride)
    view = find_view(memory.shape, ctx.shape, strides, offset)
    if view is not None:
        return _viewed(memory, view)
    for dim in sorted(range(len(strides)), key=ctx.shape.__getitem__):
        windows = _windows(memory.shape, ctx.shape, strides, offset, dim)
        if windows:
            return lax.concatenate([lax.expand_dims(_viewed(memory, window), (dim,)) for window in windows], dim)
    return _gathered(memory, ctx.shape, strides, offset)


def _windows(
    base: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, ...], offset: int, dim: int
) -> list[View]:
    """Returns a view of each position along one dimension; no views if one does not exist or they are too many."""
    if not 1 < size[dim] <= _MAX_WINDOWS:
        return []
    window_size, window_stride = size[:dim] + size[dim + 1 :], stride[:dim] + stride[dim + 1 :]
    views = [find_view(base, window_size, window_stride, offset + i * stride[dim]) for i in range(size[dim])]
    return [view for view in views if view is not None] if None not in views else []


def _viewed(x: Array, view: View) -> Array:
    """Returns a view of an array by reshapes, slices and a transpose."""
    x = lax.reshape(x, view.lengths)
    for cut in view.slices:
        x = lax.slice_in_dim(x, cut.start, cut.stop, cut.step, cut.dim)
    x = lax.transpose(lax.reshape(x, view.large_sizes), view.order)
    return broadcast(lax.reshape(x, view.unexpanded), view.size)


def _gathered(x: Array, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Array:
    """Returns elements by strides and an offset, with one gather."""
    positions = np.full(size, offset, np.int64)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        positions += (np.arange(count) * step).reshape([-1 if i == dim else 1 for i in range(len(size))])
    return lax.gather(
        lax.reshape(x, (x.size,)),
        positions[..., None],
        lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)),
        slice_sizes=(1,),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )
