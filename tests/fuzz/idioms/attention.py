"""Attention, heads, rotary embeddings and caches, with masks, groups and scales of every form."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom


def _mask(d: Drawer, scores: Array) -> Array:
    """Returns scores with a mask of some form added, chosen, or none."""
    batch, heads, rows, keys = scores.shape
    way = d.one("", "", "causal", "boolean", "boolean", "added", "lengths", "window", "position", "twice")
    lowest = d.one(-jnp.inf, -1e9, float(jnp.finfo(scores.dtype).min))
    if not way:
        return scores
    if way == "causal":
        row, key = jnp.arange(rows)[:, None], jnp.arange(keys)[None, :]
        seen = d.or_else(key <= row, key < row, key <= row + (keys - rows), key >= row, key <= row + 1)
        return (
            jnp.where(seen, scores, lowest)
            if d.maybe(0.7)
            else scores + jnp.where(seen, 0.0, lowest).astype(scores.dtype)
        )
    shape = d.one(
        *((batch, 1, rows, keys), (1, 1, rows, keys), (batch, heads, rows, keys), (batch, 1, 1, keys), (rows, keys)),
        *((1, heads, rows, keys), (batch, 1, rows, 1), (keys,), (1, 1, 1, 1)),
    )
    if way in ("boolean", "twice"):
        seen = d.input(shape, "bool", parameter=d.maybe(0.2))
        scores = jnp.where(seen, scores, lowest) if d.maybe() else jnp.where(seen, lowest, scores)
        return scores + d.input(shape, scores.dtype.name) if way == "twice" else scores
    if way == "added":
        return d.either_way(jnp.add, scores, d.input(shape, d.or_else(scores.dtype.name, "float32")))
    if way == "lengths":
        lengths = d.input((batch, 1, 1, 1), "int32", below=keys + 1)
        return jnp.where(jnp.arange(keys) < lengths, scores, lowest)
    if way == "window":
        row, key = jnp.arange(rows)[:, None], jnp.arange(keys)[None, :]
        return jnp.where((key <= row) & (key > row - d.one(2, 8)), scores, lowest)
    position = d.input(d.one((), (batch, 1, 1, 1)), "int32", below=keys)
    return jnp.where(d.or_else(jnp.arange(keys) <= position, jnp.arange(keys) < position), scores, lowest)


@idiom("ttir.attention", "ttir.softmax", "ttir.narrow", "ttir.transposed_product", "ttir.drop_identity", special=False)
def attention(d: Drawer) -> Array:
    """Attention over [B, S, H, D] and [B, H, S, D], with groups, masks, scales, guards, and values used twice."""
    dtype = d.or_else("bfloat16", "float32")
    batch, heads, groups = d.one(1, 1, 2, 3), d.one(1, 2, 4), d.one(1, 1, 2)
    rows = d.one(1, 1, 7, 8, 32, 33)
    keys = d.or_else(d.one(rows, 32, 64, 40, 7), rows)
    width = d.or_else(d.one(32, 32, 64), 16, 48, chance=0.1)
    values = d.or_else(width, 32, chance=0.05)
    groups = groups if heads % groups == 0 else 1
    last = d.maybe()  # heads after positions
    sizes = (lambda s, h, w: (batch, s, h, w)) if last else (lambda s, h, w: (batch, h, s, w))
    axis = 2 if last else 1
    q = d.input(sizes(rows, heads, width), dtype)
    k, v = d.input(sizes(keys, heads // groups, width), dtype), d.input(sizes(keys, heads // groups, values), dtype)
    if groups > 1:
        k, v = (_repeated(d, value, groups, axis) for value in (k, v))
    scale = d.or_else(width**-0.5, 1.0, 0.3)
    way = d.one("after", "before", "both", "divided", "none")
    if way == "before":
        q = q * jnp.asarray(scale, dtype)
    if way == "both":
        q, k = q * jnp.asarray(scale**0.5, dtype), k * jnp.asarray(scale**0.5, dtype)
    k, v = d.or_else((k, v), (k, k) if values == width else (k, v), chance=0.05)
    scores = jnp.einsum("bqhd,bkhd->bhqk" if last else "bhqd,bhkd->bhqk", q, k)
    if d.maybe(0.2):
        scores = scores.astype(jnp.float32)
    scores = {
        "after": scores * jnp.asarray(scale, scores.dtype),
        "divided": scores / jnp.asarray(1 / scale, scores.dtype),
    }.get(way, scores)
    scores = _mask(d, d.keep(scores, 0.03))
    wide = scores.astype(jnp.float32) if d.maybe(0.6) else scores
    over = d.or_else(-1, -2, chance=0.05)
    weights = jax.nn.softmax(wide, axis=over)
    if d.maybe(0.15):
        blind = (
            jnp.all(scores == -jnp.inf, -1, keepdims=True)
            if d.maybe()
            else jnp.max(scores, -1, keepdims=True) == -jnp.inf
        )
        weights = jnp.where(blind, d.or_else(0.0, 1.0), weights)
    weights = d.keep(weights.astype(dtype), 0.04)
    y = jnp.einsum("bhqk,bkhd->bqhd" if last else "bhqk,bhkd->bhqd", weights, v)
    if d.maybe(0.4):
        y = y if last else y.transpose(0, 2, 1, 3)
        y = y.reshape(batch, rows, -1) if d.maybe(0.8) else y.reshape(batch * rows, -1)
    return y


def _repeated(d: Drawer, value: Array, groups: int, axis: int) -> Array:
    """Returns keys or values once for each head of a group, in the order that attention expects or in another one."""
    right = jnp.repeat(value, groups, axis)
    return d.or_else(right, jnp.concatenate([value] * groups, axis), chance=0.1)


@idiom("ttir.split_heads", "ttir.concatenate_heads", "ttir.attention", "ttir.matmul_with_bias", special=False)
def heads(d: Drawer) -> Any:
    """Projections that are split into heads, and heads that are joined."""
    dtype, batch, rows = d.one("bfloat16", "float32"), d.one(1, 2), d.one(8, 32, 33)
    depth, width = d.one(32, 64), d.or_else(32, 16, chance=0.1)
    counts = d.or_else(d.one((2, 2, 2), (4, 2, 2), (2, 1, 1)), (2, 2, 1), (1, 2, 2))
    if d.maybe(0.3):
        x = d.input((batch, counts[0], rows, width), dtype)
        x = d.keep(x.transpose(d.or_else((0, 2, 1, 3), (0, 1, 2, 3), (0, 2, 3, 1))), 0.06)
        return x.reshape(batch, x.shape[1], -1) if d.maybe(0.8) else x.reshape(-1, counts[0] * width)
    x = d.input((batch, rows, depth), dtype, parameter=False)
    parts: list[Array] = []
    for count in counts:
        source = d.or_else(x, jnp.tanh(x), chance=0.05)
        w = d.input((depth, count * width), dtype, scale=0.2, parameter=d.maybe(0.85))
        y = source.reshape(-1, depth) @ w if d.maybe(0.2) else source @ w
        if d.maybe(0.3):
            y = y + d.input((count * width,), dtype, parameter=True)
        y = y.reshape(batch, rows, count, width)
        parts.append(d.keep(y.transpose(d.or_else((0, 2, 1, 3), (0, 2, 3, 1), chance=0.15)), 0.04))
    if d.maybe(0.2):
        d.random.shuffle(parts)
    q, k, v = parts
    if d.maybe(0.5) and counts == (2, 2, 2) and q.shape == k.shape == v.shape and q.shape[-1] == width:
        weights = jax.nn.softmax((q @ jnp.swapaxes(k, -1, -2)) * width**-0.5, -1)
        return (weights @ v).transpose(0, 2, 1, 3).reshape(batch, rows, -1)
    return q, k, v


@idiom("ttnn.rotary_embedding", "ttnn.rotary_by_halves", "ttir.rotary_by_pairs", "ttir.turned_pairs",
       "ttir.concat_of_slices", special=False)  # fmt: skip
def rotary(d: Drawer) -> Array:
    """Rotary embeddings by halves, pairs and complex numbers, with tables of other shapes and other signs."""
    dtype = d.one("bfloat16", "float32")
    batch, heads_, rows, width = (
        d.one(1, 2),
        d.one(1, 3),
        d.one(1, 7, 31, 32, 33),
        d.or_else(d.one(32, 64, 128), 48, 96, 16),
    )
    x = d.input(d.or_else((batch, heads_, rows, width), (1, 1, 1, width), (1, 1, width), (width,), chance=0.15), dtype)
    sign = d.or_else(1.0, -1.0)
    way = d.one("halves", "halves", "by halves", "pairs", "every two", "complex")
    half = width // 2
    wide = width if way in ("halves", "every two") else half
    shape = d.or_else(
        d.one((rows, wide), (1, 1, rows, wide), (1, rows, wide)),
        (batch, 1, rows, wide),
        (heads_, 1, wide),
        (1, wide),
        (batch, heads_, rows, wide),
        chance=0.3,
    )
    angles = np.linspace(0, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    if d.maybe(0.4):
        cos, sin = jnp.cos(angles).astype(dtype), jnp.sin(angles).astype(dtype)
    else:
        cos, sin = d.input(shape, dtype), d.or_else(d.input(shape, dtype), d.input((1, wide), dtype))
    if way == "halves":
        a, b = jnp.split(x, 2, -1) if d.maybe(0.85) else (x[..., ::2], x[..., 1::2])
        turned = d.or_else(
            jnp.concatenate([-sign * b, a], -1), jnp.concatenate([b, -a], -1), jnp.concatenate([a, -b], -1), chance=0.1
        )
        return d.either_way(
            jnp.add, d.either_way(jnp.multiply, x, cos), d.either_way(jnp.multiply, d.keep(turned, 0.05), sin)
        )
    if way == "by halves":
        a, b = jnp.split(x, 2, -1)
        first, second = a * cos - b * sin, sign * (a * sin) + b * cos
        return jnp.concatenate([first, second] if d.maybe(0.9) else [second, first], -1)
    a, b = x[..., ::2], x[..., 1::2]
    if way == "every two":
        return x * cos + jnp.stack([-sign * b, a], -1).reshape(x.shape) * sin
    if way == "complex":
        turn = jnp.broadcast_arrays(cos.astype(jnp.float32), sign * sin.astype(jnp.float32))
        turned = lax.complex(a.astype(jnp.float32), b.astype(jnp.float32)) * lax.complex(*turn)
        return jnp.stack([turned.real, turned.imag], -1).reshape(*turned.shape[:-1], -1).astype(dtype)
    y = jnp.stack([a * cos - b * sin, b * cos + sign * (a * sin)], -1)
    return y.reshape(*y.shape[:-2], -1)


@idiom("ttir.arange", "ttir.attention", special=False)
def caches(d: Drawer) -> Any:
    """Updates of a cache at one or several positions, and attention over it."""
    dtype, batch, groups, keys, width = d.one("bfloat16", "float32"), d.one(1, 2), d.one(1, 2), d.one(32, 64), 32
    cache = d.input((batch, groups, keys, width), dtype, parameter=False)
    rows = d.or_else(1, 32, 3)
    new = d.input((batch, groups, rows, width), dtype, parameter=False)
    at = d.input((), "int32", below=keys, parameter=False) if d.maybe(0.7) else d.one(0, 1)
    updated = (
        lax.dynamic_update_slice_in_dim(cache, new, at, d.or_else(2, 1))
        if d.maybe(0.8)
        else cache.at[:, :, at].set(new[:, :, 0])
    )
    if d.maybe(0.5):
        return updated, cache.sum() if d.maybe(0.2) else new
    q = d.input((batch, groups * d.one(1, 2), 1, width), dtype)
    k = jnp.repeat(updated, q.shape[1] // groups, 1)
    scores = (q @ jnp.swapaxes(k, -1, -2)) * width**-0.5
    scores = jnp.where(jnp.arange(keys) <= at, scores, -jnp.inf)
    return jax.nn.softmax(scores.astype(jnp.float32), -1).astype(dtype) @ k, updated
