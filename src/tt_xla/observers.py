"""The one way to be told of what happens in this process: compilations, runs of programs, kernel calls, signposts.

Whoever raises an event keeps an :class:`Observers` for it and calls each observer in turn. Whoever wants to be told
adds an observer for the length of a context. Without observers an event costs one truth test.

    RUNS: Observers[RunObserver] = Observers()

    with RUNS.added(observer):
        ...
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Observers(Generic[T]):
    """The observers of one kind of event, in the order in which they were added."""

    def __init__(self) -> None:
        self._observers: tuple[T, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._observers)

    def __iter__(self) -> Iterator[T]:
        return iter(self._observers)

    @contextmanager
    def added(self, observer: T) -> Generator[T]:
        """Adds an observer until the context ends."""
        self._observers = (*self._observers, observer)
        try:
            yield observer
        finally:
            # By identity: two observers may compare equal, such as two empty lists.
            self._observers = tuple(other for other in self._observers if other is not observer)
