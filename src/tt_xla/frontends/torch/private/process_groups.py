"""``torch.distributed.distributed_c10d``: what a process group written in Python needs."""

from __future__ import annotations

import functools

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tt_xla.frontends.torch.private.names import names_of

with names_of("process_groups"):
    from torch._C._distributed_c10d import _set_thread_isolation_mode

    DistributedDataParallel._active_ddp_module  # noqa: B018  # set below


def keep_groups_per_thread() -> None:
    """Gives each thread process groups of its own from now on, unless the process has one.

    PyTorch has those of the process in one variable.
    """
    if not dist.is_initialized():
        _keep_groups_per_thread()


@functools.cache
def _keep_groups_per_thread() -> None:
    with names_of("process_groups"):
        from torch.testing._internal.distributed.multi_threaded_pg import _install_threaded_pg

    _install_threaded_pg()
    _set_thread_isolation_mode(True)


def forget_active_module() -> None:
    """Ends what PyTorch knows of a forward pass of ``DistributedDataParallel``, when all replicas have ended.

    It has one variable for all threads, and each restores what it found, which another one may have set and unset: all
    later compilations would then be split as within such a pass.
    """
    DistributedDataParallel._active_ddp_module = None


__all__ = ["forget_active_module", "keep_groups_per_thread"]
