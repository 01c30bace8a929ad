"""The kinds of programs that are drawn. Each is a module with a function ``draw``; they are imported when they are drawn."""

from __future__ import annotations

import importlib

from tests.fuzz.cases import Draw

SHARES: dict[str, int] = {
    "written": 1,
    "ops": 6,
    "aten": 6,
    "idioms": 4,
    "texts": 4,
    "sharded": 8,
}
"""Of so many programs each kind has this many."""


def load(kind: str) -> Draw:
    """Imports a kind and returns the function that draws its programs."""
    return importlib.import_module(f"tests.fuzz.kinds.{kind}").draw
