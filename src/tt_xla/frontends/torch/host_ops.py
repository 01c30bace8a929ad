"""Counts the ops that run on the host instead of the device, so that none does so silently.

Compiled graphs count ops that have no lowering, the device counts ops that it cannot record. The first run of each op
is logged with the user's line.
"""

from __future__ import annotations

import collections

from tt_xla.frontends.torch import session
from tt_xla.locks import Lock
from tt_xla.log import logger


class _Counts(collections.Counter[str]):
    """Number of runs on the host in this session, by op.

    Attributes:
        lock: held while they are read or changed, because backward graphs run on autograd's threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lock = Lock()


def record(name: str, *, location: str = "") -> None:
    """Counts one run of an op on the host.

    Args:
        name: the op with its overload, such as ``aten.linalg_qr.default``.
        location: ``file:line`` of the user's code, or an empty string.
    """
    runs = session.current.part(_Counts)
    with runs.lock:
        runs[name] += 1
        first = runs[name] == 1
    if first:
        place = f" (called at {location})" if location else ""
        logger().warning("%s has no lowering to the device and runs on the host%s.", name, place)


def counts() -> dict[str, int]:
    """Returns the number of runs on the host so far, by op, most frequent first."""
    runs = session.current.part(_Counts)
    with runs.lock:
        return dict(runs.most_common())


def reset() -> None:
    """Resets all counts. The next run of each op is logged again."""
    runs = session.current.part(_Counts)
    with runs.lock:
        runs.clear()


__all__ = ["counts", "record", "reset"]
