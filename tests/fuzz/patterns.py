"""The rewriting patterns of the compiler, by name, and which of them fire."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tt_xla import compiler
from tt_xla.compiler.rewriting import Changes, Pattern


def name_of(op: str, function: str) -> str:
    """Returns the name of a pattern: dialect of the ops that it rewrites, and its function: ``ttir.join_reshapes``."""
    return f"{op.partition('.')[0]}.{function}"


@cache
def patterns() -> dict[str, Pattern[Any]]:
    """Returns every pattern of the compiler by its name.

    Raises:
        ValueError: Two patterns have the same name.
    """
    found: dict[str, Pattern[Any]] = {}
    for info in sorted(pkgutil.walk_packages(compiler.__path__, f"{compiler.__name__}."), key=lambda one: one.name):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Pattern):
                folder = info.name.removeprefix(f"{compiler.__name__}.")
                name = name_of(folder if folder.startswith(("ttir.", "ttnn.")) else value.roots[0].name, value.name)
                if found.setdefault(name, value) is not value:
                    raise ValueError(f"Two patterns have the name {name}; rename one of their functions.")
    return found


@contextmanager
def counted(fires: Counter[str]) -> Generator[None]:
    """Counts in ``fires``, by names of patterns, the rewritings that are made in this block."""
    changes = Changes()
    try:
        with changes.counting(""):
            yield
    finally:
        fires.update(name_of(change.op, change.pattern) for change in changes.applied)
