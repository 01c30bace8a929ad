"""The kinds of programs that are drawn, each a module with a function ``draw`` that is imported when it is needed."""

from __future__ import annotations

import importlib
import itertools
import random
from collections import Counter
from collections.abc import Collection, Iterator

from tests.fuzz.cases import Case, Draw

SHARES: dict[str, int] = {
    "written": 1,
    "ops": 6,
    "expressions": 5,
    "jaxes": 6,
    "padded": 4,
    "aten": 6,
    "idioms": 4,
    "texts": 4,
    "formats": 1,
    "graphs": 3,
    "sharded": 8,
    "manual": 4,
}
"""Of so many programs each kind has this many."""


def load(kind: str) -> Draw:
    """Imports a kind, or a module with another path, and returns the function that draws its programs."""
    return importlib.import_module(kind if "." in kind else f"tests.fuzz.kinds.{kind}").draw


def cases(seed: str, names: Collection[str] = ()) -> Iterator[Case]:
    """Yields cases for ever; each kind has its share, or each of those with these names."""
    order = [kind for kind, share in SHARES.items() if not names or kind in names for _ in range(share)]
    random.Random(0).shuffle(order)
    numbers: Counter[str] = Counter()
    for kind in itertools.cycle(order):
        yield Case(kind, seed, numbers[kind])
        numbers[kind] += 1
