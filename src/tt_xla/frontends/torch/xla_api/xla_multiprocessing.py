"""``torch_xla.distributed.xla_multiprocessing``: runs a function for each device, of which there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int | None = None,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """Calls ``fn(0, *args)`` in this process, as the real package does for one process.

    Raises:
        ValueError: ``nprocs`` is neither None nor 1.
    """
    if nprocs not in (None, 1):
        raise ValueError(f"xmp.spawn(nprocs={nprocs}): there is one device, so nprocs is 1, or None for all devices.")
    fn(0, *args)
