"""Tables that decorators fill: converters, lowerings, kernels and lowering rules of aten."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Registry(dict[K, V]):
    """A table in which each key is registered once.

    Args:
        what: what the values are, for the error about a second one.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __setitem__(self, key: K, value: V) -> None:
        """Raises:
        ValueError: the key is registered already.
        """
        if key in self:
            raise ValueError(f"{key} has two of {self.what}: {self[key]} and {value}")
        super().__setitem__(key, value)

    def register(self, *keys: K) -> Callable[[V], V]:
        """A decorator that enters what it decorates under each of ``keys``."""

        def enter(value: V) -> V:
            for key in keys:
                self[key] = value
            return value

        return enter
