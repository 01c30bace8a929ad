"""Draws programs that say themselves what each chip does, and what chips send each other."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import jax

from tests.fuzz.annotations import Annotator
from tests.fuzz.cases import NotDrawnError
from tests.fuzz.chips import ChipDraft
from tests.fuzz.judge import Module
from tests.fuzz.kinds.sharded import FAMILIES, lowered
from tests.fuzz.meshes import Layout, Part, layout
from tests.fuzz.partitioned import Partitioned
from tests.fuzz.steps import DRAWERS, EXCHANGES
from tests.fuzz.steps.exchanges import TEXTS


def draw(random: random.Random) -> Partitioned:
    """Draws a body of steps of one chip and exchanges between chips, along all axes of a mesh or some."""
    place = layout(random, whole=True)
    axes = tuple(place.axes)
    manual = axes if random.random() < 0.85 else tuple(axis for axis in axes if axis == random.choice(axes))
    draft = ChipDraft(random, layout=place, manual=manual or axes)
    if random.random() < 0.15:
        return _of_replicas(random, place)
    for _ in range(random.choice((1, 1, 2, 3, 4))):
        with contextlib.suppress(NotDrawnError):
            if random.random() < 0.65:
                name = random.choice(list(EXCHANGES))
                random.choice(EXCHANGES[name])(draft)
            else:
                name = random.choice(FAMILIES[random.choice(list(FAMILIES))])
                random.choice(DRAWERS[name])(draft, name)
            draft.names.append(name)
    results = draft.unused()
    if not results:
        raise NotDrawnError("no step could be drawn")
    return _partitioned(draft, results)


def _of_replicas(random: random.Random, place: Layout) -> Partitioned:
    """Draws a module for one chip that several replicas run, each on tensors of its own."""
    line = Layout(place.board, {"x": place.size}, (Part("x", place.size),))
    draft = ChipDraft(random, layout=line, manual=("x",), replicas=True)
    for _ in range(random.choice((1, 1, 2, 3))):
        with contextlib.suppress(NotDrawnError):
            if random.random() < 0.7:
                random.choice(TEXTS)(draft)
            else:
                name = random.choice(FAMILIES[random.choice(list(FAMILIES))])
                random.choice(DRAWERS[name])(draft, name)
    results = draft.unused()
    if not results:
        raise NotDrawnError("no step could be drawn")
    own, stacked = draft.programs(results)
    source = jax.jit(own, keep_unused=True).lower(*draft.local_arguments()).as_text()
    source = source.replace("mhlo.num_replicas = 1", f"mhlo.num_replicas = {place.size}")
    levels = (random.choice((0, 2)), random.choice((0, 2)))
    return Partitioned(source, _plain(stacked, draft), place.board, levels)


def _plain(stacked: Callable[..., Any], draft: ChipDraft) -> Module:
    """Returns the module of one chip that computes on the stack of all chips' tensors.

    Raises:
        NotDrawnError: JAX cannot stack some step.
    """
    try:
        return Module(lowered(stacked, draft), draft.inputs, in_parts=True)
    except NotImplementedError as error:
        raise NotDrawnError(f"JAX cannot stack the tensors of chips: {error}") from error


def _partitioned(draft: ChipDraft, results: list[int]) -> Partitioned:
    random = draft.random
    sharded, stacked = draft.programs(results)
    gspmd = random.random() < 1 / 3
    before = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", not gspmd)
    try:
        source = lowered(sharded, draft)
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)
    module = _plain(stacked, draft)
    levels = (random.choice((0, 2)), random.choice((0, 2)))
    annotated = Annotator(random, draft.layout, gspmd=gspmd).annotated(source)
    return Partitioned(annotated, module, draft.layout.board, levels)
