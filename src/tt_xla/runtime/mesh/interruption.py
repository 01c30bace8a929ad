"""Ends what a thread does for a call, and nothing that the thread does afterwards."""

from __future__ import annotations

import ctypes
import threading

from tt_xla.locks import Lock
from tt_xla.runtime.mesh.post import CallEnded


class Interruption:
    """The call that a thread runs now. Another thread may end it, which raises :class:`CallEnded` in the first one."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._running: tuple[int, int] | None = None
        """Number and thread of the call that runs."""

    def begin(self, call: int) -> None:
        """The calling thread runs a call from now on."""
        with self._guard:
            self._running = call, threading.get_ident()

    def leave(self) -> None:
        """The calling thread has run its call. An exception on its way arrives here, or never.

        Raises:
            CallEnded: the call was ended while it was left.
        """
        try:
            self._forget()
        except CallEnded:
            self._forget()
            raise

    def end(self, call: int) -> None:
        """Raises :class:`CallEnded` in the thread that runs a call, if one does."""
        with self._guard:
            if self._running is not None and self._running[0] == call:
                _raise_in(self._running[1], CallEnded)

    def _forget(self) -> None:
        with self._guard:
            self._running = None
            _raise_in(threading.get_ident(), None)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Has a thread raise an exception before its next bytecode; None takes back one that it has not raised yet."""
    wanted = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), wanted)
