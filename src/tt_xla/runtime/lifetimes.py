"""What is kept of an argument between runs ends with the argument: frontends say when contents are gone.

A version stands for contents (:data:`tt_xla.runtime.transfer.Version`). Who keeps something made of them asks to be
told.
"""

from __future__ import annotations

import weakref
from typing import Protocol


class Keeper(Protocol):
    """Keeps something made of an argument's contents."""

    def forget(self, version: int) -> None:
        """Drops what was made of contents that nobody can pass any more."""


_KEEPERS: dict[int, list[weakref.ref[Keeper]]] = {}


def keep(version: int, keeper: weakref.ref[Keeper]) -> None:
    """Has ``keeper`` told when the contents are gone."""
    alive = [reference for reference in _KEEPERS.get(version, ()) if reference() is not None]
    _KEEPERS[version] = [*alive, keeper]


def ended(version: int) -> None:
    """Says that no argument has these contents any more: the tensor was written to, or is gone."""
    for reference in _KEEPERS.pop(version, ()):
        keeper = reference()
        if keeper is not None:
            keeper.forget(version)
