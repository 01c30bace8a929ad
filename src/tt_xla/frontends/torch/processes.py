"""Processes that torchrun started, as replicas: each has a chip of its own, and they exchange tensors over gloo."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from tt_xla.environment import LaunchedProcess, launched_process, set_variable, variable
from tt_xla.frontends.torch import replicas
from tt_xla.frontends.torch.device import chips
from tt_xla.locks import Lock

_TIMEOUT = timedelta(minutes=30)
_JOINING = Lock()
_STORES: list[dist.Store] = []


class Processes:
    """The processes of a torchrun, of which this is one.

    Args:
        own: the place of this process among them.
        store: the store that they share.
    """

    def __init__(self, own: LaunchedProcess, store: dist.Store) -> None:
        self.size = own.size
        self._store = store
        self._rank = own.rank
        self._groups: dict[tuple[int, ...], dist.ProcessGroupGloo] = {}

    def exchange(self, ordinal: int, payload: Any, members: Sequence[int]) -> list[Any]:
        """Waits until each of some processes has given a payload, and returns those of all in the order of ``members``.

        Raises:
            ReplicaEndedError: one of them ended, or gave nothing for half an hour.
        """
        content = io.BytesIO()
        torch.save(payload, content)
        own = torch.frombuffer(content.getbuffer(), dtype=torch.uint8)
        try:
            group = self._group(tuple(members))
            sizes = [int(size) for size in _gathered(group, torch.tensor([own.numel()], device="cpu"))]
            padded = torch.zeros(max(sizes), dtype=torch.uint8, device="cpu")
            padded[: own.numel()] = own
            contents = _gathered(group, padded)
        except RuntimeError as error:
            raise replicas.ReplicaEndedError(
                f"Process {self._rank} waits for the processes {[*members]} of torchrun in a collective or rendezvous, "
                "and one of them has ended. Each process must call the same collectives."
            ) from error
        parts = zip(contents, sizes, strict=True)
        return [torch.load(io.BytesIO(part[:size].numpy().tobytes()), weights_only=False) for part, size in parts]

    def _group(self, members: tuple[int, ...]) -> dist.ProcessGroupGloo:
        if members not in self._groups:
            store = dist.PrefixStore(f"tt_xla/{members}", self._store)
            place, count = members.index(self._rank), len(members)
            self._groups[members] = dist.ProcessGroupGloo(store, place, count, _TIMEOUT)
        return self._groups[members]


def _gathered(group: dist.ProcessGroupGloo, tensor: torch.Tensor) -> list[torch.Tensor]:
    """Returns the tensors of all members of a group, which have one shape."""
    received = [torch.empty_like(tensor) for _ in range(group.size())]
    group.allgather([received], [tensor]).wait()
    return received


def join() -> None:
    """Makes the processes that torchrun started replicas. A call in other processes, or a second one, does nothing.

    Each gets the chip that has its number among those of this host. It must not have opened the device before.

    Raises:
        RuntimeError: there are more processes than chips.
    """
    own = launched_process()
    with _JOINING:
        if own is None or own.size == 1 or replicas.size() > 1:
            return
        if own.local_size > 1 and not variable("TT_VISIBLE_DEVICES"):
            if own.local_size > chips.chip_count():
                raise RuntimeError(too_many(own.local_size))
            set_variable("TT_VISIBLE_DEVICES", str(own.local_rank))
        _STORES.append(next(dist.rendezvous("env://"))[0])
        replicas.be_replica(Processes(own, _STORES[0]), own.rank)


def too_many(count: int) -> str:
    """Returns what to say where torchrun started more processes than the system has chips."""
    return (
        f"torchrun started {count} processes, each of which needs a chip, and the system has {chips.chip_count()}. "
        f"Pass --nproc-per-node={chips.chip_count()}, or select another system by TTXLA_SYSTEM."
    )


def joined() -> LaunchedProcess | None:
    """Returns the place of this process among those that have joined; None unless they have."""
    return launched_process() if _STORES else None


def store() -> dist.Store | None:
    """Returns the store that the processes share; None unless they have joined."""
    return _STORES[0] if _STORES else None
