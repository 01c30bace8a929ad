"""``torch_xla._internal.pjrt`` and ``torch_xla.experimental.pjrt``: replicas, by their older names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch_xla.core.xla_model import broadcast_master_param, rendezvous
from torch_xla.distributed.xla_multiprocessing import spawn as _spawn
from torch_xla.runtime import (
    addressable_device_count,
    device_type,
    global_device_count,
    global_ordinal,
    local_device_count,
    local_ordinal,
    local_process_count,
    process_count,
    process_index,
    set_device_type,
    using_pjrt,
    world_size,
)

from tt_xla.frontends.torch import replicas as _replicas

R = TypeVar("R")


def run_multiprocess(fn: Callable[..., R], *args: Any, start_method: str = "spawn", **kwargs: Any) -> dict[int, R]:
    """Calls a function in a replica for each chip.

    Args:
        fn: the function.
        args: its arguments.
        start_method: changes nothing: replicas are threads.
        kwargs: its keyword arguments.

    Returns:
        The results by ordinal.

    Raises:
        Exception: what a replica raised.
    """
    return _replicas.run(lambda: fn(*args, **kwargs), calls_one=False)


def spawn(fn: Callable[..., Any], nprocs: int | None = None, start_method: str = "spawn", args: Any = ()) -> None:
    """Same as ``xmp.spawn``, with its arguments in another order."""
    _spawn(fn, args, nprocs, start_method=start_method)


def spawn_threads(fn: Callable[..., Any], args: tuple[Any, ...] = ()) -> None:
    """Calls ``fn(ordinal, *args)`` in a replica for each chip."""
    run_multiprocess(lambda: fn(_replicas.ordinal(), *args))


__all__ = [
    "addressable_device_count",
    "broadcast_master_param",
    "device_type",
    "global_device_count",
    "global_ordinal",
    "local_device_count",
    "local_ordinal",
    "local_process_count",
    "process_count",
    "process_index",
    "rendezvous",
    "run_multiprocess",
    "set_device_type",
    "spawn",
    "spawn_threads",
    "using_pjrt",
    "world_size",
]
