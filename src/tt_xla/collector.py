"""Python's garbage collector during compilations.

A compilation makes many objects that refer to each other and live until its end, so the collector finds little and
takes time: 5 to 15 % where ops of PyTorch are traced, up to half of the compilation of a module. It is paused
for that long and runs as before afterwards. It belongs to the process, so garbage of other threads waits too;
``TTXLA_PAUSE_COLLECTOR=0`` leaves it on.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator

from tt_xla.environment import pauses_collector
from tt_xla.locks import Lock

_LOCK = Lock()
_paused_blocks = 0
_was_enabled = False


@contextlib.contextmanager
def collector_paused() -> Generator[None]:
    """Pauses the collector in a block. When blocks overlap, in one thread or several, the last to end resumes it."""
    global _paused_blocks, _was_enabled
    if not pauses_collector():
        yield
        return
    with _LOCK:
        if _paused_blocks == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _paused_blocks += 1
    try:
        yield
    finally:
        with _LOCK:
            _paused_blocks -= 1
            if _paused_blocks == 0 and _was_enabled:
                gc.enable()


__all__ = ["collector_paused"]
