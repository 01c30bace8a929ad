"""Rules of primitives that combine elements: reductions, products, windows and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.export import is_symbolic_dim

from tt_xla.frontends.capacity.rules import greatest, lowest, rule
from tt_xla.frontends.capacity.sizes import Size
from tt_xla.frontends.capacity.values import Dim, Factor, NoRuleError, Padded, Padding, capacity_of, is_exact, size_of

_NEUTRAL = {
    "add": lambda dtype: 0,
    "sum": lambda dtype: 0,
    "prod": lambda dtype: 1,
    "max": lowest,
    "min": greatest,
    "and": lambda dtype: True if np.dtype(dtype) == np.bool_ else -1,
    "or": lambda dtype: 0,
    "xor": lambda dtype: 0,
    "logsumexp": lowest,
}
"""Functions of a type that return the number that does not change a result, by the last word of a primitive's name."""


def _neutral(primitive: Any, dtype: Any) -> Any:
    name = (
        primitive.name.split("_")[-1].removeprefix("cum").removeprefix("log" if "sumexp" not in primitive.name else "")
    )
    return _NEUTRAL[name](dtype)


@rule("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor")
def reduction(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, axes: Any, **params: Any) -> Padded:
    x = ctx.filled(x, _neutral(primitive, x.array.dtype), axes)
    return Padded(primitive.bind(x.array, axes=axes, **params), _without(x, axes))


def _without(x: Padded, axes: Sequence[int]) -> tuple[Dim, ...]:
    return tuple(dim for axis, dim in enumerate(x.dims) if axis not in axes)


@rule("argmax", "argmin")
def position(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, axes: Any, index_dtype: Any) -> Padded:
    for axis in axes:
        x = ctx.single(x, axis)
    number = (lowest if primitive.name == "argmax" else greatest)(x.array.dtype)
    x = ctx.filled(x, number, axes)
    return Padded(primitive.bind(x.array, axes=axes, index_dtype=index_dtype), _without(x, axes))


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def cumulative(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, axis: int, reverse: bool) -> Padded:
    if reverse or len(x.dims[axis]) > 1:
        x = ctx.filled(x, _neutral(primitive, x.array.dtype), [axis])
    return Padded(primitive.bind(x.array, axis=axis, reverse=reverse), x.dims)


@rule("dot_general")
def dot_general(
    ctx: Padding, primitive: Any, outs: Any, x: Padded, y: Padded, *, dimension_numbers: Any, **params: Any
) -> Padded:
    (x_contracted, y_contracted), (x_batch, y_batch) = dimension_numbers
    pairs = [*zip(x_contracted, y_contracted, strict=True), *zip(x_batch, y_batch, strict=True)]
    x, y = ctx.aligned([x, y], pairs)
    # 0 times infinity is NaN, so both factors are 0 in the ctx.
    x, y = ctx.filled(x, 0, x_contracted), ctx.filled(y, 0, y_contracted)
    array = primitive.bind(x.array, y.array, dimension_numbers=dimension_numbers, **params)
    free = [x.dims[axis] for axis in range(len(x.dims)) if axis not in {*x_contracted, *x_batch}]
    free += [y.dims[axis] for axis in range(len(y.dims)) if axis not in {*y_contracted, *y_batch}]
    return Padded(array, (*(x.dims[axis] for axis in x_batch), *free))


@rule("conv_general_dilated")
def convolution(
    ctx: Padding,
    primitive: Any,
    outs: Any,
    x: Padded,
    kernel: Padded,
    *,
    window_strides: Any,
    dimension_numbers: Any,
    **params: Any,
) -> Padded:
    edges, lhs_dilation, rhs_dilation = params["padding"], params["lhs_dilation"], params["rhs_dilation"]
    batch, channels, *spatial = dimension_numbers.lhs_spec
    kernels, depth, *window_axes = dimension_numbers.rhs_spec
    groups = max(params["feature_group_count"], params["batch_group_count"])
    grouped = [x.dims[channels], kernel.dims[kernels], kernel.dims[depth]]
    grouped += [x.dims[batch]] if params["batch_group_count"] > 1 else []
    if groups > 1 and not all(map(is_exact, grouped)):
        raise NoRuleError("A convolution in groups has channels or groups whose number changes from call to call.")
    x, kernel = ctx.aligned([x, kernel], [(channels, depth)]) if groups == 1 else (x, kernel)
    for axis in window_axes:
        kernel = ctx.single(kernel, axis)
    kernel = ctx.filled(kernel, 0, [depth, *window_axes])
    for axis in spatial:
        x = ctx.single(x, axis)
    x = ctx.filled(x, 0, [channels, *spatial])
    sizes = [kernel.array.shape[axis] for axis in window_axes]
    out_batch, out_channels, *out_spatial = dimension_numbers.out_spec
    dims: list[Any] = [None] * len(x.dims)
    dims[out_batch] = x.dims[batch]
    dims[out_channels] = kernel.dims[kernels]
    new_edges: list[tuple[int, int]] = []
    for number, axis in enumerate(spatial):
        window = _Window(
            x.array.shape[axis], sizes[number], window_strides[number], lhs_dilation[number], rhs_dilation[number]
        )
        edge, dims[out_spatial[number]] = _edges(
            ctx, x.dims[axis], window, edges[number], outs[0].shape[out_spatial[number]]
        )
        new_edges.append(edge)
    params["padding"] = tuple(new_edges)
    array = primitive.bind(
        x.array, kernel.array, window_strides=window_strides, dimension_numbers=dimension_numbers, **params
    )
    return Padded(array, tuple(dims))


class _Window:
    """A window that slides along one dimension.

    Args:
        size: elements of the dimension with its ctx.
        length: elements of the window.
        stride: elements from one window to the next.
        base_dilation: distance of the dimension's elements when the window slides.
        dilation: distance of the window's elements.
    """

    def __init__(self, size: int, length: int, stride: int, base_dilation: int = 1, dilation: int = 1) -> None:
        self.span = (int(size) - 1) * int(base_dilation) + 1
        self.reach = (int(length) - 1) * int(dilation) + 1
        self.stride = int(stride)

    def edge(self, low: int, count: int) -> int:
        """Returns the elements to add at the end, or to drop if negative, for ``count`` positions of the window."""
        return (count - 1) * self.stride + self.reach - self.span - low


def _edges(ctx: Padding, dim: Dim, window: _Window, edges: Any, size: Size) -> tuple[tuple[int, int], Dim]:
    """Returns what a dimension gets at both ends, and the dimension of the result."""
    low = edges[0]
    if is_symbolic_dim(low):
        raise NoRuleError("A window begins before the first element by a size that changes from call to call.")
    result = ctx.dim(size)
    return (int(low), window.edge(int(low), capacity_of(result))), result


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min", "reduce_window")
def reduce_window(ctx: Padding, primitive: Any, outs: Any, x: Padded, *more: Padded, **params: Any) -> Any:
    strides, lengths = params["window_strides"], params["window_dimensions"]
    base, dilation = params["base_dilation"], params["window_dilation"]
    moved = [axis for axis in range(len(x.dims)) if lengths[axis] != 1 or tuple(params["padding"][axis]) != (0, 0)]
    if any(is_symbolic_dim(lengths[axis]) for axis in moved):
        if len(moved) == 1 and tuple(params["padding"][moved[0]]) == (size_of(x.dims[moved[0]]) - 1, 0):
            return _running(ctx, primitive, x, more, moved[0], params)
        return _whole_windows(ctx, primitive, outs, x, more, params)
    for axis in moved:
        x = ctx.single(x, axis)
    if primitive.name == "reduce_window":
        if not x.is_exact and len(more) != 1:
            raise NoRuleError("A reduction of windows of several arrays has no rule.")
        x = ctx.filled(x, more[0].array, moved) if more else x
    else:
        x = ctx.filled(x, _neutral(primitive, x.array.dtype), moved)
    dims = list(x.dims)
    edges = [tuple(pair) for pair in params["padding"]]
    for axis in range(len(x.dims)):
        if axis in moved or strides[axis] != 1 or base[axis] != 1:
            window = _Window(x.array.shape[axis], lengths[axis], strides[axis], base[axis], dilation[axis])
            edges[axis], dims[axis] = _edges(ctx, x.dims[axis], window, edges[axis], outs[0].shape[axis])
    params["padding"] = tuple(edges)
    arrays = [x.array, *(value.array for value in more)]
    result = primitive.bind(*arrays, **params)
    result = result[0] if isinstance(result, list | tuple) else result
    value = Padded(result, tuple(dims))
    return [value] if primitive.multiple_results else value


def _running(ctx: Padding, primitive: Any, x: Padded, more: Sequence[Padded], axis: int, params: dict[str, Any]) -> Any:
    """Reduces windows that reach back to the first element. Padding is behind all elements that count."""
    x = ctx.single(x, axis)
    size = x.array.shape[axis]
    lengths, edges = [*params["window_dimensions"]], [*params["padding"]]
    lengths[axis], edges[axis] = size, (size - 1, 0)
    params |= {"window_dimensions": tuple(lengths), "padding": tuple(edges)}
    result = primitive.bind(x.array, *(value.array for value in more), **params)
    return [Padded(array, x.dims) for array in result] if primitive.multiple_results else Padded(result, x.dims)


def _whole_windows(
    ctx: Padding, primitive: Any, outs: Any, x: Padded, more: Sequence[Padded], params: dict[str, Any]
) -> Any:
    """Reduces windows that are whole dimensions."""
    lengths = params["window_dimensions"]
    axes = [axis for axis, length in enumerate(lengths) if not (not is_symbolic_dim(length) and length == 1)]
    is_whole = all(lengths[axis] == size_of(x.dims[axis]) for axis in axes)
    if more or not is_whole or any(tuple(pair) != (0, 0) for pair in params["padding"]):
        raise NoRuleError("A window has a size that changes from call to call.")
    x = ctx.filled(x, _neutral(primitive, x.array.dtype), axes)
    reduce = {"sum": jax.numpy.sum, "max": jax.numpy.max, "min": jax.numpy.min}[primitive.name.split("_")[-1]]
    array = reduce(x.array, axis=tuple(axes), keepdims=True)
    dims = tuple(((Factor(1, 1),) if axis in axes else dim) for axis, dim in enumerate(x.dims))
    return Padded(lax.convert_element_type(array, x.array.dtype), dims)


@rule("select_and_scatter_add")
def select_and_scatter_add(
    ctx: Padding, primitive: Any, outs: Any, source: Padded, operand: Padded, **params: Any
) -> Padded:
    still = [
        axis
        for axis, (length, pair) in enumerate(zip(params["window_dimensions"], params["padding"], strict=True))
        if length == 1 and tuple(pair) == (0, 0) and params["window_strides"][axis] == 1
    ]
    if any(axis not in still for axis in {*source.padded_axes, *operand.padded_axes}):
        raise NoRuleError("The gradient of a maximum over windows has no rule for sizes that change.")
    source, operand = ctx.aligned([source, operand], [(axis, axis) for axis in still])
    array = primitive.bind(source.array, operand.array, **params)
    return Padded(array, operand.dims)
