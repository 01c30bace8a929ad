"""Activations in the spellings of frameworks, and near misses of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom

_ROOT_2, _TANH_SCALE = float(np.sqrt(2)), float(np.sqrt(2 / np.pi))


def _x(d: Drawer) -> Array:
    return d.moved(d.input(d.shape(), d.dtype(), scale=d.one(1.0, 4.0)))


def _after(d: Drawer, x: Array) -> Array:
    """Returns a value, or an op of it that may take the activation in."""
    way = d.one("", "", "", "product", "plus", "times", "chain", "convert")
    if way == "product" and x.ndim >= 2:
        return x @ d.input((x.shape[-1], d.one(4, 8, 32)), x.dtype.name)
    if way == "plus":
        return d.either_way(jnp.add, x, d.input(x.shape[-1:] if d.maybe() else x.shape, x.dtype.name))
    if way == "times":
        return d.either_way(jnp.multiply, x, d.input(x.shape, x.dtype.name))
    if way == "chain":
        return jnp.tanh(jnp.exp(-jnp.abs(x)) - d.one(0.5, 1.0))
    return x.astype(d.one(jnp.float32, jnp.bfloat16)) if way == "convert" else x


@idiom(
    "ttir.relu", "ttir.relu6", "ttir.relu6_as_clamp", "ttir.clamp", "ttir.clamp_by_constants", "ttir.scaled_function"
)
def limits(d: Drawer) -> Array:
    """relu, relu6, hardsigmoid, hardswish, clamps, with other numbers and orders."""
    x = _x(d)
    low, high = d.or_else(0.0, 1.0, -1.0, -0.0), d.or_else(6.0, 5.0, 0.0, -1.0, float("inf"))
    way = d.one("relu", "relu6", "clip", "hardsigmoid", "hardswish", "clamp", "tensor")
    if way == "relu":
        return _after(d, d.either_way(jnp.maximum, x, jnp.full(d.one((), x.shape), low, x.dtype)))
    if way == "relu6":
        inner = d.keep(jnp.maximum(x, low), 0.4)
        return _after(d, jnp.minimum(inner, high) if d.maybe(0.8) else jnp.maximum(inner, high))
    if way == "clip":
        return _after(d, jnp.clip(x, low, high))
    if way == "clamp":
        return _after(
            d, d.one(jnp.minimum, jnp.maximum)(d.one(jnp.minimum, jnp.maximum)(x, d.one(-0.5, 2.0)), d.one(0.75, -1.0))
        )
    if way == "tensor":
        return lax.clamp(jnp.full((), low, x.dtype), x, d.one(jnp.full((), high, x.dtype), d.input((), x.dtype.name)))
    shifted = d.keep(jnp.clip(x + d.or_else(3.0, 2.5, -3.0), low, high))
    scaled = shifted / d.or_else(6.0, 5.0) if d.maybe() else shifted * d.or_else(1 / 6, 0.2)
    return _after(d, d.either_way(jnp.multiply, scaled, d.or_else(x, shifted)) if way == "hardswish" else scaled)


@idiom("ttir.sigmoid", "ttir.sigmoid_as_reciprocal", "ttir.times_itself", "ttir.reciprocal", "ttir.narrow")
def sigmoids(d: Drawer) -> Array:
    """sigmoid, silu and their near misses."""
    x = _x(d)
    wide = d.maybe(0.2) and x.dtype == jnp.bfloat16
    y = x.astype(jnp.float32) if wide else x
    one = d.or_else(1.0, 2.0, -1.0)
    below = d.either_way(jnp.add, jnp.full((), one, y.dtype), d.keep(jnp.exp(d.or_else(-y, y, -2 * y))))
    way = d.one("divide", "reciprocal", "library", "by itself", "tanh")
    if way == "divide":
        gate = d.or_else(1.0, 2.0) / below
    elif way == "reciprocal":
        gate = lax.pow(below, jnp.full(below.shape, d.or_else(-1.0, -2.0), below.dtype))
    elif way == "tanh":
        gate = 0.5 * (jnp.tanh(d.or_else(0.5, 0.25) * y) + 1)
    elif way == "library":
        gate = jax.nn.sigmoid(y)
    else:
        result = y / below
        return _after(d, result.astype(x.dtype))
    other = d.or_else(y, d.input(y.shape, y.dtype.name))
    result = d.either_way(jnp.multiply, other, d.keep(gate)) if d.maybe(0.6) else gate
    return _after(d, result.astype(x.dtype))


@idiom("ttir.times_itself")
def mish(d: Drawer) -> Array:
    """x * tanh(softplus(x)), with a softplus of other forms, masks and arguments."""
    x = _x(d)
    y = d.or_else(x, 2 * x, d.input(x.shape, x.dtype.name), -x)
    way = d.one("log1p", "log", "logaddexp", "guarded", "threshold")
    if way == "log1p":
        soft = jnp.log1p(d.keep(jnp.exp(y)))
    elif way == "log":
        soft = jnp.log(d.or_else(1.0, 2.0) + jnp.exp(y))
    elif way == "logaddexp":
        soft = jnp.logaddexp(y, d.or_else(0.0, 1.0))
    elif way == "guarded":
        plain = jnp.maximum(y, 0) + jnp.log1p(jnp.exp(-jnp.abs(y)))
        mask = d.or_else(y != y, x != x, y > 0, d.input(y.shape, "bool"))
        soft = jnp.where(mask, d.or_else(y + 0, y * 2), plain)
    else:
        soft = jnp.where(y > d.or_else(20.0, 0.0), y, jnp.log1p(jnp.exp(y)))
    return _after(d, d.either_way(jnp.multiply, x, jnp.tanh(d.keep(soft))))


@idiom("ttir.scaled_function", "ttir.join_factors", "ttir.fold_power")
def gelu(d: Drawer) -> Array:
    """gelu by erf, erfc and tanh in drawn bracketings, with other numbers and arguments."""
    x = _x(d)
    y = d.cast(d.or_else(x, d.input(x.shape, x.dtype.name)), 0.1)
    half = d.or_else(0.5, 0.25, 1.0)
    way = d.one("erf", "erfc", "tanh", "library", "factored")
    if way == "library":
        return _after(d, jax.nn.gelu(x, approximate=d.maybe()))
    if way == "erf":
        inner = y / d.or_else(_ROOT_2, 1.5) if d.maybe() else y * d.or_else(1 / _ROOT_2, 0.7)
        factor = d.either_way(jnp.add, d.or_else(1.0, 0.5), d.keep(lax.erf(inner)))
    elif way == "erfc":
        factor = lax.erfc(d.or_else(-y, y) * d.or_else(1 / _ROOT_2, 0.7))
    else:
        cube = d.or_else(y**3, y * y * y, y**2, y * y * x)
        number = d.or_else(0.044715, 0.044, 0.05)
        scale = d.or_else(_TANH_SCALE, 0.8)
        if way == "tanh":
            inner = d.either_way(jnp.multiply, scale, y + d.either_way(jnp.multiply, number, cube))
        else:
            inner = scale * y * (1 + number * y * y)
        factor = d.either_way(jnp.add, d.or_else(1.0, -1.0), jnp.tanh(inner))
    return _after(d, d.shuffled(x, jnp.full((), half, x.dtype), factor.astype(x.dtype)))


@idiom("ttir.rsqrt", "ttir.divided_by_root", "ttir.reciprocal", "ttir.fold_power", "ttir.fold_function")
def roots(d: Drawer) -> Array:
    """Roots, reciprocals and powers."""
    x = d.input(d.shape(), d.dtype(), positive=d.maybe(0.8))
    way = d.one("inverse root", "by root", "power", "reciprocal", "constant")
    root = d.keep(jnp.sqrt(x + d.one(0.0, 1e-5, 1.0)))
    if way == "inverse root":
        return d.or_else(1.0, 2.0, -1.0) / root
    if way == "by root":
        return d.input(d.one(x.shape, (1,) * x.ndim, x.shape[-1:]), x.dtype.name) / root
    if way == "reciprocal":
        return d.or_else(1.0, 3.0) / x
    exponent = d.one(2.0, 3.0, 0.5, -0.5, -1.0, 0.0, 1.0, -2.0, 4.0)
    if way == "constant":
        number = jnp.full(d.shape((0, 1, 2)), d.one(0.5, 2.0, 3.5, 0.0), x.dtype)
        return jnp.broadcast_to(d.one(jnp.exp, jnp.sqrt, jnp.sin, jnp.log)(number), number.shape) + x.reshape(-1)[0]
    return x ** jnp.full(d.one((), x.shape), exponent, x.dtype) if d.maybe() else jnp.power(x, exponent)


_FUNCTIONS = (
    jnp.abs, jnp.cbrt, jnp.ceil, jnp.cos, jnp.exp, jnp.expm1, jnp.floor, jax.nn.gelu, jnp.log, jnp.log1p, jnp.negative,
    lambda x: 1 / x, jax.nn.relu, jax.nn.relu6, lax.rsqrt, jax.nn.sigmoid, jnp.sign, jax.nn.silu, jnp.sin, jnp.sqrt,
    jnp.tanh, jnp.square, lambda x: x * 0.5, lambda x: x + 2, lambda x: 3 - x, lambda x: x / 4, lambda x: 2 / x,
)  # fmt: skip


@idiom("ttnn.function_before", "ttnn.function_after", "ttir.sigmoid", "ttnn.fuse_into_product")
def functions_around(d: Drawer) -> Array:
    """Chains of functions before and after an op of two operands or a product."""
    size, dtype = d.shape(), d.dtype()

    def chain(x: Array) -> Array:
        for _ in range(d.one(0, 1, 1, 2, 3, 9)):
            x = d.keep(d.random.choice(_FUNCTIONS)(x), 0.04)
        return x

    if d.maybe(0.3):
        rows, inner, columns = d.size(), d.size(), d.size()
        product = d.input((rows, inner), dtype) @ d.input((inner, columns), dtype)
        product = product + d.input((columns,), dtype) if d.maybe() else product
        return d.one(jax.nn.relu, jax.nn.silu, jax.nn.sigmoid, jax.nn.gelu, jnp.tanh, jax.nn.hard_sigmoid)(
            d.keep(product)
        )
    op = d.one(jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum)
    x = chain(d.input(size, dtype))
    y = chain(d.input(d.one(size, size, size[-1:], (*size[:-1], 1)), d.or_else(dtype, "float32", "bfloat16")))
    return chain(op(x, d.or_else(y, x)))
