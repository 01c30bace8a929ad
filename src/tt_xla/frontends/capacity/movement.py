"""Rules of primitives that move, repeat, join or reorder elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jax import lax
from jax.export import is_symbolic_dim

from tt_xla.frontends.capacity.rules import greatest, lowest, rule
from tt_xla.frontends.capacity.sizes import Size
from tt_xla.frontends.capacity.values import (
    Dim,
    Factor,
    NoRuleError,
    Padded,
    Padding,
    capacity_of,
    exact,
    exact_value,
    is_exact,
    normalized,
    same_number,
    size_of,
)


@rule("broadcast_in_dim")
def broadcast_in_dim(
    ctx: Padding, primitive: Any, outs: Any, x: Padded, *, shape: Any, broadcast_dimensions: Any, **_: Any
) -> Padded:
    dims = list(ctx.dims(shape))
    kept: set[int] = set()
    uniform: set[int] = set()
    for axis, target in enumerate(broadcast_dimensions):
        if not (x.dims[axis] == exact(1) and dims[target] != exact(1)):
            dims[target] = x.dims[axis]
            kept.add(target)
            uniform |= {target} if axis in x.uniform else set()
    array = lax.broadcast_in_dim(x.array, tuple(map(capacity_of, dims)), broadcast_dimensions)
    new = {axis for axis in range(len(dims)) if axis not in kept}
    is_new_padding = any(not is_exact(dims[axis]) for axis in new)
    number = x.fill if not is_new_padding or not x.dims else None
    return Padded(array, tuple(dims), number, frozenset(new | uniform))


@rule("iota")
def iota(ctx: Padding, primitive: Any, outs: Any, *, dtype: Any, shape: Any, dimension: int, **_: Any) -> Padded:
    dims = ctx.dims(shape)
    sizes = tuple(map(capacity_of, dims))
    array = lax.broadcasted_iota(dtype, sizes, dimension)
    return Padded(array, dims, None, frozenset(range(len(dims))) - {dimension})


@rule("dim_as_value")
def dim_as_value(ctx: Padding, primitive: Any, outs: Any, *, dim: Size) -> Padded:
    return exact_value(lax.convert_element_type(ctx.length(dim), outs[0].dtype))


@rule("reshape")
def reshape(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, new_sizes: Any, dimensions: Any, **_: Any) -> Any:
    if dimensions is not None:
        x = _transposed(x, dimensions)
    regrouped = _regrouped(x, new_sizes)
    if regrouped is None:
        return ctx.gathered(x, ctx.dims(new_sizes))
    before, dims = regrouped
    split = [factor for dim in before for factor in dim]
    array = x.array
    if any(capacity_of(dim) != size for dim, size in zip(before, array.shape, strict=True)):
        array = _lengthened(x, before)
    assert math.prod(factor.capacity for factor in split) == math.prod(map(capacity_of, dims))
    return Padded(lax.reshape(array, tuple(map(capacity_of, dims))), dims, x.fill)


def _lengthened(x: Padded, dims: Sequence[Dim]) -> Any:
    """Returns the array with more padding at the end of dimensions."""
    edges = [(0, capacity_of(dim) - size, 0) for dim, size in zip(dims, x.array.shape, strict=True)]
    return lax.pad(x.array, np.asarray(0 if x.fill is None else x.fill, x.array.dtype), edges)


def _regrouped(x: Padded, sizes: Sequence[Size]) -> tuple[list[Dim], tuple[Dim, ...]] | None:
    """Distributes the factors of an array's dimensions to new dimensions.

    Returns:
        The old dimensions with their factors split as the new ones need them, and the new dimensions; None if the
        elements have to be moved.
    """
    before: list[list[Factor]] = [[] for _ in x.dims]
    queue = [(axis, factor) for axis, dim in enumerate(x.dims) for factor in dim if factor != Factor(1, 1)]
    dims: list[Dim] = []
    for size in sizes:
        taken: list[Factor] = []
        left: Any = size
        while not (not is_symbolic_dim(left) and left == 1):
            if not queue:
                return None
            axis, factor = queue.pop(0)
            if (rest := _quotient(left, factor.size)) is not None:
                left = rest
            else:
                parts = _split(factor, left)
                if parts is None:
                    return None
                factor, inner = parts
                queue.insert(0, (axis, inner))
                left = 1
            taken.append(factor)
            before[axis].append(factor)
        dims.append(normalized(taken))
    if queue:
        return None
    return [tuple(factors) or exact(1) for factors in before], tuple(dims)


def _quotient(dividend: Size, divisor: Size) -> Size | None:
    """Returns the quotient of two sizes if it is an integer for all values of the symbols."""
    quotient = dividend // divisor
    return quotient if quotient * divisor == dividend else None


def _split(factor: Factor, outer: Size) -> tuple[Factor, Factor] | None:
    """Splits a factor whose elements are the first ones; None if those of the parts would not be."""
    inner = _quotient(factor.size, outer)
    if inner is None or is_symbolic_dim(inner):
        return None
    capacity = -(-factor.capacity // int(inner))
    return Factor(outer, capacity), Factor(int(inner), int(inner))


@rule("squeeze")
def squeeze(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, dimensions: Any) -> Padded:
    left = [axis for axis in range(len(x.dims)) if axis not in dimensions]
    uniform = frozenset(left.index(axis) for axis in x.uniform if axis in left)
    return Padded(lax.squeeze(x.array, dimensions), tuple(x.dims[axis] for axis in left), x.fill, uniform)


@rule("expand_dims")
def expand_dims(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, dimensions: Any) -> Padded:
    dims = list(x.dims)
    for axis in sorted(dimensions):
        dims.insert(axis, exact(1))
    return Padded(lax.expand_dims(x.array, dimensions), tuple(dims), x.fill)


@rule("transpose")
def transpose(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, permutation: Any) -> Padded:
    return _transposed(x, permutation)


def _transposed(x: Padded, permutation: Sequence[int]) -> Padded:
    uniform = frozenset(target for target, axis in enumerate(permutation) if axis in x.uniform)
    dims = tuple(x.dims[axis] for axis in permutation)
    return Padded(lax.transpose(x.array, permutation), dims, x.fill, uniform)


@rule("rev")
def rev(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, dimensions: Any) -> Padded:
    for axis in dimensions:
        if is_exact(x.dims[axis]):
            x = replace(x, array=lax.rev(x.array, (axis,)))
        else:
            x = ctx.single(x, axis)
            positions = ctx.length(size_of(x.dims[axis])) - 1 - lax.iota(np.int32, x.array.shape[axis])
            x = _taken(x, axis, positions, x.dims[axis])
    return x


def _taken(x: Padded, axis: int, positions: Any, dim: Dim) -> Padded:
    """Returns the elements at some positions of a dimension. Positions outside take the nearest one."""
    positions = lax.clamp(np.int32(0), positions, np.int32(x.array.shape[axis] - 1))
    array = x.array.take(positions, axis=axis, mode="clip")
    return Padded(array, (*x.dims[:axis], dim, *x.dims[axis + 1 :]))


@rule("slice")
def slice_(
    ctx: Padding, primitive: Any, outs: Any, x: Padded, *, start_indices: Any, limit_indices: Any, strides: Any
) -> Padded:
    strides = strides or (1,) * len(x.dims)
    sizes = outs[0].shape
    for axis, (start, limit, stride) in enumerate(zip(start_indices, limit_indices, strides, strict=True)):
        x = _sliced(ctx, x, axis, start, limit, int(stride), sizes[axis])
    return x


def _sliced(ctx: Padding, x: Padded, axis: int, start: Size, limit: Size, stride: int, size: Size) -> Padded:
    """Returns a slice of one dimension."""
    whole = size_of(x.dims[axis])
    if stride == 1 and start == 0 and limit == whole:
        return x
    x = ctx.single(x, axis)
    dim = ctx.dim(size)
    dims = (*x.dims[:axis], dim, *x.dims[axis + 1 :])
    if is_symbolic_dim(start):
        return dynamic_slice_of(ctx, x, axis, ctx.length(start), dim, stride)
    start, count = int(start), capacity_of(dim)
    end = start + (count - 1) * stride + 1
    keeps = not is_exact(dim) and limit == whole  # the padding of the result is that of the operand
    if end > x.array.shape[axis]:
        longer = [*x.dims]
        longer[axis] = (Factor(whole, end),)
        x = replace(x, array=_lengthened(x, longer), dims=tuple(longer))
    array = lax.slice_in_dim(x.array, start, end, stride, axis)
    others = any(other != axis for other in x.padded_axes)
    fill = x.fill if keeps or (is_exact(dim) and others) else None
    return Padded(array, dims, fill, x.uniform)


def dynamic_slice_of(ctx: Padding, x: Padded, axis: int, start: Any, dim: Dim, stride: int = 1) -> Padded:
    """Returns the elements of a dimension from a position that the running program knows."""
    if is_exact(dim) and stride == 1:
        array = lax.dynamic_slice_in_dim(x.array, start, capacity_of(dim), axis)
        return Padded(array, (*x.dims[:axis], dim, *x.dims[axis + 1 :]), x.fill)
    positions = start + lax.iota(np.int32, capacity_of(dim)) * np.int32(stride)
    return _taken(x, axis, positions, dim)


@rule("split")
def split(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, sizes: Any, axis: int) -> list[Padded]:
    found: list[Padded] = []
    start: Size = 0
    for size in sizes:
        found.append(_sliced(ctx, x, axis, start, start + size, 1, size))
        start = start + size
    return found


@rule("pad")
def pad(ctx: Padding, primitive: Any, outs: Any, x: Padded, number: Padded, *, padding_config: Any) -> Padded:
    known = _number(number)
    for axis, (low, high, interior) in enumerate(padding_config):
        if (low, high, interior) == (0, 0, 0):
            continue
        if is_symbolic_dim(low) or is_symbolic_dim(interior):
            raise NoRuleError("A dimension is padded at its front by a size that changes from call to call.")
        x = ctx.single(x, axis)
        x = ctx.filled(x, number.array if known is None else known, [axis])
        size = size_of(x.dims[axis])
        size = size + max(size - 1, 0) * interior if interior else size
        dim = ctx.dim(low + size + high)
        edges = [(0, 0, 0)] * len(x.dims)
        inner = x.array.shape[axis] + (x.array.shape[axis] - 1) * int(interior)
        edges[axis] = (int(low), capacity_of(dim) - int(low) - inner, int(interior))
        array = lax.pad(x.array, number.array, edges)
        dims = (*x.dims[:axis], dim, *x.dims[axis + 1 :])
        cuts = is_symbolic_dim(high) or int(high) < 0
        keeps = known is not None and x.fill is not None and same_number(x.fill, known) and not cuts
        x = Padded(array, dims, x.fill if keeps else None)
    return x


def _number(value: Padded) -> Any:
    """Returns a number that is known while the program is traced; None if it is not."""
    try:
        return np.asarray(value.array).item() if not value.dims else None
    except Exception:  # a traced value; JAX's error for it differs between versions
        return None


@rule("concatenate")
def concatenate(ctx: Padding, primitive: Any, outs: Any, *values: Padded, dimension: int) -> Padded:
    return _joined(ctx, values, dimension)


def _joined(ctx: Padding, values: Sequence[Padded], dimension: int) -> Padded:
    """Joins arrays along a dimension."""
    rank = len(values[0].dims)
    others = [[axis] * len(values) for axis in range(rank) if axis != dimension]
    values = ctx.aligned([ctx.single(value, dimension) for value in values], others)
    dim = ctx.dim(sum(size_of(value.dims[dimension]) for value in values))
    fills = {repr(value.fill) for value in values if value.padded_axes}
    fill = next((value.fill for value in values if value.padded_axes), None) if len(fills) == 1 else None
    dims = (*values[0].dims[:dimension], dim, *values[0].dims[dimension + 1 :])
    if all(is_exact(value.dims[dimension]) for value in values[:-1]):
        array = lax.concatenate([value.array for value in values], dimension)
        grown = (Factor(size_of(dim), array.shape[dimension]),)
        value = Padded(array, (*dims[:dimension], grown, *dims[dimension + 1 :]), fill)
        return ctx.with_dim(value, dimension, dim)
    return _joined_behind(ctx, values, dimension, dims)


def _joined_behind(ctx: Padding, values: Sequence[Padded], axis: int, dims: tuple[Dim, ...]) -> Padded:
    """Joins arrays: each is written behind the valid elements of those before, over their ctx."""
    starts: list[Size] = [0]
    for value in values:
        starts.append(starts[-1] + size_of(value.dims[axis]))
    room = capacity_of(dims[axis])
    for value, start in zip(values[1:], starts[1:], strict=False):
        if not is_exact(value.dims[axis]):
            room = max(room, ctx.capacities[start] + value.array.shape[axis])
    array = ctx.with_dim(values[0], axis, (Factor(starts[1], room),)).array
    for value, start in zip(values[1:], starts[1:], strict=False):
        array = lax.dynamic_update_slice_in_dim(array, value.array, ctx.length(start), axis)
    zeros = all(value.fill is not None and not value.fill for value in values if value.padded_axes)
    return Padded(lax.slice_in_dim(array, 0, capacity_of(dims[axis]), axis=axis), dims, 0 if zeros else None)


@rule("sort")
def sort(
    ctx: Padding, primitive: Any, outs: Any, *values: Padded, dimension: int, is_stable: bool, num_keys: int
) -> list[Padded]:
    values = tuple(ctx.aligned([ctx.single(value, dimension) for value in values]))
    keys = [ctx.filled(value, _last(value.array.dtype), [dimension]).array for value in values[:num_keys]]
    arrays = [*keys, *(value.array for value in values[num_keys:])]
    # Padding is behind all other elements before, so a stable sort leaves it behind those that equal it.
    results = lax.sort(arrays, dimension=dimension, is_stable=True, num_keys=num_keys)
    return [Padded(array, value.dims) for array, value in zip(results, values, strict=True)]


@rule("sort_descending")
def sort_descending(ctx: Padding, primitive: Any, outs: Any, *values: Padded, dimension: int) -> list[Padded]:
    values = tuple(ctx.aligned([ctx.single(value, dimension) for value in values]))
    keys = ctx.filled(values[0], lowest(values[0].array.dtype), [dimension])
    # The sort is stable, so padding stays behind the elements that equal it.
    results = primitive.bind(keys.array, *(value.array for value in values[1:]), dimension=dimension)
    return [Padded(array, value.dims) for array, value in zip(results, values, strict=True)]


def _last(dtype: Any) -> Any:
    """Returns the number that sorts last: NaN for floats."""
    return np.nan if np.dtype(dtype).kind not in "iub" else greatest(dtype)


@rule("top_k")
def top_k(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, k: Size, **params: Any) -> list[Padded]:
    axis = int(params.get("axis", -1)) % len(x.dims)
    if is_symbolic_dim(k):
        raise NoRuleError("The number of greatest elements to find changes from call to call.")
    x = ctx.filled(ctx.single(x, axis), lowest(x.array.dtype), [axis])
    dims = (*x.dims[:axis], exact(int(k)), *x.dims[axis + 1 :])
    return [Padded(array, dims) for array in primitive.bind(x.array, k=int(k), **params)]


@rule("tile")
def tile(ctx: Padding, primitive: Any, outs: Any, x: Padded, *, reps: Any) -> Padded:
    for axis, count in enumerate(reps):
        if is_symbolic_dim(count):
            raise NoRuleError("The number of repetitions changes from call to call.")
        x = _joined(ctx, [x] * int(count), axis)
    return x


@rule("stack")
def stack(ctx: Padding, primitive: Any, outs: Any, *values: Padded, axis: int) -> Padded:
    rows = [
        Padded(lax.expand_dims(value.array, (axis,)), (*value.dims[:axis], exact(1), *value.dims[axis:]), value.fill)
        for value in values
    ]
    return _joined(ctx, rows, axis)
