"""``as_strided``: elements of a tensor's memory by steps that the device has; a gather only where there are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, lower
from tt_xla.frontends.torch.device.geometry import View, find_view, memory_order, storage_elements

aten = torch.ops.aten

_MOST_PARTS = 64
"""Overlapping windows that are cut out one by one; more are gathered."""


@lower(aten.as_strided.default)
def as_strided(
    ctx: Context, x: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Array:
    base = ctx.node.args[0].meta["val"]  # type: ignore[union-attr]
    order = memory_order(base.shape, base.stride())
    first = int(base.storage_offset())
    offset = (first if storage_offset is None else storage_offset) - first
    if order is None or offset < 0 or storage_elements(size, stride, offset) > x.size:
        ctx.unsupported("where it reaches beyond the elements of the tensor that it is given")
    if 0 in ctx.shape:
        return lax.full(ctx.shape, 0, x.dtype)
    memory = lax.transpose(x, order)
    strides = tuple(stride)
    view = find_view(memory.shape, ctx.shape, strides, offset)
    if view is not None:
        return _taken(memory, view)
    for dim in sorted(range(len(strides)), key=ctx.shape.__getitem__):
        windows = _windows(memory.shape, ctx.shape, strides, offset, dim)
        if windows:
            return lax.concatenate([lax.expand_dims(_taken(memory, window), (dim,)) for window in windows], dim)
    return _gathered(memory, ctx.shape, strides, offset)


def _windows(
    base: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, ...], offset: int, dim: int
) -> list[View]:
    """The parts of a view along one dimension as views of their own; none where they are not, or are many."""
    if not 1 < size[dim] <= _MOST_PARTS:
        return []
    one, steps = size[:dim] + size[dim + 1 :], stride[:dim] + stride[dim + 1 :]
    views = [find_view(base, one, steps, offset + i * stride[dim]) for i in range(size[dim])]
    return [view for view in views if view is not None] if None not in views else []


def _taken(x: Array, view: View) -> Array:
    x = lax.reshape(x, view.lengths)
    for part in view.parts:
        x = lax.slice_in_dim(x, part.start, part.stop, part.step, part.dim)
    x = lax.transpose(lax.reshape(x, view.kept), view.order)
    return broadcast(lax.reshape(x, view.unexpanded), view.size)


def _gathered(x: Array, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Array:
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
