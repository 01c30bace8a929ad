"""Arithmetic with constants, and ops on constants alone."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom

_NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e12, 1e-12, float("inf"), float("nan"), 0.1)


def _constant(d: Drawer, x: Array) -> Array:
    """Returns a constant of one number, of the shape of a value or of one that broadcasts to it."""
    if d.maybe(0.1):  # of several numbers
        return jnp.asarray(np.linspace(-2, 2, x.shape[-1] if x.ndim else 1).astype(np.float32), x.dtype).reshape(
            x.shape[-1:]
        )
    number = d.one(*_NUMBERS) if jnp.issubdtype(x.dtype, jnp.floating) else d.one(0, 1, 2, 3, 7, 31, 100)
    return jnp.full(d.one((), x.shape, x.shape[-1:]), number, x.dtype)


@idiom("ttir.fold_constant_operands", "ttir.drop_neutral", "ttir.drop_zero", "ttir.join_factors",
       "ttir.small_factors_first", "ttir.sink_factor", "ttir.negated_factor", "ttir.times_minus_one",
       "ttir.add_negated", "ttir.join_terms", "ttir.fold_power", "ttir.fold_function", "ttir.move_constant",
       "ttir.delay_broadcast")  # fmt: skip
def constants(d: Drawer) -> Array:
    """Chains of sums, products, quotients, negations and moves with constants."""
    integers = d.maybe(0.3)
    x = d.input(d.shape((0, 1, 2, 2, 3)), d.integer_dtype() if integers else d.dtype())
    for _ in range(d.one(1, 2, 3, 4, 5)):
        x = d.keep(_step(d, x, integers), 0.04)
    return x


def _step(d: Drawer, x: Array, integers: bool) -> Array:
    way = d.one("op", "op", "op", "factor", "negate", "move", "small", "minus negated", "constants", "power", "choose")
    op = d.one(jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum)
    if way == "op":
        y = _constant(d, x)
        if not integers and d.maybe(0.3):
            return d.either_way(jnp.divide, x, y)
        return d.either_way(op, x, y)
    if way == "factor":
        return (
            x * jnp.asarray(d.one(0.5, 2, -1, 3), x.dtype)
            if not integers
            else x * jnp.asarray(d.one(0, 1, 2, 3), x.dtype)
        )
    if way == "negate":
        return -x
    if way == "small":  # a factor of fewer elements, times a constant
        small = d.input(x.shape[-1:] if d.maybe() else (1,) * x.ndim, x.dtype.name)
        return (x * small) * _constant(d, x)
    if way == "minus negated":
        other = -d.input(x.shape, x.dtype.name)
        return d.one(x + other, other + x, x - other, other - x)
    if way == "constants":
        one, other = (
            jnp.full(d.one((), (2,), (3, 1)), d.one(0.5, -2.0, 7.0) if not integers else d.one(2, 3, 100), x.dtype)
            for _ in "ab"
        )
        return x + jnp.max(op(jnp.atleast_1d(one), jnp.max(other)))
    if way == "power" and not integers:
        return x ** d.one(0, 1, 2, 3, -1, 0.5)
    if way == "choose":
        mask = d.one(jnp.full(x.shape, d.maybe()), d.input(x.shape, "bool"), jnp.full((), d.maybe()))
        return jnp.where(mask, x, d.one(_constant(d, x), x, -x))
    if x.ndim < 1 or x.size > 2048:
        return x
    return d.one(
        lambda: x.T, lambda: x.reshape(-1).reshape(x.shape[::-1]), lambda: jnp.broadcast_to(x, (2, *x.shape))[0]
    )()


@idiom("ttir.fold_where", "ttir.clamp_by_constants", "ttir.clamp", "ttir.absorb_constant_truth", "ttir.truth_of_truth",
       "ttnn.truth_in_its_type", "ttnn.cast_truth_once")  # fmt: skip
def truths(d: Drawer) -> Array:
    """Comparisons, logic and choices with constants, with truth values in other types."""
    size = d.shape((0, 1, 2, 3))
    x = d.input(size, d.one("float32", "bfloat16", "int32", "int8"))
    compare = d.one(jnp.equal, jnp.not_equal, jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal)
    t = d.keep(compare(x, d.one(jnp.asarray(0, x.dtype), d.input(d.one(size, size[-1:]), x.dtype.name), x)), 0.05)
    for _ in range(d.one(0, 1, 2, 3)):
        way = d.one("not", "and", "or", "constant", "cast", "cast", "equal")
        if way == "not":
            t = ~t
        elif way == "constant":
            t = d.one(jnp.logical_and, jnp.logical_or, jnp.logical_xor)(t, jnp.full(d.one((), t.shape), d.maybe()))
        elif way == "cast":
            inner = t.astype(d.one(jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint8))
            t = d.one(inner != 0, inner == 0, inner == 1, inner > 0, inner.astype(jnp.int32) != 0, inner < 1)
        elif way == "equal":
            t = d.one(jnp.equal, jnp.not_equal)(
                t, d.one(jnp.full(t.shape, True), jnp.full((), False), d.input(t.shape, "bool"))
            )
        else:
            t = (jnp.logical_and if way == "and" else jnp.logical_or)(t, d.one(d.input(size[-1:], "bool"), t, ~t))
        t = d.keep(t, 0.04)
    way = d.one("where", "cast", "casts", "times", "truth", "reduce", "reshape")
    if way == "where":
        return jnp.where(t, d.one(x, jnp.zeros_like(x)), d.one(x, -x, jnp.ones_like(x)))
    if way == "cast":
        return t.astype(d.one(jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint8, jnp.int8))
    if way == "casts":
        return t.astype(jnp.float32).astype(d.one(jnp.bfloat16, jnp.int32)), t.astype(d.one(jnp.float32, jnp.bfloat16))
    if way == "times" and x.dtype != jnp.int8:
        return x * t.astype(x.dtype) + (1 - t.astype(x.dtype))
    if way == "reduce" and t.ndim:
        return d.one(jnp.any, jnp.all, jnp.sum, jnp.argmax)(t, d.random.randrange(t.ndim))
    return t.reshape(-1).astype(jnp.float32) if way == "reshape" else t


@idiom("ttir.narrow", "ttir.join_casts", "ttnn.join_unsigned_casts", "ttnn.join_integer_casts",
       "ttir.integer_by_way_of_float", "ttir.float_by_way_of_integer")  # fmt: skip
def casts(d: Drawer) -> Array:
    """Chains of casts through floats and integers of each width, with one op between them."""
    types = ("float32", "bfloat16", "float16", "int32", "int8", "uint8", "int16", "uint16", "uint32", "bool")
    x = d.input(d.shape((0, 1, 2, 3)), d.one(*types), scale=d.one(1.0, 40.0))
    for _ in range(d.one(1, 2, 3, 4)):
        if d.maybe(0.35):
            x = _between_casts(d, x)
        x = d.keep(x, 0.05)
        new = d.one(*types)
        if jnp.issubdtype(x.dtype, jnp.floating) and new not in ("float32", "bfloat16", "float16", "bool"):
            limits = jnp.iinfo(new)
            x = jnp.clip(jnp.nan_to_num(x, posinf=0, neginf=0), max(limits.min, -100), 100)
        x = x.astype(new)
    return x


def _between_casts(d: Drawer, x: Array) -> Array:
    if x.dtype == jnp.bool_:
        return ~x
    if jnp.issubdtype(x.dtype, jnp.floating):
        way = d.one("tanh", "round", "floor", "plus", "sum", "reshape")
        if way == "plus":
            return x + d.one(jnp.asarray(d.one(0.5, 1.0, 0.1), x.dtype), d.input(x.shape, "bfloat16").astype(x.dtype))
        if way == "sum" and x.ndim:
            return x.sum(-1)
        return {"tanh": jnp.tanh, "round": jnp.round, "floor": jnp.floor}.get(way, lambda y: y.reshape(-1))(x)
    return d.one(x + jnp.asarray(1, x.dtype), x * x, x, jnp.maximum(x, jnp.asarray(0, x.dtype)))


@idiom("ttir.integer_by_way_of_float", "ttir.float_by_way_of_integer", "ttir.join_casts")
def through_casts(d: Drawer) -> Array:
    """Integers that become floats for a moment, and floats of integers that become integers for one."""
    n = d.input(d.shape((0, 1, 2, 3)), d.one("int8", "uint8", "int16", "uint16", "int32", "bool"))
    n = n.astype(jnp.int32) if n.dtype == jnp.bool_ or d.maybe() else n
    n = jnp.clip(n, 0, d.one(9, 127)) if d.maybe(0.4) else n
    x = d.keep(n.astype(d.one(jnp.float32, jnp.float32, jnp.bfloat16, jnp.float16)))
    if d.maybe(0.6):
        return x.astype(d.or_else(n.dtype, jnp.int32, jnp.int8))
    x = d.one(lambda: x * 2 + 1, lambda: x + 1, lambda: -x, lambda: x * 0.5, lambda: jnp.abs(x), lambda: x)()
    return x.astype(d.one(jnp.int32, jnp.int32, jnp.int16)).astype(d.or_else(x.dtype, jnp.float32))


@idiom("ttnn.join_integer_casts", "ttir.dot_general", "ttnn.join_unsigned_casts", special=False)
def quantised(d: Drawer) -> Array:
    """Products of integers, and rounded and clamped numbers that become integers for a moment."""
    rows, inner, columns = d.size(), d.one(1, 4, 8, 33), d.size()
    if d.maybe(0.4):
        x = d.input((rows, inner), d.dtype(), scale=30.0)
        low, high = d.or_else((-128, 127), (-128.5, 127.0), (-3e7, 3e7))
        y = jnp.clip(jnp.round(x) if d.maybe(0.85) else x, low, high)
        y = y.astype(d.one(jnp.int32, jnp.int32, jnp.int8) if high < 128 else jnp.int32).astype(
            d.one(jnp.float32, jnp.bfloat16)
        )
        return (y - d.one(0.0, 3.0)) * d.one(0.5, 0.1)
    a, b = d.input((rows, inner), d.one("int8", "int32", "uint8")), d.input((inner, columns), d.one("int8", "int32"))
    product = lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    result = d.keep(product).astype(d.one(jnp.float32, jnp.bfloat16, jnp.uint32))
    return result * jnp.asarray(2, result.dtype) if d.maybe() else result
