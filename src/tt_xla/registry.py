"""Tables that decorators fill: converters, lowerings, kernels and lowering rules of aten."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Registry(dict[K, V]):
    """A table in which each key is registered once.

    Args:
        what: singular noun for a value, such as "converter"; the error about a duplicate uses it.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __setitem__(self, key: K, value: V) -> None:
        """Registers a value.

        Raises:
            ValueError: the key is registered already; the message names both values.
        """
        if key in self:
            name = key.name if isinstance(key, type) and hasattr(key, "name") else key  # pyright: ignore
            raise ValueError(f"duplicate {self.what} for {name}: {_place(self[key])} and {_place(value)}")
        super().__setitem__(key, value)

    def register(self, *keys: K) -> Callable[[V], V]:
        """Returns a decorator that registers the decorated value under each of ``keys``."""

        def enter(value: V) -> V:
            for key in keys:
                self[key] = value
            return value

        return enter


def _place(value: object) -> str:
    """Returns file and line of a function, or of the function that a record holds; else the value's text."""
    function: Any = getattr(value, "function", value)
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(value)
