"""Has glibc keep the memory that intermediate values leave behind, so that each run computes in that of the last one.

By default glibc hands large freed blocks back to the system, which clears every page again when the next op touches it:
a tenth of ResNet-50's time. The setting is one of the process, so that other libraries' freed memory is kept too, up to
1 GiB at the end of the heap. ``TTXLA_KEEP_FREED_MEMORY=0`` leaves glibc as it is, and so does any variable of glibc's
own that sets a limit.
"""

from __future__ import annotations

import ctypes
import functools

from tt_xla import environment

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt(3)``."""

_KEPT_BYTES = 1 << 30
"""Bytes of free memory at the end of the heap that stay in the process."""

_LARGEST_BLOCK = 32 << 20
"""Bytes of the largest block that glibc lets lie in the heap (``HEAP_MAX_SIZE / 2``); larger ones are mapped singly."""


@functools.cache
def keep_freed() -> bool:
    """Changes glibc's limits, at the first call in the process; returns whether they were changed.

    They are not where the user turned it off, nor with another C library.
    """
    if not environment.keeps_freed_memory():
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK) and mallopt(_TRIM_THRESHOLD, _KEPT_BYTES))
