"""Reshapes, permutes, broadcasts, slices, concatenations, sorts, lookups: chains that nearly cancel."""

from __future__ import annotations

import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom


def _any(d: Drawer) -> str:
    return d.one("float32", "bfloat16", "int32", "int8", "bool", "uint32")


def _inverse(order: list[int]) -> list[int]:
    return [order.index(dim) for dim in range(len(order))]


def _move(d: Drawer, x: Array) -> Array:
    """Returns a value after one move."""
    way = d.one(
        "permute", "permute", "reshape", "reshape", "broadcast", "slice", "reverse", "cast", "unsqueeze", "unary"
    )
    if way == "permute":
        order = list(range(x.ndim))
        d.random.shuffle(order)
        return x.transpose(order)
    if way == "reshape":
        sizes = list(x.shape)
        if len(sizes) > 1 and d.maybe():
            index = d.random.randrange(len(sizes) - 1)
            sizes[index : index + 2] = [sizes[index] * sizes[index + 1]]
        elif sizes:
            index = d.random.randrange(len(sizes))
            for part in (2, 3, 4, 8, 32):
                if sizes[index] % part == 0 and sizes[index] > part and d.maybe():
                    sizes[index : index + 1] = [part, sizes[index] // part]
                    break
        return x.reshape(sizes if len(sizes) <= 6 else -1)
    if way == "unsqueeze" and x.ndim < 5:
        return jnp.expand_dims(x, d.random.randrange(x.ndim + 1))
    if way == "broadcast" and 1 in x.shape and d.maybe(0.7):
        places = [dim for dim, size in enumerate(x.shape) if size == 1]
        x = jnp.broadcast_to(x, [d.one(2, 3) if dim == places[0] else size for dim, size in enumerate(x.shape)])
        return jnp.broadcast_to(x, [d.one(1, 2) if dim in places[1:] else size for dim, size in enumerate(x.shape)])
    if way == "broadcast" and x.size <= 1024 and x.ndim < 5:
        return jnp.broadcast_to(x, (d.one(1, 2, 3), *x.shape))
    if way == "slice" and x.ndim:
        index = d.random.randrange(x.ndim)
        size = x.shape[index]
        begin = d.random.randrange(size)
        return lax.slice_in_dim(x, begin, d.random.randrange(begin + 1, size + 1), d.one(1, 1, 2), index)
    if way == "reverse" and x.ndim:
        return jnp.flip(x, d.random.randrange(x.ndim))
    if way == "cast":
        return x.astype(d.one(jnp.float32, jnp.bfloat16, jnp.int32)) if x.dtype != jnp.bool_ else ~x
    return x if x.dtype == jnp.bool_ else d.one(jnp.abs, jnp.negative, jnp.sign)(x)


@idiom("ttir.drop_identity", "ttir.join_reshapes", "ttir.join_permutes", "ttir.join_broadcasts", "ttir.join_casts",
       "ttir.permute_as_reshape", "ttir.shorten_moves", "ttir.fold_broadcast", "ttir.fold_unsqueeze",
       "ttir.delay_broadcast", "ttir.sink_unsqueeze", "ttir.shrink_constant", "ttnn.join_reshapes", "ttir.reverse",
       "ttnn.join_to_layouts", "ttnn.reshape_before_tilize", "ttnn.untilize_before_reshape")  # fmt: skip
def chains(d: Drawer) -> Array:
    """Chains of moves, with an op of two operands at the end."""
    x = d.input(d.shape((0, 1, 2, 3, 3, 4)), _any(d))
    for _ in range(d.one(1, 2, 3, 4, 6)):
        x = d.keep(_move(d, x), 0.05)
    if x.dtype == jnp.bool_ or d.maybe(0.3):
        return x
    small = tuple(1 if d.maybe() else one for one in x.shape)
    other = d.one(
        jnp.full((), 2, x.dtype), jnp.full(x.shape, 2, x.dtype), d.input(small[d.one(0, 0, 1) :], x.dtype.name)
    )
    y = d.either_way(d.one(jnp.add, jnp.multiply, jnp.subtract, jnp.maximum), x, other)
    return _move(d, y)


@idiom("ttir.sink_past_elementwise", "ttir.join_permutes", "ttir.sink_past_concat", "ttir.sink_past_slice",
       "ttir.sink_past_pad", "ttir.sink_past_reduction")  # fmt: skip
def permutes(d: Drawer) -> Array:
    """Permutes around other ops, which cancel or nearly do."""
    rank = d.one(2, 3, 3, 4)
    x = d.input(d.shape((rank,)), d.dtype())
    order = list(range(rank))
    d.random.shuffle(order)
    back = _inverse(order)
    if d.maybe(0.2):
        d.random.shuffle(back)
    y = d.keep(x.transpose(order), 0.06)
    for _ in range(d.one(1, 1, 2, 3)):
        way = d.one("unary", "binary", "same", "concat", "pad", "slice", "where")
        if way == "unary":
            y = d.one(jnp.tanh, jnp.abs, jnp.exp)(y)
        elif way == "binary":
            y = d.either_way(
                d.one(jnp.add, jnp.subtract), y, d.input(d.one(y.shape[-1:], (1,) * rank, y.shape), y.dtype.name)
            )
        elif way == "same":
            y = y * jnp.tanh(y) + (
                d.input(x.shape, x.dtype.name).transpose(order) if y.shape == x.transpose(order).shape else 0
            )
        elif way == "concat":
            y = jnp.concatenate([y, d.one(y, jnp.exp(y))], d.random.randrange(rank))
        elif way == "pad":
            y = jnp.pad(y, [(d.one(0, 1), d.one(0, 2)) for _ in range(rank)], constant_values=d.one(0, 1))
        elif way == "slice":
            y = y[tuple(slice(d.one(0, 1) if size > 1 else 0, None, d.one(1, 1, 2)) for size in y.shape)]
        else:
            y = jnp.where(y > 0, y, d.one(0.0, 1.0))
        y = d.keep(y, 0.04)
    if d.maybe(0.3):
        return d.one(jnp.sum, jnp.max, jnp.mean)(y, d.random.randrange(rank), keepdims=d.maybe())
    return y.transpose(back)


@idiom("ttir.concat_of_slices", "ttir.drop_identity")
def slices(d: Drawer) -> Array:
    """Concatenations of slices that cover the tensor, or not."""
    x = d.input(d.shape((1, 2, 3)), _any(d))
    axis = d.random.randrange(x.ndim)
    size = x.shape[axis]
    cuts = sorted(d.random.randrange(size + 1) for _ in range(d.one(1, 2, 3)))
    bounds = [0, *cuts, size]
    parts = [
        lax.slice_in_dim(d.or_else(x, x + x if x.dtype != jnp.bool_ else ~x, chance=0.05), low, high, 1, axis)
        for low, high in itertools.pairwise(bounds)
        if high > low
    ]
    if d.maybe(0.2):
        parts.pop(d.random.randrange(len(parts))) if len(parts) > 1 else None
    if d.maybe(0.2):
        d.random.shuffle(parts)
    if d.maybe(0.2):
        parts.insert(d.random.randrange(len(parts) + 1), d.input(parts[0].shape, x.dtype.name))
    if d.maybe(0.1):
        parts.append(parts[-1])
    parts = [d.keep(part, 0.04) for part in parts]
    same = all(part.shape == parts[0].shape for part in parts)
    return jnp.concatenate(parts, d.or_else(axis, d.random.randrange(x.ndim)) if same else axis)


@idiom("ttir.reversed_sort", "ttir.first_of_sort", "ttir.reverse")
def sorts(d: Drawer) -> Any:
    """Sorts whose values are reversed or cut, with positions and other axes."""
    x = d.input(d.shape((1, 2, 2, 3)), d.one("float32", "bfloat16", "int32"))
    axis = d.or_else(x.ndim - 1, 0, chance=0.25)
    way = d.one("values", "values", "pairs", "positions", "top")
    if way == "top":
        return lax.top_k(x, d.random.randrange(1, x.shape[-1] + 1))
    if way == "pairs":
        keys, others = lax.sort_key_val(x, lax.broadcasted_iota(jnp.int32, x.shape, axis), axis)
    elif way == "positions":
        keys, others = jnp.sort(x, axis), jnp.argsort(x, axis, stable=True)
    else:
        keys, others = jnp.sort(x, axis, descending=d.maybe()), None
    keys = d.keep(keys, 0.05)
    if d.maybe(0.4):
        keys = jnp.flip(keys, d.or_else(axis, tuple(range(x.ndim))))
    if d.maybe(0.5):
        size = x.shape[axis]
        begin = d.or_else(0, 1) if size > 1 else 0
        keys = lax.slice_in_dim(keys, begin, d.random.randrange(begin + 1, size + 1), d.or_else(1, 2), axis)
    if d.maybe(0.2) and x.ndim > 1:
        keys = keys[: max(1, keys.shape[0] // 2)]
    return keys if others is None else (keys, others)


@idiom("ttir.rows_of_other_types", "ttir.arange", "ttnn.truth_in_its_type", special=False)
def lookups(d: Drawer) -> Array:
    """Rows of tables, gathers and one-hot products, with positions of several types."""
    count, width = d.one(1, 2, 7, 32, 40), d.one(1, 3, 8, 32)
    table = d.input((count, width), d.one("float32", "bfloat16", "int32", "int8", "bool"))
    index = d.input(d.shape((0, 1, 2), 64), d.one("int32", "uint8", "uint32", "int8"), below=count)
    way = d.one("take", "take", "one hot", "index", "along", "position")
    if way == "take":
        return jnp.take(table, index, axis=d.or_else(0, 1) if count <= width else 0, mode=d.one("clip", "fill", "wrap"))
    if way == "one hot":
        hot = (index.reshape(-1, 1) == jnp.arange(count, dtype=index.dtype)).astype(jnp.float32)
        return hot @ table.astype(jnp.float32)
    if way == "along":
        rows = d.input((d.one(1, 4), width), "int32", below=count)
        return jnp.take_along_axis(table, rows, 0)
    if way == "position":
        return jnp.arange(count)[:, None] * d.one(1, 2) + jnp.arange(width) * d.one(0, 3) + table.astype(jnp.float32)
    return table[index] if table.dtype != jnp.bool_ else jnp.where(table[index], 1.0, 2.0)


@idiom("ttnn.pad_as_a_matrix", "ttir.drop_identity")
def pads(d: Drawer) -> Array:
    """Pads of vectors and matrices, also negative ones and between elements."""
    x = d.input(d.shape((1, 1, 2, 3)), _any(d))
    amounts = [
        (d.one(0, 0, 1, 30, -1) if size > 2 else d.one(0, 1), d.one(0, 1, 40), d.or_else(0, 1)) for size in x.shape
    ]
    value = np.asarray(d.one(0, 1), x.dtype)
    y = lax.pad(x if x.dtype == jnp.bool_ else x + x, value, amounts)
    return y if x.dtype == jnp.bool_ else jnp.abs(y)
