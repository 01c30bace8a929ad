"""Ops that read or write at positions given by a tensor. Rules assume positions within bounds; ``index_checks.py``
checks them before a program runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.reductions import scan, total
from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, cast, full, like, lower, spread

aten = torch.ops.aten
_IN_BOUNDS = lax.GatherScatterMode.PROMISE_IN_BOUNDS


def _take_rows(table: Array, positions: Array) -> Array:
    """Returns ``table[positions]`` for positions of any shape."""
    rows = tuple(range(positions.ndim, positions.ndim + table.ndim - 1))
    numbers = lax.GatherDimensionNumbers(offset_dims=rows, collapsed_slice_dims=(0,), start_index_map=(0,))
    sizes = (1, *table.shape[1:])
    return lax.gather(table, lax.expand_dims(positions, (positions.ndim,)), numbers, sizes, mode=_IN_BOUNDS)


def _wrapped(positions: Array, size: int) -> Array:
    """Returns positions as non-negative numbers; a negative one counts from the end."""
    negative = lax.lt(positions, like(positions, 0))
    return lax.select(negative, lax.add(positions, like(positions, size)), positions)


@lower(aten.embedding.default)
def embedding(
    ctx: Context,
    table: Array,
    positions: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    return _take_rows(table, positions)


@lower(aten.embedding_dense_backward.default)
def embedding_backward(
    ctx: Context, grad: Array, positions: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    if scale_grad_by_freq:
        ctx.unsupported("with scale_grad_by_freq")
    flat = lax.reshape(positions, (positions.size,))
    rows = lax.reshape(grad, (positions.size, grad.shape[-1]))
    if padding_idx >= 0:
        skipped = lax.broadcast_in_dim(lax.eq(flat, like(flat, padding_idx)), rows.shape, (0,))
        rows = lax.select(skipped, like(rows, 0), rows)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    zeros = full((count, rows.shape[1]), 0, rows.dtype)
    return lax.scatter_add(zeros, lax.expand_dims(flat, (1,)), rows, numbers, mode=_IN_BOUNDS)


@lower(aten.take.default)
def take(ctx: Context, x: Array, positions: Array) -> Array:
    return _take_rows(lax.reshape(x, (x.size,)), _wrapped(positions, x.size))


@lower(aten.index_select.default)
def index_select(ctx: Context, x: Array, dim: int, positions: Array) -> Array:
    if x.ndim == 0:
        return x
    dim %= x.ndim
    sizes = tuple(1 if i == dim else size for i, size in enumerate(x.shape))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(i for i in range(x.ndim) if i != dim), collapsed_slice_dims=(dim,), start_index_map=(dim,)
    )
    return lax.reshape(
        lax.gather(x, lax.reshape(positions, (positions.size, 1)), numbers, sizes, mode=_IN_BOUNDS), ctx.shape
    )


def _position_mask(x: Array, dim: int, positions: Array) -> Array:
    """Returns a mask of ``x``'s shape that is true at the one position of each line along a dimension."""
    line = lax.broadcasted_iota(positions.dtype, x.shape, dim)
    return lax.eq(line, broadcast(positions, x.shape))


def _lines_match(x: Array, dim: int, positions: Array) -> bool:
    """Returns whether there is exactly one position for each line of ``x`` along a dimension."""
    return positions.ndim == x.ndim and all(
        positions.shape[i] == (1 if i == dim else x.shape[i]) for i in range(x.ndim)
    )


def _coordinates(positions: Array, dim: int) -> Array:
    """Returns the coordinates that each element of ``positions`` points at, [*shape, dimensions].

    They are the element's own coordinates, except along ``dim``.
    """
    axes = [
        positions if i == dim else lax.broadcasted_iota(positions.dtype, positions.shape, i)
        for i in range(positions.ndim)
    ]
    return lax.concatenate([lax.expand_dims(axis, (positions.ndim,)) for axis in axes], positions.ndim)


@lower(aten.gather.default)
def gather(ctx: Context, x: Array, dim: int, positions: Array, *, sparse_grad: bool = False) -> Array:
    if not positions.size:  # positions without elements may have any rank
        return full(ctx.shape, 0, x.dtype)
    if x.ndim == 0:
        return broadcast(x, ctx.shape)
    dim %= x.ndim
    if _lines_match(x, dim, positions) and x.dtype != np.bool_:
        selected = lax.select(_position_mask(x, dim, positions), x, like(x, 0))
        return lax.expand_dims(total(selected, (dim,)), (dim,))
    dims = tuple(range(x.ndim))
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=dims, start_index_map=dims)
    return lax.gather(x, _coordinates(positions, dim), numbers, (1,) * x.ndim, mode=_IN_BOUNDS)


def combine_at(x: Array, dim: int, positions: Array, updates: Array, combine: Any) -> Array:
    """Returns ``x`` with ``updates`` combined into positions along a dimension.

    Args:
        combine: JAX's scatter op, such as ``lax.scatter_add``.
    """
    shape = x.shape
    if not positions.size:  # positions without elements may have any rank
        return x
    if x.ndim == 0:
        x, positions, updates = (lax.reshape(value, (1,)) for value in (x, positions, updates))
    dim %= x.ndim
    dims = tuple(range(x.ndim))
    updates = lax.slice(updates, [0] * updates.ndim, positions.shape) if updates.shape != positions.shape else updates
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=dims, scatter_dims_to_operand_dims=dims
    )
    result = combine(x, _coordinates(positions, dim), cast(updates, x.dtype), numbers, mode=_IN_BOUNDS)
    return lax.reshape(result, shape)


@lower(aten.scatter.value)
def scatter_value(ctx: Context, x: Array, dim: int, positions: Array, value: Any) -> Array:
    if x.ndim and _lines_match(x, dim % x.ndim, positions):
        return lax.select(_position_mask(x, dim % x.ndim, positions), like(x, value), x)
    return combine_at(x, dim, positions, full(positions.shape, value, x.dtype), lax.scatter)


@lower(aten.scatter.src)
def scatter(ctx: Context, x: Array, dim: int, positions: Array, source: Array) -> Array:
    return combine_at(x, dim, positions, source, lax.scatter)


@lower(aten.scatter_add.default)
def scatter_add(ctx: Context, x: Array, dim: int, positions: Array, source: Array) -> Array:
    if x.ndim and _lines_match(x, dim % x.ndim, positions) and source.shape == positions.shape:
        added = lax.select(_position_mask(x, dim % x.ndim, positions), broadcast(source, x.shape), like(x, 0))
        return lax.bitwise_or(x, added) if x.dtype == np.bool_ else lax.add(x, added)
    # The sum of booleans is their disjunction.
    return combine_at(x, dim, positions, source, lax.scatter_max if x.dtype == np.bool_ else lax.scatter_add)


_MASKS = (np.bool_, np.uint8)
"""Dtypes of indices that are masks; PyTorch takes numbers of 8 bits without a sign for one too."""


class _Points:
    """The positions of an expression such as ``x[i, :, j]``.

    Attributes:
        dims: Indexed dimensions of ``x``.
        rest: The other dimensions of ``x``.
        shape: Shape of the broadcast positions.
        coordinates: Non-negative positions in the indexed dimensions, [*shape, indexed dimensions].
        place: Dimension of the result at which the dimensions of ``shape`` begin.
    """

    def __init__(self, ctx: Context, x: Array, positions: Sequence[Array | None]) -> None:
        indexed = [(dim, index) for dim, index in enumerate(positions) if index is not None]
        if any(index.dtype in _MASKS for _, index in indexed):
            ctx.unsupported("with a mask, as the result's size depends on its values")
        self.dims = [dim for dim, _ in indexed]
        self.rest = [dim for dim in range(x.ndim) if dim not in self.dims]
        self.shape = lax.broadcast_shapes(*(index.shape for _, index in indexed))
        wide = np.dtype("int64") if any(index.dtype.itemsize == 8 for _, index in indexed) else np.dtype("int32")
        columns = [
            lax.expand_dims(broadcast(_wrapped(cast(index, wide), x.shape[dim]), self.shape), (len(self.shape),))
            for dim, index in indexed
        ]
        self.coordinates = columns[0] if len(columns) == 1 else lax.concatenate(columns, len(self.shape))
        adjacent = self.dims == list(range(self.dims[0], self.dims[-1] + 1))
        # The positions' dimensions replace the indexed ones, or come first if those are not adjacent.
        self.place = self.dims[0] if adjacent else 0

    @property
    def windows(self) -> tuple[int, ...]:
        """Dimensions of the result that are not the positions'."""
        count = len(self.shape)
        return tuple(i if i < self.place else i + count for i in range(len(self.rest)))

    @property
    def indexed(self) -> tuple[int, ...]:
        """Indexed dimensions of ``x`` as a tuple, as JAX's dimension numbers take them."""
        return tuple(self.dims)


@lower(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(ctx: Context, x: Array, positions: Sequence[Array | None]) -> Array:
    points = _Points(ctx, x, positions)
    sizes = tuple(1 if dim in points.dims else size for dim, size in enumerate(x.shape))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=points.windows, collapsed_slice_dims=points.indexed, start_index_map=points.indexed
    )
    return lax.gather(x, points.coordinates, numbers, sizes, mode=_IN_BOUNDS)


@lower(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    ctx: Context, x: Array, positions: Sequence[Array | None], values: Array, accumulate: bool = False
) -> Array:
    if len(positions) == 1 and positions[0] is not None and positions[0].dtype in _MASKS and values.size == 1:
        mask = lax.broadcast_in_dim(cast(positions[0], np.bool_), x.shape, range(positions[0].ndim))
        value = spread(lax.reshape(values, ()), x.shape, x.dtype)
        return lax.select(mask, lax.add(x, value) if accumulate else value, x)
    points = _Points(ctx, x, positions)
    rest_sizes = [x.shape[dim] for dim in points.rest]
    shape = (*rest_sizes[: points.place], *points.shape, *rest_sizes[points.place :])
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=points.windows,
        inserted_window_dims=points.indexed,
        scatter_dims_to_operand_dims=points.indexed,
    )
    updates = spread(values, shape, x.dtype)
    if accumulate and x.dtype == np.bool_:  # the sum of booleans is their disjunction
        return lax.scatter_max(x, points.coordinates, updates, numbers, mode=_IN_BOUNDS)
    combine = lax.scatter_add if accumulate else lax.scatter
    return combine(x, points.coordinates, updates, numbers, mode=_IN_BOUNDS)


@lower(aten.masked_scatter.default)
def masked_scatter(ctx: Context, x: Array, mask: Array, source: Array) -> Array:
    """Replaces the elements under a mask by those of the source in order; whole rows if the mask selects whole rows."""
    mask = cast(mask, np.dtype(bool))
    shape = lax.broadcast_shapes(x.shape, mask.shape)
    mask = lax.reshape(mask, (1,) * (len(shape) - mask.ndim) + tuple(mask.shape))
    row_dims = 0  # trailing dimensions that the mask selects as a whole
    while row_dims < len(shape) and mask.shape[-1 - row_dims] == 1:
        row_dims += 1
    width = math.prod(shape[len(shape) - row_dims :])
    if not source.size or not width or source.size % width:
        row_dims, width = 0, 1
    if not source.size or not math.prod(shape):
        return broadcast(x, shape)
    mask_shape = shape[: len(shape) - row_dims]
    flags = lax.reshape(broadcast(mask, (*mask_shape, *(1,) * row_dims)), (math.prod(mask_shape),))
    source_rows = lax.sub(scan(cast(flags, np.dtype("int32")), 0, lax.add, 0), full(flags.shape, 1, np.dtype("int32")))
    rows = source.size // width
    source_rows = lax.clamp(np.int32(0), source_rows, np.int32(rows - 1))
    replacements = _take_rows(lax.reshape(source, (rows, width)), source_rows)
    return lax.select(broadcast(mask, shape), lax.reshape(replacements, shape), broadcast(x, shape))
