"""Notice of the end of the process: whether it was told to terminate (SIGTERM)."""

from __future__ import annotations

import signal
import threading
from typing import Any


class _Notice:
    """The state of the signal by which a machine says that it will be taken away.

    Attributes:
        received: whether the process was told to terminate.
        previous: what the signal did before; None while nothing waits for it.
    """

    received = threading.Event()
    previous: Any = None


def activate() -> None:
    """Keeps SIGTERM from ending the process, and remembers it instead.

    Raises:
        ValueError: the caller is not the main thread, which alone may handle signals.
    """
    if _Notice.previous is None:
        _Notice.received.clear()
        _Notice.previous = signal.signal(signal.SIGTERM, lambda *_: _Notice.received.set())


def deactivate() -> None:
    """Lets SIGTERM do what it did before."""
    if _Notice.previous is not None:
        signal.signal(signal.SIGTERM, _Notice.previous)
        _Notice.previous = None


def was_preempted() -> bool:
    """Returns whether the process was told to terminate since :func:`activate`."""
    return _Notice.received.is_set()
