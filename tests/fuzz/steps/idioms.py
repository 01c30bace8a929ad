"""Draws what passes rewrite: exchanges with arithmetic around them, and neighbours of those forms that must stay."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.chips import ChipDraft, added, by_groups
from tests.fuzz.steps.exchanges import exchanges, groups_of, some_axes, without


def _psum(draft: ChipDraft, operand: int, axes: tuple[str, ...]) -> int:
    emulated = by_groups(groups_of(draft, axes), draft.mesh.size, lambda group, place: added(group))
    return draft.exchange(lambda x: lax.psum(x, axes), emulated, operand, varying=without(draft, operand, axes))[0]


def _pmax(draft: ChipDraft, operand: int, axes: tuple[str, ...]) -> int:
    emulated = by_groups(groups_of(draft, axes), draft.mesh.size, lambda group, place: jnp.max(group, 0))
    return draft.exchange(lambda x: lax.pmax(x, axes), emulated, operand, varying=without(draft, operand, axes))[0]


def _gather(draft: ChipDraft, operand: int, axis: str, dim: int) -> int:
    def stacked(group: Any, place: int) -> Any:
        return jnp.concatenate(list(group), dim)

    emulated = by_groups(groups_of(draft, (axis,)), draft.mesh.size, stacked)

    def apply(x: Any) -> Any:
        return lax.all_gather(x, axis, axis=dim, tiled=True)

    return draft.exchange(apply, emulated, operand, varying=without(draft, operand, (axis,)))[0]


def _scattered(draft: ChipDraft, operand: int, axis: str, dim: int) -> int:
    count = draft.layout.axes[axis]

    def stacked(group: Any, place: int) -> Any:
        total = added(group)
        size = total.shape[dim] // count
        return lax.slice_in_dim(total, place * size, (place + 1) * size, axis=dim)

    emulated = by_groups(groups_of(draft, (axis,)), draft.mesh.size, stacked)

    def apply(x: Any) -> Any:
        return lax.psum_scatter(x, axis, scatter_dimension=dim, tiled=True)

    return draft.exchange(apply, emulated, operand, varying=draft.varying[operand] | {axis})[0]


def _part(draft: ChipDraft, operand: int, axis: str, dim: int) -> int:
    """Adds the part of a tensor at a chip's place along an axis."""
    count = draft.layout.axes[axis]
    size = draft.avals[operand].shape[dim] // count
    places = np.zeros(draft.mesh.size, np.int32)
    for group in groups_of(draft, (axis,)):
        places[group] = np.arange(len(group))

    def emulated(stack: Any) -> Any:
        starts = places * size
        return jnp.stack([lax.slice_in_dim(stack[c], s, s + size, axis=dim) for c, s in enumerate(map(int, starts))])

    def apply(x: Any) -> Any:
        return lax.dynamic_slice_in_dim(x, lax.axis_index(axis) * size, size, axis=dim)

    return draft.exchange(apply, emulated, operand, varying=draft.varying[operand] | {axis})[0]


@exchanges("stablehlo.all_reduce")
def bias_of_a_sum(draft: ChipDraft) -> list[int]:
    """Draws a product whose sum over chips gets a bias: a constant, an argument that may differ, another product."""
    choose = draft.random.choice
    rows, inner, columns = choose((1, 4, 8, 32)), choose((8, 16, 32)), choose((1, 8, 32, 33))
    dtype = choose(("float32", "float32", "bfloat16"))
    x, w = draft.drawn((rows, inner), dtype), draft.drawn((inner, columns), dtype)
    (product,) = draft.add(lambda x, w: x @ w, x, w)
    total = choose((_psum, _psum, _psum, _pmax))(draft, product, some_axes(draft))
    shape = choose(((columns,), (1, columns), (rows, columns), (rows, 1), (1, 1)))
    if draft.random.random() < 0.4:
        constant = (np.arange(math.prod(shape)) % 5 - 1).reshape(shape).astype(draft.avals[total].dtype)
        results = draft.add(lambda y: y + constant, total)
    else:
        results = draft.add(lambda y, b: y + b, total, draft.drawn(shape, dtype))
    if draft.random.random() < 0.2:
        results += draft.add(lambda y: y * 2, draft.random.choice((total, product)))
    return results


@exchanges("stablehlo.all_reduce")
def norm(draft: ChipDraft) -> list[int]:
    """Draws an RMS or layer norm whose dimension is split, and norms that count, square or divide otherwise."""
    choose = draft.random.choice
    axes = some_axes(draft)
    count = math.prod(draft.layout.axes[axis] for axis in axes)
    width = choose((32, 32, 64, 128, 48))
    shape = choose(((1, width), (32, width), (2, 4, width), (4, width)))
    dtype = choose(("float32", "float32", "bfloat16"))
    x = draft.drawn(shape, dtype)
    divisor = choose((width * count,) * 4 + (width, 7))
    wide = jnp.float32 if choose((True, False)) else dtype
    centred = draft.random.random() < 0.25
    if centred:
        (sums,) = draft.add(lambda x: jnp.sum(x, -1, keepdims=True), x)
        (x,) = draft.add(lambda x, s: x - (s / divisor).astype(x.dtype), x, _psum(draft, sums, axes))
    dim = choose((-1, -1, -1, -1, 0))
    power = choose((2, 2, 2, 2, 4))
    (squares,) = draft.add(lambda x: jnp.sum(x.astype(wide) ** power, dim, keepdims=True), x)
    total = choose((_psum,) * 5 + (_pmax,))(draft, squares, axes)
    epsilon = choose((1e-5, 1e-3, 1.0))

    def normalised(x: Any, s: Any) -> Any:
        return (x.astype(wide) * lax.rsqrt(s / divisor + epsilon)).astype(x.dtype)

    (result,) = draft.add(normalised, x, total)
    if choose((True, False)):
        weight = draft.drawn((shape[-1],), dtype)
        return draft.add(lambda x, w: x * w, result, weight)
    return [result]


@exchanges("stablehlo.all_reduce")
def sums(draft: ChipDraft) -> list[int]:
    """Draws several sums over the same or other axes, some of which depend on others."""
    choose = draft.random.choice
    axes, results = some_axes(draft), []
    dtype = choose(("float32", "float32", "bfloat16"))
    for _ in range(choose((2, 2, 3, 4))):
        shape = choose(((8, 16), (4, 16), (16,), (), (33,), (8, 5), (2, 3, 16)))
        operand = draft.drawn(shape, dtype)
        if results and draft.random.random() < 0.2:
            earlier = results[-1]
            (operand,) = draft.add(lambda x, y: x + y.mean().astype(x.dtype), operand, earlier)
        if draft.random.random() < 0.5:
            (operand,) = draft.add(lambda x: x * 2, operand)
        results.append(_psum(draft, operand, axes if draft.random.random() < 0.7 else some_axes(draft)))
    return draft.add(lambda *values: values, *results)


@exchanges("stablehlo.all_reduce")
def large_sum(draft: ChipDraft) -> list[int]:
    """Draws the sum of a large tensor over all axes."""
    shape = draft.random.choice(((128, 512), (64, 1024), (256, 130), (63, 65)))
    rows, columns = draft.drawn((shape[0], 1), "float32"), draft.drawn((1, shape[1]), "float32")
    axes = tuple(draft.random.sample(draft.manual, len(draft.manual)))
    emulated = by_groups(groups_of(draft, axes), draft.mesh.size, lambda group, place: added(group))
    step = draft.random.choice((7, 16))

    def thinned(value: Any) -> Any:
        return value[::step, ::step]

    def apply(r: Any, c: Any) -> Any:
        return thinned(lax.psum(r * c, axes))

    def stacked(r: Any, c: Any) -> Any:
        return jax.vmap(thinned)(emulated(r * c))

    return draft.exchange(apply, stacked, rows, columns, varying=frozenset())


@exchanges("stablehlo.all_gather")
def around_a_gather(draft: ChipDraft) -> list[int]:
    """Draws elementwise ops, casts, slices and parts behind and before gathers."""
    choose = draft.random.choice
    axis = choose(draft.manual)
    count = draft.layout.axes[axis]
    dtype = choose(("float32", "float32", "bfloat16", "int32"))
    x = draft.drawn((choose((4, 8)) * 2, choose((8, 16)) * count), dtype)
    dim = choose((0, 1))
    if choose((True, False, False)) and dtype != "int32":
        narrow = np.dtype("float32") if dtype == "bfloat16" else jnp.bfloat16
        (x,) = draft.add(lambda x: x.astype(narrow), x)
    first = _gather(draft, x, axis, dim)
    way = choose(("unary", "binary", "constant", "widen", "slice", "part", "other part", "gathered twice"))
    if way == "unary":
        return draft.add(choose((lambda g: jnp.abs(g), lambda g: -g, lambda g: (g > 0).astype(g.dtype))), first)
    if way == "binary":
        y = draft.like(x)
        other_axis, other_dim = (axis, dim) if draft.random.random() < 0.7 else (choose(draft.manual), dim)
        second = _gather(draft, y, other_axis, other_dim)
        if draft.avals[second].shape != draft.avals[first].shape:
            return draft.add(lambda a, b: (a, -b), first, second)
        return draft.add(choose((lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a > b)), first, second)
    if way == "constant":
        return draft.add(choose((lambda g: g * 3, lambda g: 2 - g, lambda g: jnp.maximum(g, 1))), first)
    if way == "widen":
        return draft.add(lambda g: g.astype(jnp.float32), first)
    if way == "slice":
        start, cut = choose((0, 1, 3)), choose((0, 1))
        return draft.add(lambda g: lax.slice_in_dim(g, start, g.shape[cut] - 1, axis=cut), first)
    if way == "part" or (way == "other part" and len(draft.manual) == 1):
        cut = choose((0, 1))
        size = draft.avals[first].shape[cut]
        return [_part(draft, first, axis, cut)] if size % count == 0 else [first]
    if way == "other part":
        other = choose([name for name in draft.manual if name != axis])
        cut = choose((0, 1))
        if draft.avals[first].shape[cut] % draft.layout.axes[other]:
            return [first]
        return [_part(draft, first, other, cut)]
    return [first, *draft.add(lambda g: g + g, first)]


@exchanges("stablehlo.reduce_scatter")
def around_a_sum(draft: ChipDraft) -> list[int]:
    """Draws parts and slices of sums, and gathers of parts of sums."""
    choose = draft.random.choice
    axis = choose(draft.manual)
    count = draft.layout.axes[axis]
    x = draft.drawn((4 * count, 8 * count), choose(("float32", "float32", "int32", "bfloat16")))
    dim = choose((0, 1))
    way = choose(("scattered", "other dim", "other axis", "part", "slice", "used twice"))
    if way in ("scattered", "other dim", "used twice"):
        part = _scattered(draft, x, axis, dim)
        gathered = _gather(draft, part, axis, dim if way != "other dim" else 1 - dim)
        return [gathered, *draft.add(lambda p: p * 2, part)] if way == "used twice" else [gathered]
    total = _psum(draft, x, some_axes(draft)) if way == "other axis" else _psum(draft, x, (axis,))
    if way == "slice":
        return draft.add(lambda t: lax.slice_in_dim(t, 1, t.shape[dim] - 1, axis=dim), total)
    result = _part(draft, total, axis, dim)
    scaled = choose((lambda p: p * 2, lambda p: jnp.abs(p), lambda p: p))
    return draft.add(scaled, result)
