"""Draws gathers, scatters, slices at places that are only known at run time, and sorts."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.cases import NotDrawnError
from tests.fuzz.draft import Draft
from tests.fuzz.steps.registry import draws

_MODES = ("clip", "fill", "promise_in_bounds")


@draws("stablehlo.gather")
def take(draft: Draft, name: str) -> list[int]:
    """Draws a lookup of rows along one dimension, with indices outside of the tensor too where the mode allows them."""
    operand = draft.value("ffib", (1, 2, 2, 3))
    shape = draft.avals[operand].shape
    dim, mode = draft.random.randrange(len(shape)), draft.random.choice(_MODES)
    beyond = 3 * (mode != "promise_in_bounds")
    indices = draft.integers(draft.shape((1, 1, 2), 40), -beyond * (mode == "clip"), shape[dim] + beyond)
    before = (slice(None),) * dim
    return draft.add(lambda x, i: x.at[(*before, i)].get(mode=mode), operand, indices)


@draws("stablehlo.gather")
def take_along_axis(draft: Draft, name: str) -> list[int]:
    """Draws a gather with batching dimensions."""
    operand = draft.value("fi", (2, 3))
    shape = draft.avals[operand].shape
    dim = draft.random.randrange(len(shape))
    sizes = tuple(draft.random.choice((1, 2, 4, 5, 8)) if d == dim else size for d, size in enumerate(shape))
    indices = draft.integers(sizes, 0, shape[dim])
    mode = draft.random.choice(_MODES)
    return draft.add(lambda x, i: jnp.take_along_axis(x, i, axis=dim, mode=mode), operand, indices)


@draws("stablehlo.gather")
def gather(draft: Draft, name: str) -> list[int]:
    """Draws a gather of windows at places with one or two coordinates."""
    operand = draft.value("fi", (2, 3))
    shape = draft.avals[operand].shape
    rank, choose = len(shape), draft.random.choice
    indexed = sorted(draft.random.sample(range(rank), choose((1, 2))))
    window = [draft.random.randint(1, min(size, 3)) if d in indexed else size for d, size in enumerate(shape)]
    collapsed = [d for d in indexed if window[d] == 1 and draft.random.random() < 0.7]
    batch = draft.shape((1, 2), 12)
    offset = rank - len(collapsed)
    places = sorted(draft.random.sample(range(offset + len(batch)), offset))
    numbers = lax.GatherDimensionNumbers(
        tuple(places), tuple(collapsed), tuple(draft.random.sample(indexed, len(indexed)))
    )
    indices = draft.integers((*batch, len(indexed)), 0, max(shape))
    mode = choose((lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP))

    def function(x: Any, i: Any) -> Any:
        return lax.gather(x, i, numbers, window, mode=mode)

    return draft.add(function, operand, indices)


@draws("stablehlo.scatter")
def scatter(draft: Draft, name: str) -> list[int]:
    """Draws updates of rows along one dimension; rows that are set, and not joined, have different indices."""
    operand = draft.value("fffi", (1, 2, 2, 3))
    aval = draft.avals[operand]
    dim = draft.random.randrange(len(aval.shape))
    way = draft.random.choice(("add", "add", "add", "set", "max", "min", "multiply"))
    count = draft.random.choice((1, 2, 4, 5, 8, 8, 12))
    beyond = draft.random.choice((0, 0, 3))
    if way == "set":
        rows = draft.random.sample(range(aval.shape[dim] + beyond), min(count, aval.shape[dim] + beyond))
        indices = draft.argument(np.array(rows, np.int32))
        count = len(rows)
    else:
        indices = draft.integers((count,), 0, aval.shape[dim] + beyond)
    updates = draft.like(operand, (*aval.shape[:dim], count, *aval.shape[dim + 1 :]))
    before = (slice(None),) * dim

    def function(x: Any, i: Any, u: Any) -> Any:
        return getattr(x.at[(*before, i)], way)(u, mode="drop")

    return draft.add(function, operand, indices, updates)


@draws("stablehlo.scatter")
def scatter_points(draft: Draft, name: str) -> list[int]:
    """Draws additions to elements or windows at places with two coordinates."""
    operand = draft.value("fi", (2, 3))
    shape = draft.avals[operand].shape
    count = draft.random.choice((2, 4, 7, 8))
    rows, columns = draft.integers((count,), 0, shape[0]), draft.integers((count,), 0, shape[1])
    updates = draft.like(operand, (count, *shape[2:]))
    way = draft.random.choice(("add", "max"))

    def function(x: Any, i: Any, j: Any, u: Any) -> Any:
        return getattr(x.at[i, j], way)(u)

    return draft.add(function, operand, rows, columns, updates)


def _starts(draft: Draft, shape: tuple[int, ...]) -> list[int]:
    """Draws a starting place; one in four lies outside of the tensor."""
    dtype = draft.random.choice(("int32", "int32", "uint32", "int8"))
    low = 0 if dtype.startswith("u") else -3
    return [draft.integers((), low if draft.random.random() < 0.25 else 0, size + 2, dtype) for size in shape]


@draws("stablehlo.dynamic_slice")
def dynamic_slice(draft: Draft, name: str) -> list[int]:
    """Draws a slice whose start is an argument, also one that is moved into the tensor."""
    operand = draft.value("fib", (1, 2, 3))
    shape = draft.avals[operand].shape
    sizes = tuple(size if draft.random.random() < 0.4 else draft.random.randint(1, size) for size in shape)
    starts = _starts(draft, shape)
    return draft.add(lambda x, *places: lax.dynamic_slice_p.bind(x, *places, slice_sizes=sizes), operand, *starts)


@draws("stablehlo.dynamic_update_slice")
def dynamic_update_slice(draft: Draft, name: str) -> list[int]:
    """Draws a write at a place that is an argument."""
    operand = draft.value("fib", (1, 2, 3))
    shape = draft.avals[operand].shape
    sizes = tuple(size if draft.random.random() < 0.4 else draft.random.randint(1, size) for size in shape)
    update = draft.like(operand, sizes)
    starts = _starts(draft, shape)
    return draft.add(lambda x, u, *places: lax.dynamic_update_slice_p.bind(x, u, *places), operand, update, *starts)


@draws("stablehlo.sort")
def sort(draft: Draft, name: str) -> list[int]:
    """Draws a stable sort of one to three tensors by one or two of them, ascending or not."""
    operand = draft.value("ffi", (1, 2, 3))
    shape = draft.avals[operand].shape
    dim = draft.random.randrange(len(shape))
    way = draft.random.choice(("one", "descending", "many", "arg"))
    if way == "one":
        return draft.add(lambda x: lax.sort(x, dimension=dim), operand)
    draft.differentiable = False
    if way == "arg":
        return draft.add(lambda x: jnp.argsort(x, axis=dim), operand)
    if way == "descending":
        return draft.add(lambda x: jnp.sort(x, axis=dim, descending=True), operand)
    others = [draft.integers(shape, 0, 4), draft.like(operand)][: draft.random.choice((1, 2))]
    keys = draft.random.randint(1, 1 + len(others))
    order = draft.random.sample(range(1 + len(others)), 1 + len(others))

    def function(*tensors: Any) -> Any:
        return lax.sort(tuple(tensors[index] for index in order), dimension=dim, num_keys=keys)

    return draft.add(function, operand, *others)


@draws("chlo.top_k")
def top_k(draft: Draft, name: str) -> list[int]:
    """Draws the largest elements and their places, of numbers with and without equal ones."""
    operand = draft.value("ffi", (1, 2, 3), lambda aval: aval.shape[-1] > 1)
    size = draft.avals[operand].shape[-1]
    if draft.avals[operand].dtype.itemsize == 0:
        raise NotDrawnError("no elements")
    count = draft.random.randint(1, min(size, 6))
    draft.differentiable = False
    # The chip takes zeros of both signs for equal, where StableHLO's order of floats has 0.0 above -0.0.
    return draft.add(lambda x: lax.top_k(jnp.where(x == 0, jnp.zeros_like(x), x), count), operand)
