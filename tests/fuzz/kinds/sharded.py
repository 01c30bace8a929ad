"""Draws programs whose tensors are split over the chips of a board, by shardings of any of their values."""

from __future__ import annotations

import contextlib
import random

import jax

from tests.fuzz.annotations import Annotator
from tests.fuzz.cases import NotDrawnError
from tests.fuzz.draft import Draft
from tests.fuzz.judge import Module
from tests.fuzz.meshes import layout
from tests.fuzz.partitioned import Partitioned
from tests.fuzz.steps import DRAWERS

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
    return partitioned(draft, draft.function(results))


def partitioned(draft: Draft, function: object) -> Partitioned:
    """Returns a drawn program with drawn shardings."""
    source = lowered(function, draft)
    random = draft.random
    annotator = Annotator(random, place := layout(random), gspmd=random.random() < 1 / 3)
    levels = (random.choice((0, 2)), random.choice((0, 2)))
    module = Module(source, draft.inputs)
    return Partitioned(annotator.annotated(source), module, place.board, levels, one_chip=random.random() < 0.1)


def lowered(function: object, draft: Draft) -> str:
    """Returns the StableHLO text of a drawn function for one chip."""
    avals = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in draft.inputs]
    return jax.jit(function, keep_unused=True).lower(*avals).as_text()
