"""Which function draws a step that an op's sharding rule handles."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz import unreached
from tests.fuzz.draft import Draft

Drawer = Callable[[Draft, str], list[int]]
"""Adds a step with the op of a name to a draft, and returns the numbers of its results."""

DRAWERS: dict[str, list[Drawer]] = {}
"""Drawers by the name of the op."""


def draws(*names: str) -> Callable[[Drawer], Drawer]:
    """Returns a decorator that registers a drawer for ops of some names."""

    def enter(drawer: Drawer) -> Drawer:
        for name in names:
            DRAWERS.setdefault(name, []).append(drawer)
        return drawer

    return enter


UNREACHED = unreached.UNREACHED["sharding rules"]
"""Ops with a sharding rule that no drawn program has, and why."""
