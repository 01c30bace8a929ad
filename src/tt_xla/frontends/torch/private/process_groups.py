"""``torch.distributed.distributed_c10d``: what a process group written in Python needs."""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed import distributed_c10d


def finished_work(result: Any) -> Any:
    """Returns a ``Work`` that is done, with its result."""
    future: torch.futures.Future[Any] = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


def group_ranks(group: Any) -> list[int]:
    """Returns the ranks of a process group in the order of its own numbers; none for a group that is not registered."""
    return list(distributed_c10d._world.pg_group_ranks.get(group, {}))


def keep_groups_per_thread() -> None:
    """Gives each thread process groups of its own from now on, unless the process has one.

    PyTorch has those of the process in one variable.
    """
    from torch.testing._internal.distributed.multi_threaded_pg import ThreadLocalWorld

    if isinstance(distributed_c10d._world, ThreadLocalWorld) or distributed_c10d._world.default_pg is not None:
        return
    local: Any = ThreadLocalWorld()
    distributed_c10d._world = local
    torch._C._distributed_c10d._set_thread_isolation_mode(True)


__all__ = ["finished_work", "group_ranks", "keep_groups_per_thread"]
