"""Draws matrix products, convolutions, and sums over windows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.cases import NotDrawnError
from tests.fuzz.draft import Draft, kind_of
from tests.fuzz.steps.registry import draws


def _small(draft: Draft) -> int:
    return draft.random.choice((1, 2, 3, 4, 4, 6, 8, 8, 16))


@draws("stablehlo.dot_general")
def dot_general(draft: Draft, name: str) -> list[int]:
    """Draws a product with any dimensions as batch and contracted ones, in any order of the second operand."""
    first = draft.value("ffffi", (1, 2, 2, 3), lambda aval: aval.dtype.itemsize >= 2)
    aval = draft.avals[first]
    dims = draft.random.sample(range(len(aval.shape)), len(aval.shape))
    contracted = dims[: draft.random.choice((1, 1, 1, 2))]
    batch = dims[len(contracted) :][: draft.random.choice((0, 0, 1, 1, 2))]
    free = [_small(draft) for _ in range(draft.random.choice((0, 1, 1, 1, 2)))]
    roles = (
        [("contracted", dim) for dim in contracted] + [("batch", dim) for dim in batch] + [("free", n) for n in free]
    )
    draft.random.shuffle(roles)
    shape = tuple(number if role == "free" else aval.shape[number] for role, number in roles)
    fitting = [i for i, other in enumerate(draft.avals) if (other.shape, other.dtype) == (shape, aval.dtype)]
    second = draft.random.choice(fitting) if fitting else draft.drawn(shape, aval.dtype.name)
    numbers = (
        (tuple(contracted), tuple(roles.index(("contracted", dim)) for dim in contracted)),
        (tuple(batch), tuple(roles.index(("batch", dim)) for dim in batch)),
    )
    wide = aval.dtype.name in ("bfloat16", "float16") and draft.random.random() < 0.3
    preferred = np.dtype("float32") if wide else None
    return draft.add(lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=preferred), first, second)


@draws("stablehlo.convolution")
def convolution(draft: Draft, name: str) -> list[int]:
    """Draws a convolution of one or two spatial dimensions with its strides, dilations, padding, groups and layout."""
    choose = draft.random.choice
    spatial = choose((1, 2, 2))
    groups, batch_groups = choose(((1, 1), (1, 1), (1, 1), (2, 1), (4, 1), (1, 2)))
    batch, inputs, outputs = (
        choose((1, 2, 4)) * batch_groups,
        groups * choose((1, 2, 4)),
        groups * batch_groups * choose((1, 2, 4)),
    )
    sizes = [choose((5, 6, 7, 8, 8, 12, 16)) for _ in range(spatial)]
    kernel = [choose((1, 2, 3, 3)) for _ in range(spatial)]
    letters = "HW"[:spatial]
    layouts = (
        ("NC" + letters, "OI" + letters, "NC" + letters),
        ("N" + letters + "C", letters + "IO", "N" + letters + "C"),
    )
    layout = choose(layouts)
    if draft.random.random() < 0.2:
        layout = ("C" + letters + "N", "I" + letters + "O", "N" + letters + "C")
    left = {"N": batch, "C": inputs, **dict(zip(letters, sizes, strict=True))}
    right = {"O": outputs, "I": inputs // groups, **dict(zip(letters, kernel, strict=True))}
    dtype = choose(("float32", "float32", "bfloat16"))
    shape = tuple(left[letter] for letter in layout[0])
    earlier = [i for i, aval in enumerate(draft.avals) if (aval.shape, aval.dtype) == (shape, np.dtype(dtype))]
    x = choose(earlier) if earlier else draft.drawn(shape, dtype)
    w = draft.drawn(tuple(right[letter] for letter in layout[1]), dtype)
    strides = [choose((1, 1, 1, 2, 3)) for _ in range(spatial)]
    pads: Any = choose(("SAME", "VALID", None))
    if pads is None:
        pads = [(choose((0, 1, 2, -1)), choose((0, 1, 3))) for _ in range(spatial)]
    around, within = ([choose((1, 1, 1, 2)) for _ in range(spatial)] for _ in range(2))
    if pads == "SAME":
        within = [1] * spatial

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            *(x, w, strides, pads, within, around, layout),
            feature_group_count=groups,
            batch_group_count=batch_groups,
        )

    return draft.add(function, x, w)


def _window(draft: Draft, shape: tuple[int, ...]) -> dict[str, Any]:
    """Draws a window along one or two dimensions."""
    rank, choose = len(shape), draft.random.choice
    window, strides, pads, dilation = [1] * rank, [1] * rank, [(0, 0)] * rank, [1] * rank
    for dim in draft.random.sample(range(rank), min(rank, choose((1, 2)))):
        window[dim] = min(choose((2, 2, 3)), shape[dim])
        strides[dim] = choose((1, 2, 2, 3))
        pads[dim] = choose(((0, 0), (0, 0), (1, 1), (0, 1), (2, 0)))
        pads[dim] = tuple(min(pad, window[dim] - 1) for pad in pads[dim])
        dilation[dim] = choose((1, 1, 1, 2))
        if (window[dim] - 1) * dilation[dim] + 1 > shape[dim] + sum(pads[dim]):
            dilation[dim] = 1
    return {"window_dimensions": window, "window_strides": strides, "padding": pads, "window_dilation": dilation}


_JOINS = {"add": lax.add, "max": lax.max, "min": lax.min, "mul": lax.mul}


def _start(kind: str, dtype: np.dtype) -> Any:
    """Returns the neutral element of a way to join elements."""
    if kind in ("max", "min"):
        low = kind == "max"
        if kind_of(dtype) == "f":
            return dtype.type(-np.inf if low else np.inf)
        return dtype.type(np.iinfo(dtype).min if low else np.iinfo(dtype).max)
    return dtype.type(kind == "mul")


@draws("stablehlo.reduce_window")
def reduce_window(draft: Draft, name: str) -> list[int]:
    """Draws a pooling, also with a dilated operand or with an initial value that is not neutral."""
    operand = draft.value("fffi", (1, 2, 3, 4))
    aval = draft.avals[operand]
    kind = draft.random.choice(("add", "add", "max", "max", "min", "mul"))
    values = _window(draft, aval.shape)
    if draft.random.random() < 0.15:
        values["base_dilation"] = [draft.random.choice((1, 2)) for _ in aval.shape]
    start = aval.dtype.type(2) if draft.random.random() < 0.1 else _start(kind, aval.dtype)
    return draft.add(lambda x: lax.reduce_window(x, start, _JOINS[kind], **values), operand)


@draws("stablehlo.reduce_window")
def cumulative(draft: Draft, name: str) -> list[int]:
    """Draws a cumulative sum, product, maximum or minimum as a window over the whole dimension."""
    operand = draft.value("fffi", (1, 2, 3), lambda aval: max(aval.shape, default=0) > 1)
    aval = draft.avals[operand]
    dim = draft.random.choice([d for d, size in enumerate(aval.shape) if size > 1])
    kind = draft.random.choice(("add", "add", "max", "min", "mul"))
    size = aval.shape[dim]
    window = [size if d == dim else 1 for d in range(len(aval.shape))]
    backwards = draft.random.random() < 0.4
    pads = [((0, size - 1) if backwards else (size - 1, 0)) if d == dim else (0, 0) for d in range(len(aval.shape))]
    start = _start(kind, aval.dtype)
    ones = [1] * len(window)
    return draft.add(lambda x: lax.reduce_window(x, start, _JOINS[kind], window, ones, pads), operand)


@draws("stablehlo.select_and_scatter")
def select_and_scatter(draft: Draft, name: str) -> list[int]:
    """Draws the gradient of a maximum or minimum over windows."""
    operand = draft.value("f", (2, 3, 4), lambda aval: aval.dtype == np.float32)
    aval = draft.avals[operand]
    values = _window(draft, aval.shape) | {"window_dilation": [1] * len(aval.shape)}
    kind = draft.random.choice(("max", "max", "min"))
    start = _start(kind, aval.dtype)

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, start, _JOINS[kind], **values)

    try:
        shape = jax.eval_shape(pooled, aval).shape
    except (TypeError, ValueError) as error:
        raise NotDrawnError(str(error)) from error
    if 0 in shape:
        raise NotDrawnError("no window")
    weights = draft.drawn(shape, "float32")
    draft.differentiable = False
    return draft.add(lambda x, w: jax.vjp(pooled, x)[1](w)[0], operand, weights)


@draws("stablehlo.reduce")
def reduce(draft: Draft, name: str) -> list[int]:
    """Draws a reduction over some dimensions, with a neutral or another initial value."""
    kind = draft.random.choice(("add", "add", "add", "max", "min", "mul", "and", "or", "arg"))
    if kind in ("and", "or"):
        operand = draft.value("bi", (1, 2, 3))
        aval = draft.avals[operand]
        dims = _some_dims(draft, len(aval.shape))
        one = aval.dtype.type(True) if aval.dtype == np.bool_ else np.array(-1).astype(aval.dtype)[()]
        start = one if kind == "and" else aval.dtype.type(0)
        join = lax.bitwise_and if kind == "and" else lax.bitwise_or
        draft.differentiable = False
        return draft.add(lambda x: lax.reduce(x, start, join, dims), operand)
    operand = draft.value("fffi", (1, 2, 2, 3))
    aval = draft.avals[operand]
    if kind == "arg":
        draft.differentiable = False
        dim, choice = draft.random.randrange(len(aval.shape)), draft.random.choice((jnp.argmax, jnp.argmin))
        return draft.add(lambda x: choice(x, axis=dim), operand)
    dims = _some_dims(draft, len(aval.shape))
    start = aval.dtype.type(3) if draft.random.random() < 0.2 else _start(kind, aval.dtype)
    return draft.add(lambda x: lax.reduce(x, start, _JOINS[kind], dims), operand)


@draws("stablehlo.reduce")
def variadic_reduce(draft: Draft, name: str) -> list[int]:
    """Draws one reduction of two tensors by different sums."""
    one = draft.value("f", (1, 2, 3))
    other = draft.like(one)
    aval = draft.avals[one]
    dims = _some_dims(draft, len(aval.shape))
    zero, low = aval.dtype.type(0), aval.dtype.type(-np.inf)

    def function(x: Any, y: Any) -> Any:
        return lax.reduce((x, y), (zero, low), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), dims)

    draft.differentiable = False
    return draft.add(function, one, other)


def _some_dims(draft: Draft, rank: int) -> tuple[int, ...]:
    count = min(rank, draft.random.choice((1, 1, 1, 2, 3)))
    return tuple(sorted(draft.random.sample(range(rank), count)))
