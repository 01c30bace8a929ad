"""Registers the backend ``xla`` of ``torch.distributed``, whose module is imported when a script uses it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch.distributed as dist


@functools.cache
def register() -> None:
    """Registers the backend, unless it is, and the methods ``xla://`` and ``pjrt://`` that find its members."""
    if not dist.is_available():
        return
    dist.Backend.register_backend("xla", _process_group, devices=["xla", "tt"])
    for scheme in ("xla", "pjrt"):
        dist.register_rendezvous_handler(scheme, _rendezvous)


def _process_group(prefix_store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Makes a process group.

    Raises:
        AssertionError: all chips act as one device, so there is one process without others.
    """
    import torch_xla.runtime as xr
    from torch_xla.distributed.xla_backend import ProcessGroupXla

    if xr.is_spmd():
        raise AssertionError(  # as torch_xla does
            "In SPMD mode all chips act as one device of one process, so the backend 'xla' has no members. Mark "
            "shardings, or use the backend 'gloo' for several hosts."
        )
    return ProcessGroupXla(prefix_store, rank, size, timeout)


def _rendezvous(url: str, timeout: timedelta | None = None, **options: Any) -> Iterator[Any]:
    from torch_xla.distributed.xla_backend import rendezvous

    return rendezvous()
