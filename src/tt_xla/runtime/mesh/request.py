"""The workers that a user asks for in ``TTXLA_MESH_WORKERS``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tt_xla import environment
from tt_xla.errors import OptionError


@dataclass(frozen=True)
class MeshWorkers:
    """The Ray workers that a user asks for."""

    count: int | None
    """Number of workers; None for one for each CPU."""
    address: str | None
    """Address of a Ray cluster; None for workers on this machine."""


def mesh_workers() -> MeshWorkers | None:
    """Returns the Ray workers that ``TTXLA_MESH_WORKERS`` asks for; None if chips stay in this process.

    Raises:
        OptionError: the value is neither a number, ``auto`` nor an address.
    """
    text = environment.variable("TTXLA_MESH_WORKERS").strip()
    if text in ("", "0"):
        return None
    parts = re.fullmatch(r"(?:(?:(\d{1,6})|auto)(?:@(\S+:\S+))?)|(\S+:\S+)", text)
    count = None if parts is None or parts[1] is None else int(parts[1])
    if parts is None or count == 0:
        raise OptionError(
            f"TTXLA_MESH_WORKERS={text} names no workers.",
            hint="Set it to a number of workers or auto, to the address of a Ray cluster such as ray://host:10001 or "
            "host:6379, or to both, such as 4@host:6379.",
        )
    return MeshWorkers(count, parts[2] or parts[3])
