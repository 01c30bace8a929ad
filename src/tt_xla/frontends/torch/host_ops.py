"""Counts the ops that run on the host instead of the device, so that none does so silently.

Compiled graphs count ops that have no lowering, the device counts ops that it cannot record. The first run of each op
is logged with the user's line.
"""

from __future__ import annotations

import collections

from tt_xla.locks import Lock
from tt_xla.log import logger

_COUNTS: collections.Counter[str] = collections.Counter()
_LOCK = Lock()  # backward graphs run on autograd's threads


def record(name: str, *, location: str = "") -> None:
    """Counts one run of an op on the host.

    Args:
        name: the op with its overload, such as ``aten.linalg_qr.default``.
        location: ``file:line`` of the user's code, or an empty string.
    """
    with _LOCK:
        _COUNTS[name] += 1
        first = _COUNTS[name] == 1
    if first:
        place = f" (called at {location})" if location else ""
        logger().warning("%s has no lowering to the device and runs on the host%s.", name, place)


def counts() -> dict[str, int]:
    """Returns the number of runs on the host so far, by op, most frequent first."""
    with _LOCK:
        return dict(_COUNTS.most_common())


def reset() -> None:
    """Resets all counts. The next run of each op is logged again."""
    with _LOCK:
        _COUNTS.clear()


__all__ = ["counts", "record", "reset"]
