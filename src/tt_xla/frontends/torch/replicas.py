"""Replicas: threads that run one function, each on a chip of its own, and exchange tensors.

``torch_xla`` starts a process, or a thread, for each device. The chips of the emulated board belong to one process, so
replicas are threads here, unless torchrun started a process for each (:mod:`.processes`).

This module is not in the folder ``device``, because dynamo traces which replica a function runs in.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.current_device import select_chip
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.private.function_modes import RANDOM_FUNCTIONS, TorchFunctionMode, insert, remove
from tt_xla.frontends.torch.private.random import use_for_functions_of_torch_random

R = TypeVar("R")


class ReplicaEndedError(RuntimeError):
    """A replica waits for another one that has ended."""


class _Group:
    """The exchange that some replicas are in.

    Attributes:
        payloads: what those gave that have come, by ordinal.
        rounds: number of exchanges that are over.
        results: the payloads of exchanges that some members have not read yet, by round, with the number of those.
    """

    def __init__(self) -> None:
        self.payloads: dict[int, Any] = {}
        self.rounds = 0
        self.results: dict[int, tuple[list[Any], int]] = {}


class World:
    """All replicas of a function.

    Args:
        size: number of replicas.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._changed = threading.Condition()
        self._groups: defaultdict[tuple[int, ...], _Group] = defaultdict(_Group)
        self._ended: set[int] = set()
        self._left: set[int] = set()
        """The replicas that ended for another reason than that they waited for one of these."""

    def exchange(self, ordinal: int, payload: Any, members: Sequence[int]) -> list[Any]:
        """Waits until each of some replicas has given a payload, and returns those of all, in the order of ``members``.

        Raises:
            ReplicaEndedError: one of them ended without giving one.
        """
        with self._changed:
            group = self._groups[tuple(members)]
            own_round = group.rounds
            group.payloads[ordinal] = payload
            if len(group.payloads) == len(members):
                group.results[own_round] = [group.payloads[member] for member in members], len(members)
                group.payloads = {}
                group.rounds += 1
                self._changed.notify_all()
            else:
                self._changed.wait_for(lambda: group.rounds > own_round or not self._ended.isdisjoint(members))
            if group.rounds == own_round:
                raise ReplicaEndedError(
                    f"Replica {ordinal} waits for all {len(members)} replicas in a collective or rendezvous, and "
                    f"{sorted(self._left)} ended before. Each replica must call the same collectives."
                )
            results, readers = group.results.pop(own_round)
            if readers > 1:
                group.results[own_round] = results, readers - 1
            return results

    def end(self, ordinal: int, *, waited: bool) -> None:
        """Notes that a replica has ended, and whether it waited for one that had."""
        with self._changed:
            self._ended.add(ordinal)
            if not waited:
                self._left.add(ordinal)
            self._changed.notify_all()


class Exchange(Protocol):
    """Replicas that exchange payloads: threads or processes."""

    size: int

    def exchange(self, ordinal: int, payload: Any, members: Sequence[int]) -> list[Any]: ...


class _OwnGenerator:
    """PyTorch's default generator, which draws the numbers of this thread's replica in a replica."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            with chips.drawing_on(_CURRENT.ordinal):
                return getattr(torch.default_generator, name)(*args)

        return call


class _DrawsOwnNumbers(TorchFunctionMode):
    """Draws the CPU's random numbers from the generator of this thread's replica, as processes draw from their own."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func not in RANDOM_FUNCTIONS or torch.compiler.is_compiling():
            return func(*args, **(kwargs or {}))
        with chips.drawing_on(_CURRENT.ordinal):
            return func(*args, **(kwargs or {}))


class _Current(threading.local):
    """The replica of a thread.

    Attributes:
        world: the world of the replicas; None outside of replicas.
        ordinal: number of the replica, and of its chip.
    """

    world: Exchange | None = None
    ordinal = 0


_CURRENT = _Current()


def be_replica(world: Exchange, ordinal: int) -> None:
    """Makes all threads of this process one replica among others, which are processes."""
    _Current.world, _Current.ordinal = world, ordinal


def size() -> int:
    """Returns the number of replicas to which the one of this thread belongs; 1 outside of replicas."""
    return 1 if _CURRENT.world is None else _CURRENT.world.size


def ordinal() -> int:
    """Returns the number of this thread's replica; 0 outside of replicas."""
    return _CURRENT.ordinal


def exchange(payload: Any, members: Sequence[int] | None = None) -> list[Any]:
    """Returns the payloads of some replicas, of which this thread's gives one.

    Args:
        payload: the payload.
        members: numbers of the replicas; None for all.

    Raises:
        ReplicaEndedError: a replica ended without giving one.
    """
    world = _CURRENT.world
    if world is None:
        return [payload]
    return world.exchange(_CURRENT.ordinal, payload, range(world.size) if members is None else members)


@torch.library.custom_op("tt_xla::gather_replicas", mutates_args=())
def gather(tensor: torch.Tensor, members: Sequence[int]) -> torch.Tensor:
    """Stacks the tensors of some replicas on the chip of this one, which is one of them.

    Args:
        tensor: tensor of any shape [...], which is the same for these replicas.
        members: numbers of the replicas.

    Returns:
        Tensor [number of replicas, ...], in the order of ``members``.

    Raises:
        ReplicaEndedError: a replica ended without giving a tensor.
        RuntimeError: the tensors differ in shape.
    """
    tensors = exchange(tensor.detach().clone(), members)  # a copy, which no replica writes to
    with session.current.mode.allowing_runs():  # also in a function that is one program: an exchange ends it
        return torch.stack([other.to(tensor.device) for other in tensors])


@gather.register_fake
def _(tensor: torch.Tensor, members: Sequence[int]) -> torch.Tensor:
    return tensor.new_empty((len(members), *tensor.shape))


def run(function: Callable[[], R], count: int | None = None, *, calls_one: bool = True) -> dict[int, R]:
    """Calls a function in as many replicas as there are chips, or fewer, and waits for all.

    Args:
        function: the function.
        count: number of replicas; None for one on each chip.
        calls_one: whether a single replica is a call in this thread.

    Returns:
        The results by ordinal.

    Raises:
        ValueError: there are fewer chips, or the caller is a replica.
        Exception: what a replica raised, the first in the order of ordinals. Replicas that wait for it end, too.
    """
    chip_count = 1 if session.current.chips.acts_as_one else chips.chip_count()
    count = chip_count if count is None else count
    if not 1 <= count <= chip_count or (count > 1 and size() > 1):
        raise ValueError(f"{count} replicas need as many chips, and there are {chip_count // size()}.")
    if count == 1 and calls_one:
        return {0: function()}
    if torch.distributed.is_available():
        from tt_xla.frontends.torch.private.process_groups import forget_active_module, keep_groups_per_thread

        keep_groups_per_thread()
    use_for_functions_of_torch_random(_OwnGenerator())
    world = World(count)

    def replica(number: int) -> R:
        _CURRENT.world, _CURRENT.ordinal = world, number
        select_chip(number)
        chips.set_replica(number)
        mode = _DrawsOwnNumbers()
        insert(mode)
        waited = False
        try:
            return function()
        except ReplicaEndedError:
            waited = True
            raise
        finally:
            world.end(number, waited=waited)
            remove(mode)
            chips.set_replica(None)
            select_chip(0)
            del _CURRENT.world, _CURRENT.ordinal

    with ThreadPoolExecutor(count, thread_name_prefix="replica") as threads:
        futures = [threads.submit(replica, number) for number in range(count)]
        errors = [error for future in futures if (error := future.exception()) is not None]
    if torch.distributed.is_available():
        forget_active_module()
    for error in errors:
        if not isinstance(error, ReplicaEndedError):
            raise error
    with contextlib.suppress(IndexError):
        raise errors[0]
    return {number: future.result() for number, future in enumerate(futures)}
