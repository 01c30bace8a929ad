"""Max, average and adaptive pooling, and their gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from jax.export import is_symbolic_dim

from tt_xla.frontends.torch.aten.matmul import product
from tt_xla.frontends.torch.aten.reductions import average, maximum
from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, cast, full, like, lower, wide
from tt_xla.ir import shapes

aten = torch.ops.aten


_MAX_UNROLLED_TAPS = 16
"""Elements of a window up to which its gradient is computed element by element; larger windows take one op for all."""

_EXACT_IN_BFLOAT16 = 256
"""Integer up to which bfloat16 holds every integer."""


class _Window:
    """Positions of the windows of a pooling op over the last ``rank`` dimensions.

    Attributes:
        rank: Number of pooled dimensions; each list below has one item for each.
        kernel: Elements of a window.
        stride: Distance of two windows, in elements.
        padding: Elements of padding on each side.
        dilation: Distance of two elements of a window.
        sizes: Input sizes.
        counts: Number of windows.
        outer: Number of dimensions before the pooled ones.
        is_within_padding: Whether no window reaches beyond the padding, as the last one may with ``ceil_mode``.
        taps: Elements of the kernel, without those that lie in the padding for every window.
        edges: Padding before and after, as far as the elements of ``taps`` reach.
    """

    def __init__(
        self,
        in_shape: Sequence[int],
        out_shape: Sequence[int],
        kernel: Any,
        stride: Any,
        padding: Any,
        dilation: Any = 1,
        *,
        rank: int,
    ) -> None:
        self.rank = rank
        self.kernel = _per_dimension(kernel, rank)
        self.stride = _per_dimension(stride, rank) or self.kernel
        self.padding = _per_dimension(padding, rank)
        self.dilation = _per_dimension(dilation, rank)
        self.sizes = list(in_shape[-rank:])
        self.counts = list(out_shape[-rank:])
        self.outer = len(in_shape) - rank
        reach = [
            (count - 1) * step + spread * (size - 1) + 1
            for count, step, spread, size in zip(self.counts, self.stride, self.dilation, self.kernel, strict=True)
        ]
        # With ceil_mode the last window may extend beyond the padding.
        after = [
            _padding_after(size, pad, end, step)
            for size, pad, end, step in zip(self.sizes, self.padding, reach, self.stride, strict=True)
        ]
        windows = map(shapes.Window, self.kernel, self.stride, self.padding, after, self.dilation)
        inside = [
            window if is_symbolic_dim(size) else window.within(size)
            for window, size in zip(windows, self.sizes, strict=True)
        ]
        self.is_within_padding = after == self.padding
        self.taps = [window.kernel for window in inside]
        self.edges = [(window.low, window.high) for window in inside]

    def lines(self, axis: int, tap: int, first: int | None = None) -> Any:
        """Returns where an element of each window lies along one of the pooled dimensions.

        Args:
            axis: number of the pooled dimension.
            tap: number of the element, counted from the first one of ``taps``.
            first: position of the first window; by default that of its first element of ``taps``.

        Returns:
            The positions in the input, negative in the padding, as int64[1, ..., counts[axis], ..., 1].
        """
        count = self.counts[axis]
        positions = jnp.arange(count, dtype=np.int64) if is_symbolic_dim(count) else np.arange(count)
        positions = tap + (-self.edges[axis][0] if first is None else first) + positions * self.stride[axis]
        return positions.reshape([count if i == axis else 1 for i in range(self.rank)])

    def reduce(self, x: Array, start: Any, combine: Any) -> Array:
        """Returns the combination of each window's elements, starting from ``start``."""
        ones = [1] * self.outer
        return lax.reduce_window(
            x,
            np.array(start, x.dtype),  # JAX differentiates window reductions that start from a constant
            combine,
            ones + self.taps,
            ones + self.stride,
            [(0, 0)] * self.outer + self.edges,
            window_dilation=ones + self.dilation,
        )


def _padding_after(size: Any, pad: int, end: Any, step: int) -> Any:
    """Returns the padding behind a dimension whose last window reaches to ``end``, counted from the padding before it.

    A symbolic size gets exactly what the windows reach over, where that is not the padding for all values.
    """
    if not is_symbolic_dim(size):
        return max(pad, end - size - pad)
    return pad if (size + 2 * pad - end) // step == 0 else end - size - pad


def _per_dimension(values: Any, rank: int) -> list[int]:
    """Returns one value for each dimension; a single value stands for all dimensions."""
    values = [values] if isinstance(values, int) else [*values]
    return values * rank if len(values) == 1 else values


def _lowest(dtype: np.dtype) -> Any:
    """Returns the least value of a dtype, the neutral element of a maximum."""
    return -math.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def _max_pool(
    ctx: Context, x: Array, rank: int, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1
) -> list[Array | None]:
    """Returns maxima and their positions; None for a result that the graph does not read."""
    window = _Window(x.shape, ctx.shape, kernel, stride, padding, dilation, rank=rank)
    if ctx.used(1) and rank == 2 and x.ndim == 4 and x.dtype == jnp.bfloat16:
        return list(_pooled_with_positions(x, window, ctx.shape))
    values = window.reduce(x, _lowest(x.dtype), lax.max) if ctx.used(0) else None
    return [values, _max_positions(x, window, ctx.shape) if ctx.used(1) else None]


def _pooled_with_positions(x: Array, window: _Window, shape: tuple[int, ...]) -> Sequence[Array]:
    """Returns maxima and positions by the chip's op that computes both, which takes bfloat16."""

    def decomposition(x: Array, **_: Any) -> tuple[Array, Array]:
        return window.reduce(x, _lowest(x.dtype), lax.max), _max_positions(x, window, shape)

    geometry = {
        "kernel": window.taps,
        "stride": window.stride,
        "dilation": window.dilation,
        "padding": [low for low, _ in window.edges] + [high for _, high in window.edges],
    }
    arrays = {name: np.asarray(values, np.int64) for name, values in geometry.items()}
    return lax.composite(decomposition, "tenstorrent.max_pool2d_with_indices")(x, **arrays)


def _max_positions(x: Array, window: _Window, shape: tuple[int, ...]) -> Array:
    """Returns the flat position of each window's first maximum within the pooled dimensions.

    Each element of the window is one strided slice; the first element that is greater than those before it wins.
    """
    config = [(0, 0, 0)] * window.outer + [(low, high, 0) for low, high in window.edges]
    padded = lax.pad(x, full((), _lowest(x.dtype), x.dtype), config)
    best: Array | None = None
    positions: Array | None = None
    for taps in itertools.product(*(range(size) for size in window.taps)):
        starts = [tap * spread for tap, spread in zip(taps, window.dilation, strict=True)]
        limits = [
            start + (count - 1) * step + 1
            for start, count, step in zip(starts, window.counts, window.stride, strict=True)
        ]
        outer = list(shape[: window.outer])
        values = lax.slice(padded, [0] * window.outer + starts, outer + limits, [1] * window.outer + window.stride)
        grid: Any = 0
        for axis in range(window.rank):
            grid = grid * window.sizes[axis] + window.lines(axis, starts[axis])
        inside_input = _inside(starts, window)
        where = np.where if isinstance(grid, np.ndarray) else jnp.where
        tap_positions = lax.broadcast_in_dim(where(inside_input, grid, -1), shape, range(window.outer, len(shape)))
        if best is None or positions is None:
            best, positions = values, tap_positions
            continue
        # NaN is the maximum. Padding never is, because its -inf is not greater than any element.
        larger = lax.bitwise_or(lax.gt(values, best), lax.ne(values, values))
        inside = lax.broadcast_in_dim(inside_input, shape, range(window.outer, len(shape)))
        before = lax.lt(positions, like(positions, 0))
        larger = lax.bitwise_or(larger, lax.bitwise_and(before, inside))
        best, positions = lax.select(larger, values, best), lax.select(larger, tap_positions, positions)
    assert positions is not None
    return positions


def _inside(starts: Sequence[int], window: _Window) -> Any:
    """Returns, for one element of the window, which windows have it within the input, as booleans by window."""
    result: Any = True
    for axis in range(window.rank):
        line = window.lines(axis, starts[axis])
        result = result & (line >= 0) & (line < window.sizes[axis])
    return result


@lower(aten.max_pool2d_with_indices.default)
def max_pool2d(
    ctx: Context, x: Array, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> list[Array | None]:
    return _max_pool(ctx, x, 2, kernel, stride, padding, dilation)


@lower(aten.max_pool3d_with_indices.default)
def max_pool3d(
    ctx: Context, x: Array, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> list[Array | None]:
    return _max_pool(ctx, x, 3, kernel, stride, padding, dilation)


@lower(aten.adaptive_max_pool2d.default)
def adaptive_max_pool2d(ctx: Context, x: Array, size: Sequence[int]) -> list[Array | None]:
    if ctx.shape[-2:] == (1, 1) and any(map(is_symbolic_dim, x.shape[-2:])):
        flat = lax.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))
        positions = lax.argmax(flat, x.ndim - 2, np.dtype("int64"))
        return [lax.reshape(maximum(flat, (x.ndim - 2,)), ctx.shape), lax.reshape(positions, ctx.shape)]
    kernel = _even_kernel(ctx, x.shape[-2:], ctx.shape[-2:])
    return _max_pool(ctx, x, 2, kernel, kernel)


def _even_kernel(ctx: Context, sizes: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Returns the kernel of an adaptive pooling op whose windows are equal, and refuses other sizes."""
    if any(size % count for size, count in zip(sizes, counts, strict=True)):
        ctx.unsupported("where the output size does not divide the input size")
    return [size // count for size, count in zip(sizes, counts, strict=True)]


def _max_pool_backward(ctx: Context, grad: Array, x: Array, indices: Array, rank: int, settings: Any) -> Array:
    """Returns the gradient of a max pooling op."""
    if any(map(is_symbolic_dim, [*x.shape[-rank:], *grad.shape[-rank:]])):
        return _scattered(grad, indices, x.shape, rank)
    kernel, stride, padding, dilation = settings
    window = _Window(x.shape, grad.shape, kernel, stride, padding, dilation, rank=rank)
    disjoint = window.stride == window.kernel and not any(window.padding) and window.dilation == [1] * rank
    if rank == 2 and disjoint and math.prod(window.kernel) <= _MAX_UNROLLED_TAPS:
        return _spread_to_positions(grad, indices, x.shape, window.kernel)
    if all(spread == 1 for spread in window.dilation):
        (result,) = jax.vjp(lambda primal: window.reduce(primal, _lowest(x.dtype), lax.max), x)[1](grad)
        return result
    return _scattered(grad, indices, x.shape, rank)


def _scattered(grad: Array, indices: Array, shape: Sequence[int], rank: int) -> Array:
    """Returns zeros of a shape to which the gradients are added at their flat positions in the pooled dimensions."""
    outer, windows = math.prod(shape[:-rank]), math.prod(grad.shape[-rank:])
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(),
        inserted_window_dims=(1,),
        scatter_dims_to_operand_dims=(1,),
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    flat, updates = lax.reshape(indices, (outer, windows, 1)), lax.reshape(grad, (outer, windows))
    zeros = full((outer, math.prod(shape[-rank:])), 0, grad.dtype)
    return lax.reshape(lax.scatter_add(zeros, flat, updates, numbers), tuple(shape))


def _spread_to_positions(grad: Array, indices: Array, shape: Sequence[int], kernel: Sequence[int]) -> Array:
    """Returns the gradient for windows that do not overlap: each window's gradient at its maximum, and zeros elsewhere.

    The channels are last meanwhile, as in the ops before and after it.
    """
    *batch, channels, rows, columns = grad.shape
    outer = len(batch)
    last = (*range(outer), outer + 1, outer + 2, outer)
    grad, indices = lax.transpose(grad, last), lax.transpose(indices, last)
    corners = np.arange(rows)[:, None, None] * kernel[0] * shape[-1] + np.arange(columns)[:, None] * kernel[1]
    offsets = lax.sub(indices, broadcast(corners.astype(indices.dtype), indices.shape))
    if (kernel[0] - 1) * shape[-1] + kernel[1] <= _EXACT_IN_BFLOAT16:
        offsets = cast(offsets, jnp.dtype(jnp.bfloat16))
    spaced = (*batch, rows, 1, columns, 1, channels)

    def element(row: int, column: int) -> Array:
        is_maximum = lax.eq(offsets, like(offsets, row * shape[-1] + column))
        return lax.reshape(lax.select(is_maximum, grad, like(grad, 0)), spaced)

    lines = [
        lax.concatenate([element(row, column) for column in range(kernel[1])], outer + 3) for row in range(kernel[0])
    ]
    covered = (*batch, rows * kernel[0], columns * kernel[1], channels)
    result = lax.reshape(lax.concatenate(lines, outer + 1), covered)
    # The windows may leave an edge uncovered, or with ceil_mode extend beyond it.
    edges = [(0, size - end, 0) for size, end in zip(shape[-2:], covered[outer:], strict=False)]
    if any(high for _, high, _ in edges):
        config = [(0, 0, 0)] * outer + edges + [(0, 0, 0)]
        result = lax.pad(result, full((), 0, result.dtype), config)
    return lax.transpose(result, (*range(outer), outer + 2, outer, outer + 1))


@lower(aten.max_pool2d_with_indices_backward.default)
def max_pool2d_backward(
    ctx: Context,
    grad: Array,
    x: Array,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    return _max_pool_backward(ctx, grad, x, indices, 2, (kernel, stride, padding, dilation))


@lower(aten.max_pool3d_with_indices_backward.default)
def max_pool3d_backward(
    ctx: Context,
    grad: Array,
    x: Array,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    return _max_pool_backward(ctx, grad, x, indices, 3, (kernel, stride, padding, dilation))


@lower(aten.adaptive_max_pool2d_backward.default)
def adaptive_max_pool2d_backward(ctx: Context, grad: Array, x: Array, indices: Array) -> Array:
    if any(map(is_symbolic_dim, x.shape[-2:])):
        return _scattered(grad, indices, x.shape, 2)
    kernel = _even_kernel(ctx, x.shape[-2:], grad.shape[-2:])
    return _max_pool_backward(ctx, grad, x, indices, 2, (kernel, kernel, 0, 1))


# Average -------------------------------------------------------------------------------------------------------------


def _average_pool(
    x: Array,
    shape: Sequence[int],
    rank: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    count_include_pad: bool,
    divisor: int | None,
) -> Array:
    """Returns averages; ``divisor`` replaces the number of elements of a window."""
    window = _Window(x.shape, shape, kernel, stride, padding, rank=rank)
    summed = window.reduce(x, 0, lax.add)
    if divisor is not None:
        return lax.div(summed, like(summed, divisor))
    is_fixed = not any(map(is_symbolic_dim, [*window.sizes, *window.counts]))
    if not is_fixed and window.is_within_padding and (count_include_pad or not any(window.padding)):
        return lax.div(summed, like(summed, math.prod(window.kernel)))
    arrays = np if is_fixed else jnp
    counts: Any = 1.0
    for axis in range(rank):
        low, high = (-window.padding[axis], window.sizes[axis] + window.padding[axis])
        if not count_include_pad:
            low, high = 0, window.sizes[axis]
        first = window.lines(axis, 0, -window.padding[axis])
        counts = counts * (arrays.minimum(first + window.kernel[axis], high) - arrays.maximum(first, low))
    if is_fixed and (counts == counts.flat[0]).all():
        return lax.div(summed, like(summed, counts.flat[0]))
    return lax.div(summed, broadcast(counts.astype(summed.dtype), summed.shape))


@lower(aten.avg_pool1d.default)
def avg_pool1d(
    ctx: Context,
    x: Array,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    return _average_pool(x, ctx.shape, 1, kernel, stride, padding, count_include_pad, None)


@lower(aten.avg_pool2d.default)
def avg_pool2d(
    ctx: Context,
    x: Array,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    return _average_pool(x, ctx.shape, 2, kernel, stride, padding, count_include_pad, divisor_override)


@lower(aten.avg_pool3d.default)
def avg_pool3d(
    ctx: Context,
    x: Array,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    return _average_pool(x, ctx.shape, 3, kernel, stride, padding, count_include_pad, divisor_override)


def _average_pool_backward(grad: Array, x: Array, rank: int, settings: Any) -> Array:
    """Returns the gradient of an average pooling op, the transpose of the op."""
    kernel, stride, padding, _, count_include_pad, divisor = settings

    def forward(primal: Array) -> Array:
        return _average_pool(primal, grad.shape, rank, kernel, stride, padding, count_include_pad, divisor)

    (result,) = jax.linear_transpose(forward, x)(grad)
    return result


@lower(aten.avg_pool2d_backward.default)
def avg_pool2d_backward(ctx: Context, grad: Array, x: Array, *settings: Any) -> Array:
    return _average_pool_backward(grad, x, 2, settings)


@lower(aten.avg_pool3d_backward.default)
def avg_pool3d_backward(ctx: Context, grad: Array, x: Array, *settings: Any) -> Array:
    return _average_pool_backward(grad, x, 3, settings)


def _adaptive_average(x: Array, shape: Sequence[int], rank: int) -> Array:
    """Returns adaptive averages over the last ``rank`` dimensions.

    They are a mean for one window, pooling for windows of equal size, and weighted sums for unequal ones.
    """
    sizes, counts = x.shape[-rank:], tuple(shape[-rank:])
    if set(counts) == {1}:
        return lax.reshape(average(x, tuple(range(x.ndim - rank, x.ndim))), shape)
    is_fixed = not any(map(is_symbolic_dim, sizes))
    if is_fixed and all(size % count == 0 for size, count in zip(sizes, counts, strict=True)):
        kernel = [size // count for size, count in zip(sizes, counts, strict=True)]
        return _average_pool(x, shape, rank, kernel, kernel, 0, True, None)
    dtype = wide(x.dtype)
    weights = [_adaptive_weights(size, count).astype(dtype) for size, count in zip(sizes, counts, strict=True)]
    columns = weights.pop().T
    pooled = product(cast(x, dtype), broadcast(columns, (*x.shape[:-2], *columns.shape)))
    for dim in reversed(range(x.ndim - rank, x.ndim - 1)):
        batch, inner, rows = pooled.shape[:dim], pooled.shape[dim + 1 :], weights.pop()
        flat = lax.reshape(pooled, (*batch, rows.shape[1], math.prod(inner)))
        pooled = lax.reshape(product(broadcast(rows, (*batch, *rows.shape)), flat), (*batch, rows.shape[0], *inner))
    return cast(pooled, x.dtype)


def _adaptive_weights(size: int, count: int) -> Any:
    """Returns weights [count, size] that average the inputs of each window of an adaptive pooling op."""
    arrays = jnp if is_symbolic_dim(size) or is_symbolic_dim(count) else np
    windows, positions = arrays.arange(count)[:, None], arrays.arange(size)[None]
    starts, stops = windows * size // count, -(-(windows + 1) * size // count)
    return ((starts <= positions) & (positions < stops)) / (stops - starts)


@lower(aten._adaptive_avg_pool2d.default)
def adaptive_avg_pool2d(ctx: Context, x: Array, size: Sequence[int]) -> Array:
    return _adaptive_average(x, ctx.shape, 2)


@lower(aten._adaptive_avg_pool3d.default)
def adaptive_avg_pool3d(ctx: Context, x: Array, size: Sequence[int]) -> Array:
    return _adaptive_average(x, ctx.shape, 3)


@lower(aten._adaptive_avg_pool2d_backward.default)
def adaptive_avg_pool2d_backward(ctx: Context, grad: Array, x: Array) -> Array:
    (result,) = jax.linear_transpose(lambda primal: _adaptive_average(primal, grad.shape, 2), x)(grad)
    return result


@lower(aten._adaptive_avg_pool3d_backward.default)
def adaptive_avg_pool3d_backward(ctx: Context, grad: Array, x: Array) -> Array:
    (result,) = jax.linear_transpose(lambda primal: _adaptive_average(primal, grad.shape, 3), x)(grad)
    return result
