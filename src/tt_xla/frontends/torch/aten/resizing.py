"""Resizing of images by products with matrices of weights, which the matrix unit computes faster than gathers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.matmul import product
from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, cast, lower, wide

aten = torch.ops.aten


def _resize(x: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Returns images whose rows and columns are weighted sums of input rows and columns.

    Args:
        x: Images, [..., height, width].
        rows: Weights, [output height, height].
        columns: Weights, [output width, width].
    """
    batch, dtype = x.shape[:-2], wide(x.dtype)
    result = product(cast(x, dtype), broadcast(columns.T.astype(dtype), (*batch, *columns.T.shape)))
    return cast(product(broadcast(rows.astype(dtype), (*batch, *rows.shape)), result), x.dtype)


def _nearest(size: int, count: int, scale: float | None) -> np.ndarray:
    """Returns the nearest input of each output. Like PyTorch, ignores a scale that keeps or doubles a size."""
    step = np.float32(1 / scale if scale and count not in (size, 2 * size) else size / count)
    return np.minimum((np.arange(count, dtype=np.float32) * step).astype(int), size - 1)


def _repeats(size: int, sources: np.ndarray) -> bool:
    """Returns whether each input becomes equally many outputs."""
    return len(sources) % size == 0 and np.array_equal(sources, np.arange(size).repeat(len(sources) // size))


def _step(size: int, count: int, align_corners: bool, scale: float | None) -> float:
    """Returns the distance of two outputs, in inputs."""
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return 1 / scale if scale else size / count


def _bilinear(size: int, count: int, align_corners: bool, scale: float | None) -> np.ndarray:
    """Returns the weights [count, size] that interpolate linearly between the two nearest inputs."""
    step = _step(size, count, align_corners, scale)
    position = np.arange(count) * step if align_corners else np.maximum((np.arange(count) + 0.5) * step - 0.5, 0)
    low = np.minimum(position.astype(int), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = (position - low)[:, None]
    return np.eye(size)[low] * (1 - share) + np.eye(size)[high] * share


@lower(aten.upsample_nearest2d.default)
def upsample_nearest2d(
    ctx: Context, x: Array, size: Sequence[int], scale_h: float | None = None, scale_w: float | None = None
) -> Array:
    """Repeats elements where both sizes grow by whole factors, and multiplies by weights otherwise."""
    batch, (height, width), (rows, columns) = x.shape[:-2], x.shape[-2:], ctx.shape[-2:]
    row_sources, column_sources = _nearest(height, rows, scale_h), _nearest(width, columns, scale_w)
    if _repeats(height, row_sources) and _repeats(width, column_sources):
        split = (*batch, height, rows // height, width, columns // width)
        dims = (*range(len(batch)), len(batch), len(batch) + 2)
        return lax.reshape(lax.broadcast_in_dim(x, split, dims), ctx.shape)
    return _resize(x, np.eye(height)[row_sources], np.eye(width)[column_sources])


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
    row_sources, column_sources = _nearest(height, rows, scale_h), _nearest(width, columns, scale_w)
    return _resize(grad, np.eye(height)[row_sources].T, np.eye(width)[column_sources].T)


def _triangle(x: np.ndarray) -> np.ndarray:
    """Returns the weights of linear interpolation by distance."""
    return np.maximum(1 - x, 0)


def _cubic(x: np.ndarray) -> np.ndarray:
    """Returns the weights of cubic interpolation by distance."""
    a = -0.5  # the constant of torch's antialiased filter
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _smooth(
    kernel: Callable[[np.ndarray], np.ndarray],
    reach: int,
    size: int,
    count: int,
    align_corners: bool,
    scale: float | None,
) -> np.ndarray:
    """Returns weights [count, size] that average the inputs within ``reach`` of each output.

    The weight of an input is ``kernel`` of its distance. Distances count inputs where the image grows, and outputs
    where it shrinks.
    """
    step = _step(size, count, align_corners, scale)
    stretch = max(step, 1.0)
    centres, inputs = step * (np.arange(count) + 0.5), np.arange(size)
    first = np.maximum((centres - reach * stretch + 0.5).astype(int), 0)
    end = np.minimum((centres + reach * stretch + 0.5).astype(int), size)
    inside = (inputs >= first[:, None]) & (inputs < end[:, None])
    weights = np.where(inside, kernel(np.abs(inputs - centres[:, None] + 0.5) / stretch), 0)
    return weights / weights.sum(1, keepdims=True)


def _lower_resizing(op: str, weights: Callable[[int, int, bool, float | None], np.ndarray]) -> None:
    """Registers rules for ``op`` and its gradient, which multiplies by the transposed ``weights`` [outputs, inputs]."""

    @lower(getattr(aten, op).default)
    def forward(
        ctx: Context,
        x: Array,
        size: Sequence[int],
        align_corners: bool,
        scale_h: float | None = None,
        scale_w: float | None = None,
    ) -> Array:
        if np.issubdtype(x.dtype, np.integer):
            ctx.unsupported("for integers, for which PyTorch rounds the weights")
        (height, width), (rows, columns) = x.shape[-2:], ctx.shape[-2:]
        vertical = weights(height, rows, align_corners, scale_h)
        return _resize(x, vertical, weights(width, columns, align_corners, scale_w))

    @lower(getattr(aten, f"{op}_backward").default)
    def backward(
        ctx: Context,
        grad: Array,
        size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        scale_h: float | None = None,
        scale_w: float | None = None,
    ) -> Array:
        (height, width), (rows, columns) = ctx.shape[-2:], grad.shape[-2:]
        vertical = weights(height, rows, align_corners, scale_h).T
        return _resize(grad, vertical, weights(width, columns, align_corners, scale_w).T)


_lower_resizing("upsample_bilinear2d", _bilinear)
_lower_resizing("_upsample_bilinear2d_aa", partial(_smooth, _triangle, 1))
_lower_resizing("_upsample_bicubic2d_aa", partial(_smooth, _cubic, 2))
