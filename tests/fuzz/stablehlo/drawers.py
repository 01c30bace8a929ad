"""The table of drawers: for each op, composite and converter a function that appends a drawn use of it to a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fuzz.stablehlo.builder import Builder
from tests.fuzz.stablehlo.types import Value
from tt_xla.registry import Registry

Drawer = Callable[[Builder, str], "Value | Sequence[Value]"]
"""Appends an op of the given name with drawn operands and attributes, and returns its results."""

DRAWERS: Registry[str, Drawer] = Registry("drawer")
draws = DRAWERS.register
"""Registers the drawer of ops and composites, given by their full names."""


def draw(builder: Builder, name: str) -> list[Value]:
    """Appends a drawn use of an op, and returns its results."""
    results = DRAWERS[name](builder, name)
    return [results] if isinstance(results, Value) else list(results)
