"""A lock for computing in threads of our own, which must not compute while the interpreter ends.

Python ends a daemon thread where it next takes the interpreter's lock. In the middle of torch's C++ that would abort
the process. So a thread computes in short turns, and none begins once the process ends.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from tt_xla.locks import Lock

Job = Callable[[], None]


class _Turns:
    """The lock."""

    def __init__(self) -> None:
        self._lock, self._ended = Lock(), False
        atexit.register(self._end)

    def _end(self) -> None:
        """Waits for the turn that somebody has, and lets threads that do not keep the process alive have no other."""
        self._ended = True
        with self._lock:
            pass

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._ended and threading.current_thread().daemon:
            self._lock.release()
            raise SystemExit

    def __exit__(self, *_: object) -> None:
        self._lock.release()


COMPUTING = _Turns()
"""Entered for each call of torch and each short computation of a fused kernel, so that only one thread computes at a
time."""


def start(job: Job) -> threading.Thread:
    """Runs a job, which enters :data:`COMPUTING` to compute, in a thread that does not keep the process alive."""
    thread = threading.Thread(target=job, name="tt-xla fused kernels", daemon=True)
    thread.start()
    return thread


__all__ = ["COMPUTING", "start"]
