"""Ends what is cached for an argument when the argument's contents no longer exist.

A version stands for the contents of a tensor (:data:`tt_xla.runtime.transfer.Version`). An executable that caches
something computed from them registers for their end. Frontends report the end, once for each version, so this is a
table by version rather than a list of :class:`~tt_xla.observers.Observers`.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Protocol

VERSIONS = itertools.count(1)
"""Source of versions. All frontends share it, so a version is unique in the process."""


def new_version() -> int:
    """Returns a version that nothing else in the process has."""
    return next(VERSIONS)


class Keeper(Protocol):
    """An object that caches something computed from an argument's contents."""

    def forget(self, version: int) -> None:
        """Drops what was computed from contents that no caller can pass any more."""


KEEPERS: dict[int, list[weakref.ref[Keeper]]] = {}
"""Keepers by the version whose end they wait for."""


def keep(version: int, keeper: weakref.ref[Keeper]) -> None:
    """Has ``keeper`` called once the contents with this version no longer exist."""
    alive = [reference for reference in KEEPERS.get(version, ()) if reference() is not None]
    KEEPERS[version] = [*alive, keeper]


def ended(version: int, keepers: dict[int, list[weakref.ref[Keeper]]] = KEEPERS) -> None:
    """Reports that no argument has these contents any more: the tensor was written to, or no longer exists.

    Args:
        version: version of the contents.
        keepers: the table of keepers. At the end of a process, tensors outlive the names of this module.
    """
    for reference in keepers.pop(version, ()):
        keeper = reference()
        if keeper is not None:
            keeper.forget(version)
