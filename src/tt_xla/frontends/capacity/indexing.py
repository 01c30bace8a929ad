"""Rules of primitives that read or write at computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax
from jax.export import is_symbolic_dim
from jax.lax import GatherScatterMode

from tt_xla.frontends.capacity.movement import dynamic_slice_of
from tt_xla.frontends.capacity.rules import rule
from tt_xla.frontends.capacity.values import (
    Factor,
    NoRuleError,
    Padded,
    Padding,
    capacity_of,
    is_exact,
    size_of,
)


@rule("gather")
def gather(
    ctx: Padding,
    primitive: Any,
    outs: Any,
    x: Padded,
    indices: Padded,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: Any,
    **params: Any,
) -> Padded:
    numbers = dimension_numbers
    x, indices = _aligned_batches(ctx, x, indices, numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    indexed = numbers.start_index_map
    for axis in indexed:
        x = ctx.single(x, axis)
    sizes, kept = [], []
    removed = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    for axis, size in enumerate(slice_sizes):
        is_whole = size == size_of(x.dims[axis]) and axis not in removed
        dim = x.dims[axis] if is_whole else ctx.dim(size)
        if not is_exact(dim) and not is_whole:  # a slice may end behind the array
            x = ctx.with_dim(x, axis, (Factor(size_of(x.dims[axis]), x.array.shape[axis] + capacity_of(dim)),))
        sizes.append(capacity_of(dim))
        if axis not in removed:
            kept.append(dim)
    mode = GatherScatterMode.from_any(mode)
    starts, mode = _bounded(ctx, x, indices, indexed, slice_sizes, sizes, mode)
    array = primitive.bind(
        x.array, starts, dimension_numbers=numbers, slice_sizes=tuple(sizes), mode=mode, **_unpromised(params)
    )
    batch = iter(indices.dims[:-1])
    offsets = iter(kept)
    dims = tuple(next(offsets if axis in numbers.offset_dims else batch) for axis in range(array.ndim))
    return Padded(array, dims)


def _unpromised(params: dict[str, Any]) -> dict[str, Any]:
    """Drops promises about indices, which those of the padding need not keep."""
    return params | {"indices_are_sorted": False, "unique_indices": False}


def _aligned_batches(
    ctx: Padding, x: Padded, indices: Padded, of_operand: Sequence[int], of_indices: Sequence[int]
) -> tuple[Padded, Padded]:
    pairs = list(zip(of_operand, of_indices, strict=True))
    x, indices = ctx.aligned([x, indices], pairs) if pairs else (x, indices)
    return x, indices


def _bounded(
    ctx: Padding,
    x: Padded,
    indices: Padded,
    indexed: Sequence[int],
    sizes: Sequence[Any],
    capacities: Sequence[int],
    mode: GatherScatterMode,
) -> tuple[Any, GatherScatterMode]:
    """Returns indices that treat the valid elements as the whole operand, and a mode that is safe for any index."""
    fills = mode == GatherScatterMode.FILL_OR_DROP
    columns = []
    for column, axis in enumerate(indexed):
        index = lax.index_in_dim(indices.array, column, axis=-1)
        if not is_exact(x.dims[axis]):
            zero = lax.full_like(index, 0)
            last = zero + lax.convert_element_type(ctx.length(size_of(x.dims[axis]) - sizes[axis]), index.dtype)
            if fills:
                outside = lax.bitwise_or(lax.lt(index, zero), lax.gt(index, last))
                index = lax.select(outside, lax.full_like(index, x.array.shape[axis] + capacities[axis]), index)
            else:
                index = lax.clamp(zero, index, lax.max(last, zero))
        columns.append(index)
    starts = lax.concatenate(columns, indices.array.ndim - 1) if columns else indices.array
    return starts, GatherScatterMode.FILL_OR_DROP if fills else GatherScatterMode.CLIP


@rule(
    "scatter",
    "scatter-add",
    "scatter-mul",
    "scatter-min",
    "scatter-max",
    "scatter_add",
    "scatter_mul",
    "scatter_min",
    "scatter_max",
)
def scatter(
    ctx: Padding,
    primitive: Any,
    outs: Any,
    x: Padded,
    indices: Padded,
    updates: Padded,
    *,
    dimension_numbers: Any,
    mode: Any,
    **params: Any,
) -> Padded:
    numbers = dimension_numbers
    x, indices = _aligned_batches(ctx, x, indices, numbers.operand_batching_dims, numbers.scatter_indices_batching_dims)
    indexed = numbers.scatter_dims_to_operand_dims
    for axis in indexed:
        x = ctx.single(x, axis)
    # Windows of the updates are as the operand's dimensions, and its other dimensions as those of the indices.
    removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = iter(axis for axis in range(len(x.dims)) if axis not in removed)
    batches = iter(range(len(indices.dims) - 1))
    sizes: list[Any] = [1] * len(x.dims)
    for axis in range(len(updates.dims)):
        if axis in numbers.update_window_dims:
            target = next(windows)
            size = size_of(updates.dims[axis])
            sizes[target] = size
            if size == size_of(x.dims[target]):
                x, updates = ctx.aligned([x, updates], [(target, axis)])
            elif not is_exact(updates.dims[axis]):
                raise NoRuleError("The size of slices that are written changes from call to call.")
        else:
            indices, updates = ctx.aligned([indices, updates], [(next(batches), axis)])
    capacities = [capacity_of(x.dims[axis]) if is_symbolic_dim(size) else int(size) for axis, size in enumerate(sizes)]
    starts, _ = _bounded(ctx, x, indices, indexed, sizes, capacities, GatherScatterMode.from_any(mode))
    if GatherScatterMode.from_any(mode) != GatherScatterMode.FILL_OR_DROP:
        starts = _clipped(x, starts, indexed, capacities)
    if any(axis < len(indices.dims) - 1 for axis in indices.padded_axes):  # updates of the padding are dropped
        if not indexed:
            raise NoRuleError("Updates without indices are written where sizes change from call to call.")
        beyond = lax.full_like(starts, max(x.array.shape) + max(capacities))
        starts = lax.select(ctx.valid(Padded(starts, indices.dims), indices.padded_axes), starts, beyond)
    updates = ctx.filled(updates, 0)  # a compiler may multiply what is dropped by 0
    array = primitive.bind(
        x.array,
        starts,
        updates.array,
        dimension_numbers=numbers,
        mode=GatherScatterMode.FILL_OR_DROP,
        **_unpromised(params),
    )
    return Padded(array, x.dims)


def _clipped(x: Padded, starts: Any, indexed: Sequence[int], capacities: Sequence[int]) -> Any:
    """Returns starts within the operand, for a mode that does not drop what is outside."""
    last = np.asarray([x.array.shape[axis] - capacities[axis] for axis in indexed], starts.dtype)
    limit = lax.broadcast_in_dim(last, starts.shape, (starts.ndim - 1,))
    return lax.clamp(lax.full_like(starts, 0), starts, limit)


@rule("dynamic_slice")
def dynamic_slice(ctx: Padding, primitive: Any, outs: Any, x: Padded, *starts: Padded, slice_sizes: Any) -> Padded:
    for axis, size in enumerate(slice_sizes):
        whole = size_of(x.dims[axis])
        if size == whole:
            continue
        x = ctx.single(x, axis)
        x = dynamic_slice_of(ctx, x, axis, _start(ctx, starts[axis], whole - size), ctx.dim(size))
    return x


def _start(ctx: Padding, start: Padded, last: Any) -> Any:
    """Returns a start as an i32 within a dimension's valid elements."""
    index = lax.convert_element_type(start.array, np.int32)
    return lax.clamp(np.int32(0), index, lax.max(np.int32(0), lax.convert_element_type(ctx.length(last), np.int32)))


@rule("dynamic_update_slice")
def dynamic_update_slice(ctx: Padding, primitive: Any, outs: Any, x: Padded, update: Padded, *starts: Padded) -> Any:
    indices: list[Any] = []
    grown = list(x.dims)
    for axis, dim in enumerate(x.dims):
        whole, size = size_of(dim), size_of(update.dims[axis])
        if size == whole:
            x, update = ctx.aligned([x, update], [(axis, axis)])
            grown[axis] = x.dims[axis]
            indices.append(np.int32(0))
            continue
        x, update = ctx.single(x, axis), ctx.single(update, axis)
        indices.append(_start(ctx, starts[axis], whole - size))
        room = x.array.shape[axis] if is_exact(update.dims[axis]) else x.array.shape[axis] + update.array.shape[axis]
        grown[axis] = (Factor(whole, room),)
    dims, partial = (
        x.dims,
        [axis for axis in update.padded_axes if capacity_of(grown[axis]) != capacity_of(x.dims[axis])],
    )
    for axis in partial:
        x = ctx.with_dim(x, axis, grown[axis])
    if partial:
        before = lax.dynamic_slice(x.array, indices, update.array.shape)
        update = Padded(lax.select(ctx.valid(update, partial), update.array, before), update.dims)
    array = lax.dynamic_update_slice(x.array, update.array, indices)
    array = lax.slice(array, [0] * array.ndim, [capacity_of(dim) for dim in dims])
    keeps = x.fill if is_exact_beside(update, partial) or _alike(x, update) else None
    return Padded(array, dims, keeps)


def is_exact_beside(update: Padded, partial: Sequence[int]) -> bool:
    """Returns whether an update has padding only where what was there before stays."""
    return all(axis in partial for axis in update.padded_axes)


def _alike(x: Padded, update: Padded) -> bool:
    return x.fill is not None and update.fill is not None and repr(x.fill) == repr(update.fill)
