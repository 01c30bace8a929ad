"""Reductions, scans and softmax."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import (
    Array,
    Context,
    axes,
    broadcast,
    cast,
    full,
    like,
    lower,
    spread,
    wide,
)
from tt_xla.frontends.torch.aten.shapes import slice_along

aten = torch.ops.aten


def expand_back(x: Array, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Broadcasts a reduced array to the shape before the reduction.

    Args:
        x: The reduced array, without the dimensions ``dims``.
        shape: The shape before the reduction.
        dims: The dimensions that were reduced.
    """
    return lax.broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i not in dims])


def total(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns the sum over dimensions; over none, the array itself."""
    return lax.reduce_sum_p.bind(x, axes=dims, out_sharding=None) if dims else x


def maximum(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns the maximum over dimensions, NaN where there is one."""
    return lax.reduce_max_p.bind(x, axes=dims, out_sharding=None) if dims else x


def minimum(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns the minimum over dimensions, NaN where there is one."""
    return lax.reduce_min_p.bind(x, axes=dims, out_sharding=None) if dims else x


def average(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns the mean over dimensions."""
    summed = total(x, dims)
    return lax.div(summed, like(summed, math.prod(x.shape[dim] for dim in dims)))


def _reduction(reduce: Callable[[Array, tuple[int, ...]], Array]) -> Callable[..., Array]:
    """Returns the rule of an op that reduces dimensions; with ``keepdim`` they stay as dimensions of size 1."""

    def rule(ctx: Context, x: Array, dims: Any = None, keepdim: bool = False, **options: Any) -> Array:
        x = cast(x, ctx.dtype)
        reduced = axes(options.get("dim", dims), x.ndim)
        result = reduce(x, reduced)
        return lax.reshape(result, ctx.shape) if keepdim else result

    rule.__name__ = reduce.__name__
    return rule


def _needs_elements(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps the rule of an op that has no result for an input without elements, such as a maximum."""

    @functools.wraps(rule)
    def checked(ctx: Context, x: Array, *args: Any, **kwargs: Any) -> Any:
        if not x.size and math.prod(ctx.shape):
            ctx.invalid("tensor without elements")
        return rule(ctx, x, *args, **kwargs)

    return checked


def _product(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns the product over dimensions; for booleans, whether all are true."""
    if x.dtype == np.bool_:
        return _all(x, dims)
    return lax.reduce_prod_p.bind(x, axes=dims, out_sharding=None) if dims else x


def _any(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns whether any boolean over dimensions is true."""
    return lax.reduce_or_p.bind(x, axes=dims) if dims else x


def _all(x: Array, dims: tuple[int, ...]) -> Array:
    """Returns whether all booleans over dimensions are true."""
    return lax.reduce_and_p.bind(x, axes=dims) if dims else x


lower(aten.sum.default, aten.sum.dim_IntList)(_reduction(total))
lower(aten.mean.default, aten.mean.dim)(_reduction(average))
lower(aten.amax.default, aten.max.default)(_needs_elements(_reduction(maximum)))
lower(aten.amin.default, aten.min.default)(_needs_elements(_reduction(minimum)))
lower(aten.prod.default, aten.prod.dim_int)(_reduction(_product))


@lower(aten.any.default, aten.any.dim, aten.any.dims)
def any_(ctx: Context, x: Array, dims: Any = None, keepdim: bool = False, *, dim: Any = None) -> Array:
    return _truth(ctx, x, _any, dims if dim is None else dim)


@lower(aten.all.default, aten.all.dim, aten.all.dims)
def all_(ctx: Context, x: Array, dims: Any = None, keepdim: bool = False, *, dim: Any = None) -> Array:
    return _truth(ctx, x, _all, dims if dim is None else dim)


def _truth(ctx: Context, x: Array, reduce: Callable[[Array, tuple[int, ...]], Array], dims: Any) -> Array:
    """Returns a reduction of booleans; a number counts as true if it is not zero.

    None stands for all dimensions, and an empty list for none, unlike in :func:`axes`.
    """
    x = cast(x, np.dtype(bool))
    if isinstance(dims, list | tuple) and not dims:
        return x
    return lax.reshape(reduce(x, axes(dims, x.ndim)), ctx.shape)


def _arg(ctx: Context, x: Array, dim: int | None, find: Callable[..., Array]) -> Array:
    """Returns the position of an extreme along a dimension, or in the flattened tensor if it is None."""
    if x.dtype == np.bool_:
        x = cast(x, np.dtype("int32"))
    if dim is None:
        x, dim = lax.reshape(x, (x.size,)), 0
    if x.ndim == 0:
        return full((), 0, np.dtype("int64"))
    return find(x, dim % x.ndim, np.dtype("int64"))


@lower(aten.argmax.default)
@_needs_elements
def argmax(ctx: Context, x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    ctx.refuse_booleans(x)
    return lax.reshape(_arg(ctx, x, dim, lax.argmax), ctx.shape)


@lower(aten.argmin.default)
@_needs_elements
def argmin(ctx: Context, x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    ctx.refuse_booleans(x)
    return lax.reshape(_arg(ctx, x, dim, lax.argmin), ctx.shape)


@lower(aten.max.dim)
@_needs_elements
def max_dim(ctx: Context, x: Array, dim: int, keepdim: bool = False) -> list[Array | None]:
    return _value_and_index(ctx, x, dim, _any if x.dtype == np.bool_ else maximum, lax.argmax)


@lower(aten.min.dim)
@_needs_elements
def min_dim(ctx: Context, x: Array, dim: int, keepdim: bool = False) -> list[Array | None]:
    return _value_and_index(ctx, x, dim, _all if x.dtype == np.bool_ else minimum, lax.argmin)


def _value_and_index(ctx: Context, x: Array, dim: int, reduce: Any, find: Any) -> list[Array | None]:
    """Returns an extreme and its position; None for a result that the graph does not read."""
    values = lax.reshape(reduce(x, axes(dim, x.ndim)), ctx.shape) if ctx.used(0) else None
    indices = lax.reshape(_arg(ctx, x, dim, find), ctx.shape) if ctx.used(1) else None
    return [values, indices]


def centred(x: Array, dims: tuple[int, ...]) -> tuple[Array, Array]:
    """Returns the mean over dimensions, and the differences from it in the shape of ``x``."""
    mean = average(x, dims)
    return mean, lax.sub(x, expand_back(mean, x.shape, dims))


def variance(x: Array, dims: tuple[int, ...], correction: float) -> tuple[Array, Array]:
    """Returns mean and variance over dimensions, computed in two passes as in torch.

    Args:
        correction: Number that is subtracted from the count of elements, 1 for an unbiased estimate.
    """
    mean, differences = centred(x, dims)
    summed = total(lax.mul(differences, differences), dims)
    count = math.prod(x.shape[dim] for dim in dims)
    if isinstance(count, int):
        return mean, lax.div(summed, like(summed, max(count - correction, 0)))
    return mean, lax.div(summed, spread(jnp.maximum(count - correction, 0), summed.shape, summed.dtype))


def _variance_of(ctx: Context, x: Array, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Array, Array]:
    """Returns mean and variance for the three overloads, as their arguments define dimensions and correction.

    The overloads take (unbiased), (dim, unbiased, keepdim) and (dim, *, correction, keepdim).
    """
    overload = ctx.node.target._overloadname  # type: ignore[union-attr]
    dims, correction = None, 1.0
    if overload == "default":
        correction = float(args[0] if args else options.get("unbiased", True))
    else:
        dims = args[0] if args else options.get("dim")
        if overload == "dim":
            correction = float(args[1] if len(args) > 1 else options.get("unbiased", True))
        elif options.get("correction") is not None:
            correction = float(options["correction"])
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        ctx.unsupported("of complex numbers")
    x = cast(x, wide(ctx.dtype))
    mean, result = variance(x, axes(dims, x.ndim), correction)
    return lax.reshape(mean, ctx.shape), lax.reshape(result, ctx.shape)


@lower(aten.var.default, aten.var.dim, aten.var.correction)
def var(ctx: Context, x: Array, *args: Any, **options: Any) -> Array:
    return _variance_of(ctx, x, args, options)[1]


@lower(aten.std.default, aten.std.dim, aten.std.correction)
def std(ctx: Context, x: Array, *args: Any, **options: Any) -> Array:
    return lax.sqrt(_variance_of(ctx, x, args, options)[1])


@lower(aten.var_mean.default, aten.var_mean.dim, aten.var_mean.correction)
def var_mean(ctx: Context, x: Array, *args: Any, **options: Any) -> list[Array]:
    mean, result = _variance_of(ctx, x, args, options)
    return [result, mean]


@lower(aten.linalg_vector_norm.default)
def vector_norm(
    ctx: Context, x: Array, order: float = 2, dims: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
    x = cast(lax.abs(x), wide(ctx.dtype))
    reduced = axes(dims, x.ndim)
    if order == math.inf:
        result = maximum(x, reduced)
    elif order == -math.inf:
        result = minimum(x, reduced)
    elif order == 0:
        result = total(lax.convert_element_type(lax.ne(x, like(x, 0)), x.dtype), reduced)
    elif order == 1:
        result = total(x, reduced)
    elif order == 2:
        result = lax.sqrt(total(lax.mul(x, x), reduced))
    else:
        powers = total(lax.pow(x, like(x, order)), reduced)
        result = lax.pow(powers, like(powers, 1 / order))
    return lax.reshape(result, ctx.shape)


# Scans ---------------------------------------------------------------------------------------------------------------


@lower(aten.cumsum.default)
def cumsum(ctx: Context, x: Array, dim: int, *, dtype: Any = None) -> Array:
    return scan(cast(x, ctx.dtype), dim, lax.add, 0)


@lower(aten.cumprod.default)
def cumprod(ctx: Context, x: Array, dim: int, *, dtype: Any = None) -> Array:
    return scan(cast(x, ctx.dtype), dim, lax.mul, 1)


def scan(x: Array, dim: int, combine: Callable[..., Array], start: int) -> Array:
    """Returns a running combination along a dimension: a window reduction that reaches back to the first element.

    Args:
        dim: The dimension, negative from the end.
        combine: The associative op, such as ``lax.add``.
        start: The neutral element of ``combine``.
    """
    if x.size == 0 or x.ndim == 0:
        return x
    dim %= x.ndim
    size = x.shape[dim]
    window = [size if i == dim else 1 for i in range(x.ndim)]
    padding = [(size - 1, 0) if i == dim else (0, 0) for i in range(x.ndim)]
    return lax.reduce_window(x, np.array(start, x.dtype), combine, window, [1] * x.ndim, padding)


@lower(aten.cummax.default)
def cummax(ctx: Context, x: Array, dim: int) -> list[Array]:
    return _extremes(x, dim, lax.max)


@lower(aten.cummin.default)
def cummin(ctx: Context, x: Array, dim: int) -> list[Array]:
    return _extremes(x, dim, lax.min)


def _extremes(x: Array, dim: int, combine: Callable[..., Array]) -> list[Array]:
    """Returns the running extreme and its last position so far. From a NaN on, NaN is the extreme."""
    positions = np.dtype("int64")
    if x.size == 0 or x.ndim == 0:
        return [x, full(x.shape, 0, positions)]
    numbers = cast(x, np.dtype("int32")) if x.dtype == np.bool_ else x
    values = _doubled(numbers, dim % x.ndim, combine)
    is_extreme = lax.bitwise_or(lax.eq(numbers, values), lax.ne(numbers, numbers))
    line = lax.broadcasted_iota(np.dtype("int32"), x.shape, dim % x.ndim)
    return [
        cast(values, x.dtype),
        cast(_doubled(lax.select(is_extreme, line, like(line, 0)), dim % x.ndim, lax.max), positions),
    ]


def _doubled(x: Array, dim: int, combine: Callable[..., Array]) -> Array:
    """Returns a running combination in log2(length) steps; each step reaches back twice as far as the one before."""
    step, size = 1, x.shape[dim]
    if not isinstance(size, int):
        return {lax.max: lax.cummax, lax.min: lax.cummin}[combine](x, dim)
    while step < size:
        combined = combine(slice_along(x, dim, step, size), slice_along(x, dim, 0, size - step))
        x = lax.concatenate([slice_along(x, dim, 0, step), combined], dim)
        step *= 2
    return x


# Softmax -------------------------------------------------------------------------------------------------------------


@lower(aten._softmax.default)
def softmax(ctx: Context, x: Array, dim: int, half_to_float: bool = False) -> Array:
    x, dims = cast(x, ctx.dtype), axes(dim, x.ndim)
    exponents = lax.exp(lax.sub(x, expand_back(maximum(x, dims), x.shape, dims)))
    return lax.div(exponents, expand_back(total(exponents, dims), x.shape, dims))


@lower(aten._safe_softmax.default)
def safe_softmax(ctx: Context, x: Array, dim: int, dtype: Any = None) -> Array:
    """Returns the softmax, with zeros instead of NaN for rows that hold -inf only."""
    x, dims = cast(x, ctx.dtype), axes(dim, x.ndim)
    masked = lax.eq(maximum(x, dims), full(total(x, dims).shape, -math.inf, x.dtype))
    masked = expand_back(masked, x.shape, dims)
    return lax.select(masked, like(x, 0), softmax(ctx, x, dim))


@lower(aten._log_softmax.default)
def log_softmax(ctx: Context, x: Array, dim: int, half_to_float: bool = False) -> Array:
    x, dims = cast(x, ctx.dtype), axes(dim, x.ndim)
    shifted = lax.sub(x, expand_back(maximum(x, dims), x.shape, dims))
    return lax.sub(shifted, expand_back(lax.log(total(lax.exp(shifted), dims)), x.shape, dims))


@lower(aten._softmax_backward_data.default)
def softmax_backward(ctx: Context, grad: Array, output: Array, dim: int, input_dtype: torch.dtype) -> Array:
    dims = axes(dim, output.ndim)
    output = cast(output, wide(output.dtype))  # the two products are nearly equal, so their difference loses bits
    grad = cast(grad, output.dtype)
    product = lax.mul(grad, output)
    return lax.sub(product, lax.mul(output, expand_back(total(product, dims), output.shape, dims)))


@lower(aten._log_softmax_backward_data.default)
def log_softmax_backward(ctx: Context, grad: Array, output: Array, dim: int, input_dtype: torch.dtype) -> Array:
    dims = axes(dim, output.ndim)
    output = cast(output, wide(output.dtype))
    grad = cast(grad, output.dtype)
    return lax.sub(grad, lax.mul(lax.exp(output), expand_back(total(grad, dims), output.shape, dims)))


@lower(aten.logsumexp.default)
def logsumexp(ctx: Context, x: Array, dims: Any, keepdim: bool = False) -> Array:
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        ctx.unsupported("of complex numbers")
    x = cast(x, ctx.dtype)
    reduced = axes(dims, x.ndim)
    top = maximum(x, reduced)
    top = lax.select(lax.eq(lax.abs(top), like(top, math.inf)), like(top, 0), top)
    summed = total(lax.exp(lax.sub(x, expand_back(top, x.shape, reduced))), reduced)
    return broadcast(lax.reshape(lax.add(lax.log(summed), top), ctx.shape), ctx.shape)


@lower(aten.histc.default)
def histc(ctx: Context, x: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """Counts elements in bins of equal width; elements outside the bounds count nowhere.

    Equal bounds stand for the least and the greatest element.
    """
    kind = x.dtype if x.dtype == np.float64 else np.dtype("float32")
    x = cast(lax.reshape(x, (x.size,)), kind)
    low, high = (full((), bound, kind) for bound in (min, max))
    if min == max and x.size:
        low, high = minimum(x, (0,)), maximum(x, (0,))
        flat = lax.eq(low, high)
        low, high = (
            lax.select(flat, lax.add(bound, full((), step, kind)), bound) for bound, step in ((low, -1), (high, 1))
        )
    low, high = (broadcast(bound, x.shape) for bound in (low, high))
    position = lax.mul(lax.div(lax.sub(x, low), lax.sub(high, low)), full(x.shape, bins, kind))
    position = lax.min(cast(lax.floor(position), np.dtype("int32")), full(x.shape, bins - 1, np.dtype("int32")))
    inside = lax.bitwise_and(lax.ge(x, low), lax.le(x, high))
    shape = (x.size, bins)
    in_bin = lax.eq(lax.broadcast_in_dim(position, shape, (0,)), lax.broadcasted_iota(np.dtype("int32"), shape, 1))
    in_bin = lax.bitwise_and(in_bin, lax.broadcast_in_dim(inside, shape, (0,)))
    return total(cast(in_bin, np.dtype("float32")), (0,))
