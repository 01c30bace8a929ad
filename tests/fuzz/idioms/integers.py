"""Integers whose ranges decide comparisons, limits, remainders and casts."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom

_TYPES = ("int32", "int32", "int8", "uint8", "int16", "uint16", "uint32")


def _ranged(d: Drawer) -> Array:
    """Returns integers whose range the compiler may know."""
    size, dtype = d.shape((1, 1, 2, 3)), d.one(*_TYPES)
    way = d.one("iota", "iota", "argmax", "clamp", "remainder", "truth", "cast", "any", "sum", "and", "shift")
    x = d.input(size, dtype)
    one = jnp.asarray(1, x.dtype)
    if way == "iota":
        return lax.broadcasted_iota(x.dtype, size, d.random.randrange(len(size)))
    if way == "argmax":
        return jnp.argmax(d.input(size, "float32"), -1).astype(x.dtype)
    if way == "clamp":
        low, high = d.one((0, 9), (1, 31), (0, 1), (3, 3), (0, 127))
        return jnp.clip(x, jnp.asarray(low, x.dtype), jnp.asarray(high, x.dtype))
    if way == "remainder":
        return d.one(lax.rem, jnp.mod)(x, jnp.asarray(d.one(1, 2, 5, 32), x.dtype))
    if way == "truth":
        return (x > one).astype(x.dtype)
    if way == "cast":
        return d.input(size, d.one("uint8", "int8", "bool")).astype(x.dtype)
    if way == "and":
        return x & jnp.asarray(d.one(0, 1, 7, 15), x.dtype)
    if way == "shift":
        return lax.shift_right_logical(x, jnp.asarray(d.one(0, 1, 7, 31, 32), x.dtype))
    return (x > one).astype(jnp.int32).sum(-1).astype(x.dtype) if way == "sum" else x


@idiom("ttir.fold_comparison", "ttir.fold_to_constant", "ttir.absorb_constant_truth", "ttir.needless_clamp",
       "ttir.needless_limit", "ttir.needless_remainder", "ttir.integer_by_way_of_float", "ttir.float_by_way_of_integer",
       "ttir.drop_implied_inequality", "ttir.fold_floor_division_test", "ttir.truth_of_truth",
       "ttir.fold_constant_operands", "ttir.drop_neutral", "ttir.join_terms", "ttir.arange",
       "ttir.elementwise")  # fmt: skip
def ranges(d: Drawer) -> Array:
    """Comparisons, limits, remainders, quotients and casts of integers of known ranges."""
    x = _ranged(d)
    for _ in range(d.one(1, 2, 3, 4)):
        x = d.keep(_step(d, x), 0.06)
        if x.dtype == jnp.bool_:
            x = x.astype(d.one(jnp.int32, jnp.uint8, jnp.float32)) if d.maybe(0.6) else x
        if x.dtype in (jnp.bool_, jnp.float32):
            break
    return x


def _step(d: Drawer, x: Array) -> Array:
    dtype = x.dtype

    def number(*choices: int) -> Array:
        limits = jnp.iinfo(dtype)
        return jnp.asarray(max(limits.min, min(limits.max, d.one(*choices))), dtype)

    way = d.one(
        "compare", "limit", "clamp", "remainder", "floor", "divide", "float", "where", "terms", "bits", "index", "guard"
    )
    if way == "compare":
        op = d.one(jnp.equal, jnp.not_equal, jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal)
        y = d.one(number(-1, 0, 1, 5, 8, 31, 32, 127), x, x + number(1), number(0))
        return d.either_way(op, x, y)
    if way == "limit":
        return d.either_way(d.one(jnp.maximum, jnp.minimum), x, number(-1, 0, 1, 7, 31, 127, 255))
    if way == "clamp":
        low, high = d.one((0, 31), (-1, 127), (0, 8), (1, 0), (0, 255))
        limits = jnp.iinfo(dtype)
        return jnp.clip(x, jnp.asarray(max(low, limits.min), dtype), jnp.asarray(min(high, limits.max), dtype))
    if way == "remainder":
        return d.one(lax.rem, jnp.mod)(x, number(1, 2, 5, 7, 32, 64, 100, -3))
    if way == "floor":
        return jnp.floor_divide(x, number(1, 2, 3, 4, 32, -2))
    if way == "divide":
        return lax.div(x, number(1, 2, 3, 32, 127, -1))
    if way == "float":
        y = x.astype(d.one(jnp.float32, jnp.bfloat16, jnp.float16))
        y = d.one(y, y + 1, jnp.floor(y), y * 2)
        return y.astype(dtype) if d.maybe(0.7) else y.astype(jnp.float32)
    if way == "where":
        return jnp.where(x < number(0, 1, 5), d.one(x + number(5, 32), x), d.one(x, number(0, 3)))
    if way == "terms":
        return x + number(1, 2, 100) + number(1, 3, 127) - number(0, 1, 5)
    if way == "bits":
        return d.one(
            lambda: x & number(0, 1, 7, -1), lambda: x | number(0, 1, -1), lambda: x << number(0, 1, 3, 31, 32),
            lambda: x >> number(0, 1, 3, 31), lambda: lax.shift_right_logical(x, number(0, 1, 31, 32)), lambda: ~x,
            lambda: x ^ number(0, -1, 5),
        )()  # fmt: skip
    if way == "index":
        table = d.input((d.one(1, 5, 32), 3), "float32")
        return jnp.take(table, x, axis=0, mode=d.one("clip", "fill", "wrap"))
    truth = jnp.logical_and(
        x != number(0, 1, 5), d.one(x < number(0, 1, 5), x > number(0, 5), jnp.sign(x) != number(1))
    )
    if d.maybe():
        n = number(2, 3, 7)
        truth = jnp.logical_and(jnp.sign(x) != d.one(jnp.sign(n), number(1, -1)), lax.rem(x, n) != 0)
    return d.one(truth, jnp.where(truth, x, x + number(1)))


@idiom(
    "ttir.fold_floor_division_test",
    "ttir.drop_implied_inequality",
    "ttir.truth_of_truth",
    "ttir.fold_to_constant",
    "ttir.needless_remainder",
)
def divisions(d: Drawer) -> Array:
    """Quotients and remainders that round down, by constants and by others, of each width."""
    dtype = d.one(*_TYPES)
    size = d.shape((0, 1, 2))
    x = d.input(size, dtype)
    x = d.or_else(x, lax.broadcasted_iota(x.dtype, size, 0) if size else x, x + jnp.asarray(1, dtype))
    n = jnp.asarray(d.one(1, 2, 3, 7, 32, 100), dtype)
    n = d.or_else(n, jnp.maximum(d.input(d.one((), size), dtype), jnp.asarray(1, dtype)), chance=0.25)
    if not jnp.issubdtype(dtype, jnp.unsignedinteger) and d.maybe(0.15):
        n = -n
    quotient, rest = d.keep(jnp.floor_divide(x, n)), jnp.mod(x, n)
    way = d.one("quotient", "rest", "both", "again", "test")
    if way == "again":
        return jnp.mod(quotient, jnp.asarray(d.one(2, 5), dtype))
    if way == "test":
        differs = jnp.logical_and(jnp.sign(x) != d.or_else(jnp.sign(n), jnp.asarray(1, dtype)), lax.rem(x, n) != 0)
        return jnp.where(differs, quotient, rest)
    return {"quotient": quotient, "rest": rest}.get(way, quotient * n + rest)
