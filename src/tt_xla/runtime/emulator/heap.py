"""What the process keeps of the memory that intermediate values leave behind.

glibc hands large freed blocks back to the system, which clears every page again when the next op touches it: of
ResNet-50's time that was a tenth. Kept, a run computes in the memory of the last one.
"""

from __future__ import annotations

import ctypes
import functools

from tt_xla import options

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of ``mallopt(3)``."""

_KEPT_BYTES = 1 << 30
"""So much free memory at the end of the heap stays."""

_LARGEST_BLOCK = 32 << 20
"""The largest that glibc lets lie in the heap, ``HEAP_MAX_SIZE / 2``; larger ones are mapped one by one."""


@functools.cache
def keep_freed() -> bool:
    """Has glibc keep them, from the first call on, unless the user says how; returns whether it does.

    Nothing changes with another C library.
    """
    if options.says_how_memory_is_kept():
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK) and mallopt(_TRIM_THRESHOLD, _KEPT_BYTES))
