"""Locks that work in forked processes too.

A process that forks while another of its threads holds a lock leaves the child a lock that nobody will release: the
child waits for ever at its first program. Every lock of the package is one of these instead.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _thread import RLock
else:
    RLock = type(threading.RLock())


class Lock(RLock):
    """A lock that its thread may take again, and that a forked process makes anew if another thread held it."""

    def __init__(self) -> None:
        super().__init__()
        _LOCKS.add(self)

    def renew(self) -> None:
        """Releases the lock if a thread holds it that is not there."""
        if self.acquire(blocking=False):
            self.release()
        else:
            self._at_fork_reinit()  # as the standard library does with its own locks


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew() -> None:
    for lock in list(_LOCKS):
        lock.renew()


os.register_at_fork(after_in_child=_renew)

__all__ = ["Lock"]
