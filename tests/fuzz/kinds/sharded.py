"""Draws programs whose tensors are split over the chips of a board, by shardings of any of their values."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tests.fuzz.annotations import Annotator
from tests.fuzz.cases import NotDrawnError
from tests.fuzz.draft import Draft
from tests.fuzz.judge import Module
from tests.fuzz.meshes import layout
from tests.fuzz.partitioned import Partitioned
from tests.fuzz.steps import DRAWERS
from tests.fuzz.values import is_float

FAMILIES: dict[str, list[str]] = {}
"""Ops by the module that draws them, so that the many elementwise ops do not crowd out others."""
for _name, _drawers in DRAWERS.items():
    FAMILIES.setdefault(_drawers[-1].__module__, []).append(_name)


def draw(random: random.Random) -> Partitioned:
    """Draws a chain of steps, their gradients in one of eight programs, and shardings."""
    draft = Draft(random)
    for _ in range(random.choice((1, 1, 2, 2, 3, 4, 5))):
        family = random.choice(list(FAMILIES))
        name = random.choice(FAMILIES[family])
        with contextlib.suppress(NotDrawnError):
            random.choice(DRAWERS[name])(draft, name)
            draft.names.append(name)
    results = draft.unused()
    if not results:
        raise NotDrawnError("no step could be drawn")
    function = draft.function(results)
    if draft.differentiable and random.random() < 1 / 3:
        function = _with_gradients(draft, function)
    return partitioned(draft, function)


def _with_gradients(draft: Draft, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of a number made from a program's floats, and of its gradients; the program if it has none."""
    arguments = tuple(index for index, value in enumerate(draft.inputs) if is_float(value.dtype))
    weights = _weights(draft)

    def loss(*values: Any) -> Any:
        results = [result for result in function(*values) if jnp.issubdtype(result.dtype, jnp.floating)]
        return sum(
            (jnp.sum(result.astype(jnp.float32) * weight) for result, weight in zip(results, weights, strict=False)),
            0.0,
        )

    with_gradients = jax.value_and_grad(loss, arguments)
    try:
        jax.eval_shape(with_gradients, *draft.inputs)
    except (TypeError, ValueError, NotImplementedError):
        return function
    draft.names.append("gradients")
    return with_gradients


def _weights(draft: Draft) -> list[float]:
    """Draws a small number for each result, so that gradients tell results apart."""
    return [draft.random.choice((1.0, -0.5, 2.0)) for _ in draft.avals]


def partitioned(draft: Draft, function: Callable[..., Any]) -> Partitioned:
    """Returns a drawn program with drawn shardings."""
    source = lowered(function, draft)
    random = draft.random
    annotator = Annotator(random, place := layout(random), gspmd=random.random() < 1 / 3)
    levels = (random.choice((0, 2)), random.choice((0, 2)))
    module = Module(source, draft.inputs, in_parts=True)
    return Partitioned(annotator.annotated(source), module, place.board, levels, one_chip=random.random() < 0.1)


def lowered(function: Callable[..., Any], draft: Draft) -> str:
    """Returns the StableHLO text of a drawn function for one chip."""
    avals = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in draft.inputs]
    return jax.jit(function, keep_unused=True).lower(*avals).as_text()
