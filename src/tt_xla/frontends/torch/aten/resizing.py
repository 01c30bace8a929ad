"""Resizing of images: products with matrices of weights, which the matrix unit does, instead of gathers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.matmul import product
from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, cast, lower, wide

aten = torch.ops.aten


def _resize(x: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Each output row and column as a weighted sum of input ones."""
    batch, dtype = x.shape[:-2], wide(x.dtype)
    result = product(cast(x, dtype), broadcast(columns.T.astype(dtype), (*batch, *columns.T.shape)))
    return cast(product(broadcast(rows.astype(dtype), (*batch, *rows.shape)), result), x.dtype)


def _nearest(size: int, count: int, scale: float | None) -> np.ndarray:
    step = np.float32(1 / scale if scale else size / count)
    source = np.minimum((np.arange(count, dtype=np.float32) * step).astype(int), size - 1)
    return np.eye(size)[source]


def _bilinear(size: int, count: int, align_corners: bool, scale: float | None) -> np.ndarray:
    if align_corners:
        position = np.arange(count) * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        position = np.maximum((np.arange(count) + 0.5) * (1 / scale if scale else size / count) - 0.5, 0)
    low = np.minimum(position.astype(int), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = (position - low)[:, None]
    return np.eye(size)[low] * (1 - share) + np.eye(size)[high] * share


@lower(aten.upsample_nearest2d.default)
def upsample_nearest2d(
    ctx: Context, x: Array, size: Sequence[int], scale_h: float | None = None, scale_w: float | None = None
) -> Array:
    """Whole factors repeat elements."""
    batch, (height, width), (rows, columns) = x.shape[:-2], x.shape[-2:], ctx.shape[-2:]
    if rows % height == 0 and columns % width == 0:
        split = (*batch, height, rows // height, width, columns // width)
        kept = (*range(len(batch)), len(batch), len(batch) + 2)
        return lax.reshape(lax.broadcast_in_dim(x, split, kept), ctx.shape)
    return _resize(x, _nearest(height, rows, scale_h), _nearest(width, columns, scale_w))


@lower(aten.upsample_nearest2d_backward.default)
def upsample_nearest2d_backward(
    ctx: Context,
    grad: Array,
    size: Sequence[int],
    input_size: Sequence[int],
    scale_h: float | None = None,
    scale_w: float | None = None,
) -> Array:
    (height, width), (rows, columns) = ctx.shape[-2:], grad.shape[-2:]
    return _resize(grad, _nearest(height, rows, scale_h).T, _nearest(width, columns, scale_w).T)


@lower(aten.upsample_bilinear2d.default)
def upsample_bilinear2d(
    ctx: Context,
    x: Array,
    size: Sequence[int],
    align_corners: bool,
    scale_h: float | None = None,
    scale_w: float | None = None,
) -> Array:
    (height, width), (rows, columns) = x.shape[-2:], ctx.shape[-2:]
    vertical = _bilinear(height, rows, align_corners, scale_h)
    return _resize(x, vertical, _bilinear(width, columns, align_corners, scale_w))


@lower(aten.upsample_bilinear2d_backward.default)
def upsample_bilinear2d_backward(
    ctx: Context,
    grad: Array,
    size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    scale_h: float | None = None,
    scale_w: float | None = None,
) -> Array:
    (height, width), (rows, columns) = ctx.shape[-2:], grad.shape[-2:]
    vertical = _bilinear(height, rows, align_corners, scale_h).T
    return _resize(grad, vertical, _bilinear(width, columns, align_corners, scale_w).T)
