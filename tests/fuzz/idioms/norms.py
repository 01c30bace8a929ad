"""Normalizations and softmax in the spellings of frameworks, and near misses of them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom


@idiom("ttir.normalization", "ttir.weight", "ttir.bias", "ttir.mean", "ttir.keep_dim", "ttir.narrow", special=False)
def layer_norm(d: Drawer) -> Array:
    """Layer norms with other axes, variances, places of epsilon, weights and biases."""
    size = d.shape((2, 2, 3, 3, 4))
    x = d.input(size, d.dtype(), scale=d.one(1.0, 3.0))
    wide = x.astype(jnp.float32) if d.maybe() else x
    axis = d.or_else((-1,), (-2,), tuple(range(1, x.ndim)), (0,), (-2, -1))
    other = d.or_else(wide, d.input(size, wide.dtype.name), chance=0.15)
    mean = d.keep(wide.mean(axis, keepdims=True), 0.04)
    eps = d.or_else(1e-5, 1e-3, 0.1, 0.0)
    centred = wide - mean
    way = d.one("squares", "var", "difference", "limited")
    if way == "squares":
        square = d.one(centred * centred, jnp.square(centred), centred**2)
        variance = square.mean(axis, keepdims=True)
        if d.maybe(0.1):
            variance = square.sum(axis, keepdims=True) / max(1, square.size // variance.size - 1)
    elif way == "var":
        variance = other.var(axis, keepdims=True, ddof=d.or_else(0, 1, chance=0.15))
    else:
        variance = jnp.square(other).mean(d.or_else(axis, (-1,), (0,)), keepdims=True) - jnp.square(mean)
        variance = jnp.maximum(variance, d.or_else(0.0, 0.1)) if way == "limited" else variance
    variance = d.keep(variance, 0.04)
    scale = lax.rsqrt(variance + eps) if d.maybe(0.7) else 1 / (jnp.sqrt(variance) + eps)
    weight = d.input(d.or_else(size[-1:], size, (*size[:-1], 1), (1,)), d.one("float32", wide.dtype.name))
    first = d.maybe(0.2)
    y = centred * (scale * weight) if first else d.either_way(jnp.multiply, centred, scale)
    if d.maybe(0.15):
        y = centred / jnp.sqrt(variance + eps)
    if d.maybe(0.3):
        y = y.astype(x.dtype)
    if not first and d.maybe(0.7):
        y = d.either_way(jnp.multiply, y, d.or_else(weight, 1 + weight, weight + 1))
    if d.maybe(0.6):
        bias = d.input(d.or_else(size[-1:], size, (*size[:-1], 1)), weight.dtype.name)
        y = y - bias if d.maybe(0.15) else d.either_way(jnp.add, y, bias)
    return y.astype(x.dtype)


@idiom("ttir.normalization", "ttir.weight", "ttir.unit_length", "ttir.narrow", "ttir.mean", special=False)
def rms_norm(d: Drawer) -> Array:
    """RMS norms and unit lengths with other axes, places of epsilon and weights."""
    size = d.shape((2, 2, 3, 3, 4))
    x = d.input(size, d.dtype(), scale=d.one(1.0, 3.0))
    wide = x.astype(jnp.float32) if d.maybe() else x
    other = d.or_else(wide, d.input(size, wide.dtype.name), jnp.abs(wide), chance=0.15)
    axis = d.or_else(-1, -2, 0, chance=0.1)
    squares = d.one(other * other, jnp.square(other), other**2)
    total = d.keep(squares.sum(axis, keepdims=True), 0.04)
    count = d.or_else(size[axis], size[0], size[axis] + 1)
    if d.maybe(0.7):
        total = d.one(total / count, total * (1 / count), squares.mean(axis, keepdims=True))
    eps = d.or_else(1e-6, 0.1, 0.0)
    way = d.one("inside", "inside", "inside", "outside", "maximum", "divided")
    if way == "inside":
        y = d.either_way(jnp.multiply, wide, lax.rsqrt(total + eps))
    elif way == "outside":
        y = wide * lax.rsqrt(total) + eps
    elif way == "maximum":
        y = wide / jnp.maximum(jnp.sqrt(total), 1e-12)
    else:
        y = wide / jnp.sqrt(total + eps)
    y = y.astype(x.dtype) if d.maybe() else y
    if d.maybe(0.6):
        weight = d.input(d.or_else(size[-1:], (1,), size, (*size[:-1], 1)), d.one(y.dtype.name, "float32"))
        y = d.either_way(jnp.multiply, d.keep(y, 0.04), d.or_else(weight, 1 + weight))
    return y


@idiom("ttir.softmax", "ttir.softmax_by_reciprocal", "ttir.narrow", "ttir.keep_dim", special=False)
def softmax(d: Drawer) -> Array:
    """Softmax with and without its guard, with other axes, permutes, masks and sums."""
    size = d.shape((1, 2, 2, 3, 4))
    x = d.input(size, d.dtype())
    wide = x.astype(jnp.float32) if d.maybe(0.4) else x
    axis = d.random.randrange(-len(size), 0)
    masked = jnp.where(d.input(d.one(size, size[-1:]), "bool"), wide, d.one(-jnp.inf, -1e9)) if d.maybe(0.2) else wide
    guard = d.one("", "max", "max", "finite", "stopped", "other", "minimum")
    if guard:
        most = (jnp.min if guard == "minimum" else jnp.max)(masked, d.or_else(axis, 0), keepdims=True)
        if guard == "finite":
            most = jnp.where(jnp.isfinite(most), most, d.or_else(0.0, 1.0))
        if guard == "other":
            most = jnp.max(d.input(size, wide.dtype.name), axis, keepdims=True)
        masked = masked - d.keep(lax.stop_gradient(most) if guard == "stopped" else most, 0.04)
    power = d.keep(jnp.exp(d.or_else(masked, 2 * masked)), 0.05)
    total = power.sum(d.or_else(axis, 0, tuple(range(len(size)))), keepdims=True)
    if d.maybe(0.1):
        total = d.or_else(power, jnp.exp(wide)).sum(axis)
        total = jnp.expand_dims(total, axis)
    total = total + d.or_else(0.0, 1e-3)
    return (power * (1 / total) if d.maybe(0.3) else power / total).astype(d.one(x.dtype, wide.dtype))


@idiom("ttir.mean", "ttir.keep_dim", "ttir.sum_of_single_elements", "ttir.extreme_of_single_elements",
       "ttir.extreme_of_repeated", "ttir.sum_of_repeated", "ttir.sink_past_reduction", special=True)  # fmt: skip
def reductions(d: Drawer) -> Array:
    """Sums, means and extremes over single, repeated and permuted elements, divided by right and wrong numbers."""
    size = d.shape((1, 2, 3, 4))
    dtype = d.or_else(d.dtype(), "int32", "int8", "uint8", chance=0.25)
    x = d.input(size, dtype)
    if d.maybe(0.3):
        x = (
            jnp.broadcast_to(x[None], (d.one(1, 2, 5), *size))
            if d.maybe()
            else jnp.repeat(x, 1)[: x.size].reshape(size)
        )
    if d.maybe(0.2):
        small = tuple(1 if d.maybe() else one for one in x.shape)
        x = jnp.broadcast_to(d.input(small, dtype), x.shape)
    if d.maybe(0.3):
        order = list(range(x.ndim))
        d.random.shuffle(order)
        x = x.transpose(order)
    axes = tuple(axis for axis in range(x.ndim) if d.maybe()) or (0,)
    op = d.one(jnp.sum, jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.prod, jnp.any, jnp.argmax)
    if op is jnp.argmax:
        return jnp.argmax(x, axes[0], keepdims=d.maybe())
    keep = d.maybe()
    y = d.keep(op(x, axes, keepdims=keep))
    if op is jnp.sum and d.maybe(0.7) and y.dtype in (jnp.float32, jnp.bfloat16):
        count = 1
        for axis in axes:
            count *= x.shape[axis]
        count = d.or_else(count, count + 1, x.shape[-1], 2 * count)
        y = y / count if d.maybe() else y * (1 / count)
    if not keep and d.maybe(0.4):
        y = jnp.expand_dims(y, d.or_else(axes, tuple(range(len(axes)))))
    return y


@idiom("ttir.batch_norm", "ttir.scaled_conv", special=False)
def batch_norm(d: Drawer) -> Array:
    """Batch norms by hand and by StableHLO's op."""
    x = d.input(d.shape((4,)), d.dtype())
    axis = d.or_else(1, 3)
    count = x.shape[axis]
    mean, weight, bias = (d.input((count,), x.dtype.name) for _ in range(3))
    variance = d.input((count,), x.dtype.name, positive=True)
    place = [1] * 4
    place[axis] = count
    mean, weight, bias, variance = (value.reshape(place) for value in (mean, weight, bias, variance))
    eps = d.or_else(1e-5, 0.1)
    scale = d.one(lax.rsqrt(variance + eps), 1 / jnp.sqrt(variance + eps))
    return (x - mean) * scale * weight + bias if d.maybe() else x * (scale * weight) + (bias - mean * (scale * weight))
