"""Replicas: threads that run one function, each on a chip of its own, and exchange tensors.

``torch_xla`` starts a process, or a thread, for each device. The chips of the emulated board belong to one process, so
replicas are threads here.

This module is not in the folder ``device``, because dynamo traces which replica a function runs in.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

from tt_xla.frontends.torch.current_device import select_chip
from tt_xla.frontends.torch.device import chips

R = TypeVar("R")


class ReplicaEndedError(RuntimeError):
    """A replica waits for another one that has ended."""


class World:
    """All replicas of a function.

    Args:
        size: number of replicas.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._changed = threading.Condition()
        self._payloads: dict[int, Any] = {}
        self._round = 0
        self._results: dict[int, list[Any]] = {}
        self._readers: dict[int, int] = {}
        self._ended: set[int] = set()

    def exchange(self, ordinal: int, payload: Any) -> list[Any]:
        """Waits until each replica has given a payload, and returns those of all, in the order of their ordinals.

        Raises:
            ReplicaEndedError: a replica ended without giving one.
        """
        with self._changed:
            own_round = self._round
            self._payloads[ordinal] = payload
            if len(self._payloads) == self.size:
                self._results[own_round] = [self._payloads[replica] for replica in range(self.size)]
                self._readers[own_round] = self.size
                self._payloads = {}
                self._round += 1
                self._changed.notify_all()
            else:
                self._changed.wait_for(lambda: self._round > own_round or self._ended)
            if self._round == own_round:
                raise ReplicaEndedError(
                    f"Replica {ordinal} waits for all {self.size} replicas in a collective or rendezvous, and "
                    f"{sorted(self._ended)} ended before. Each replica must call the same collectives."
                )
            self._readers[own_round] -= 1
            return self._results[own_round] if self._readers[own_round] else self._results.pop(own_round)

    def end(self, ordinal: int) -> None:
        """Notes that a replica has ended."""
        with self._changed:
            self._ended.add(ordinal)
            self._changed.notify_all()


class _Current(threading.local):
    """The replica of a thread.

    Attributes:
        world: the world of the replicas; None outside of replicas.
        ordinal: number of the replica, and of its chip.
    """

    world: World | None = None
    ordinal = 0


_CURRENT = _Current()


def size() -> int:
    """Returns the number of replicas to which the one of this thread belongs; 1 outside of replicas."""
    return 1 if _CURRENT.world is None else _CURRENT.world.size


def ordinal() -> int:
    """Returns the number of this thread's replica; 0 outside of replicas."""
    return _CURRENT.ordinal


def exchange(payload: Any) -> list[Any]:
    """Returns the payloads of all replicas, of which this thread's gives one.

    Raises:
        ReplicaEndedError: a replica ended without giving one.
    """
    return [payload] if _CURRENT.world is None else _CURRENT.world.exchange(_CURRENT.ordinal, payload)


@torch.library.custom_op("tt_xla::gather_replicas", mutates_args=())
def gather(tensor: torch.Tensor, count: int) -> torch.Tensor:
    """Stacks the tensors of all replicas, in the order of their ordinals, on the chip of this one.

    Args:
        tensor: tensor of any shape [...], which is the same for all replicas.
        count: number of replicas.

    Returns:
        Tensor [count, ...].

    Raises:
        ReplicaEndedError: a replica ended without giving a tensor.
        RuntimeError: the tensors differ in shape.
    """
    tensors = exchange(tensor.detach().clone())  # a copy, which no replica writes to
    return torch.stack([other.to(tensor.device) for other in tensors])


@gather.register_fake
def _(tensor: torch.Tensor, count: int) -> torch.Tensor:
    return tensor.new_empty((count, *tensor.shape))


def run(function: Callable[[], R], count: int | None = None) -> dict[int, R]:
    """Calls a function in as many replicas as there are chips, or fewer, and waits for all.

    Args:
        function: the function.
        count: number of replicas; None for one on each chip. A single one is a call in this thread.

    Returns:
        The results by ordinal.

    Raises:
        ValueError: there are fewer chips, or the caller is a replica.
        Exception: what a replica raised, the first in the order of ordinals. Replicas that wait for it end, too.
    """
    chip_count = 1 if chips.STATE.acts_as_one else chips.chip_count()
    count = chip_count if count is None else count
    if not 1 <= count <= chip_count or (count > 1 and size() > 1):
        raise ValueError(f"{count} replicas need as many chips, and there are {chip_count // size()}.")
    if count == 1:
        return {0: function()}
    world = World(count)

    def replica(number: int) -> R:
        _CURRENT.world, _CURRENT.ordinal = world, number
        select_chip(number)
        try:
            return function()
        finally:
            world.end(number)
            select_chip(0)
            _CURRENT.world, _CURRENT.ordinal = None, 0

    with ThreadPoolExecutor(count, thread_name_prefix="replica") as threads:
        futures = [threads.submit(replica, number) for number in range(count)]
        errors = [error for future in futures if (error := future.exception()) is not None]
    for error in errors:
        if not isinstance(error, ReplicaEndedError):
            raise error
    with contextlib.suppress(IndexError):
        raise errors[0]
    return {number: future.result() for number, future in enumerate(futures)}
