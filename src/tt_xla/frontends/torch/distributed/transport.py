"""Exchange of tensors between the processes of a group: over gloo, large ones on one machine in shared memory.

Before each collective the ranks compare what they are about to do. So a rank that calls another one, or the same with
another shape, is an error on all of them that shows both sides. A rank that does not come is named by what each has
written into the store that they share.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NoReturn

import torch
import torch.distributed as dist

from tt_xla.errors import CollectiveError
from tt_xla.frontends.torch.distributed.shared_memory import LEAST_BYTES, SharedMemory


class Gloo(dist.ProcessGroupGloo):
    """Gloo whose timeout another one shares.

    PyTorch gives a group a new timeout through what exchanges its CPU tensors; it holds for tensors of the device too.
    """

    follower: dist.ProcessGroupGloo | None = None

    def _set_default_timeout(self, timeout: timedelta) -> None:
        super()._set_default_timeout(timeout)
        if self.follower is not None:
            self.follower._set_default_timeout(timeout)


class Transport:
    """The processes of a group.

    Args:
        store: the store of the group.
        rank: number of this process in the group.
        size: number of processes.
        timeout: how long a rank waits for the others.
        global_rank: returns the number of a process among all, from that in the group.
    """

    def __init__(
        self, store: dist.Store, rank: int, size: int, timeout: timedelta, global_rank: Callable[[int], int]
    ) -> None:
        self.gloo = Gloo(store, rank, size, timeout)
        self._store, self._rank, self._size, self._global_rank = store, rank, size, global_rank
        self._count = 0
        self._call = ""
        self._memory: SharedMemory | None = None

    def agree(self, call: str) -> None:
        """Waits for all ranks and compares what they call.

        Args:
            call: the collective with its arguments as text, equal on all ranks.

        Raises:
            CollectiveError: another rank calls something else, or does not come.
        """
        self._count += 1
        self._call = call
        self._store.set(_key(self._rank), f"{self._count}\n{call}")
        digest = hashlib.sha256(f"{self._count} {call}".encode()).digest()
        own = torch.frombuffer(bytearray(digest), dtype=torch.uint8)
        if any(not torch.equal(own, other) for other in self.gather(own)):
            self._refuse_different()

    def gather(self, own: torch.Tensor) -> list[torch.Tensor]:
        """Returns the CPU tensors of all ranks, which have one shape and dtype; read them before the next exchange."""
        memory = self._shared(own.nbytes)
        if memory is not None:
            contents = memory.exchange([own.reshape(-1).view(torch.uint8)])
            return [content[: own.nbytes].view(own.dtype).reshape(own.shape) for content in contents]
        received = [torch.empty_like(own) for _ in range(self._size)]
        with self._naming_who_is_missing():
            self.gloo.allgather([received], [own]).wait()
        return received

    def _shared(self, size: int) -> SharedMemory | None:
        """Returns the memory that all ranks share; None for contents that are small, and for ranks that share none.

        Args:
            size: a number of bytes that is the same on all ranks.
        """
        if self._size == 1 or size < LEAST_BYTES:
            return None
        if self._memory is None:
            self._memory = SharedMemory(self.gather)
        return self._memory if self._memory.works else None

    def gather_sizes(self, own: torch.Tensor, sizes: Sequence[int]) -> list[torch.Tensor]:
        """Returns the bytes of all ranks, as uint8 CPU tensors; read them before the next exchange.

        Args:
            own: bytes of this rank.
            sizes: number of bytes of each rank.
        """
        memory = self._shared(max(sizes))
        if memory is not None:
            return [content[:size] for content, size in zip(memory.exchange([own]), sizes, strict=True)]
        padded = torch.zeros(max(sizes), dtype=torch.uint8, device="cpu")
        padded[: own.numel()] = own
        return [part[:size] for part, size in zip(self.gather(padded), sizes, strict=True)]

    def check_sizes(self, given: Sequence[int], expected: Sequence[int]) -> list[list[int]]:
        """Returns the bytes that each rank sends to each, and checks that they are as many as that one expects.

        Args:
            given: bytes that this rank sends to each.
            expected: bytes that each sends to this rank.

        Raises:
            CollectiveError: two ranks differ.
        """
        sent = self.gather(torch.tensor([*given], dtype=torch.int64, device="cpu"))
        awaited = self.gather(torch.tensor([*expected], dtype=torch.int64, device="cpu"))
        for source, target in itertools.product(range(self._size), repeat=2):
            one, other = int(sent[source][target]), int(awaited[target][source])
            if one != other:
                raise CollectiveError(
                    f"{self._call}: {self._name(source)} sends {one} bytes to {self._name(target)}, which expects "
                    f"{other}.",
                    hint="What a rank sends to another one has the size that the other one expects of it.",
                )
        return [row.tolist() for row in sent]

    def exchange(self, parts: Sequence[torch.Tensor], sent: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Sends a part to each rank and returns what each sent to this one; read it before the next exchange.

        Args:
            parts: bytes for each rank, as uint8 CPU tensors.
            sent: for each rank, the number of bytes that it sends to each, as all ranks know it.
        """
        sizes = [row[self._rank] for row in sent]
        memory = self._shared(max(map(sum, sent)))
        if memory is not None:
            starts = [sum(row[: self._rank]) for row in sent]
            return [
                content[start : start + size]
                for content, start, size in zip(memory.exchange(parts), starts, sizes, strict=True)
            ]
        received = torch.empty(sum(sizes), dtype=torch.uint8, device="cpu")
        given = [part.numel() for part in parts]
        with self._naming_who_is_missing():
            self.gloo.alltoall_base(received, torch.cat([*parts]), sizes, given).wait()
        return [*received.split(sizes)]

    def broadcast(self, content: torch.Tensor, root: int) -> torch.Tensor:
        """Returns the bytes of the root's uint8 CPU tensor, which may fill the given one; read them at once."""
        memory = self._shared(content.nbytes)
        if memory is not None:
            return memory.exchange([content] if self._rank == root else [])[root][: content.nbytes]
        options = dist.BroadcastOptions()
        options.rootRank = root
        with self._naming_who_is_missing():
            self.gloo.broadcast([content], options).wait()
        return content

    @contextlib.contextmanager
    def waiting_for(self, rank: int, message: str) -> Iterator[None]:
        """Context manager that says whom this rank waited for when a message fails.

        Args:
            rank: number of the other process in the group.
            message: what it is about, ``sends a message to`` or ``waits for a message of``.
        """
        try:
            yield
        except RuntimeError as error:
            raise CollectiveError(
                f"Rank {self._global_rank(self._rank)} {message} {self._name(rank)}, which has ended, or did not come "
                "within the timeout of the group.",
                hint=_said(error),
            ) from error

    @contextlib.contextmanager
    def _naming_who_is_missing(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise CollectiveError(
                f"Rank {self._global_rank(self._rank)} waited in {self._call} (number {self._count} of its group): "
                f"{self._who_is_missing()}.",
                hint=f"A rank has ended, or waits elsewhere for longer than the timeout of the group. {_said(error)}",
            ) from error

    def _who_is_missing(self) -> str:
        try:
            calls = self._calls()
        except RuntimeError:
            return "the process that keeps the store of the group, usually rank 0, has ended"
        late = [rank for rank in range(self._size) if calls.get(rank, (0, ""))[0] < self._count]
        if not late:
            return "all ranks came, and one of them ended within the collective"
        return "did not come: " + ", ".join(f"{self._name(rank)} ({_last(calls.get(rank))})" for rank in late)

    def _calls(self) -> dict[int, tuple[int, str]]:
        """Returns the number of the last collective of each rank that called one, and the call."""
        found = {}
        for rank in range(self._size):
            if self._store.check([_key(rank)]):
                number, _, call = self._store.get(_key(rank)).decode().partition("\n")
                found[rank] = int(number), call
        return found

    def _refuse_different(self) -> NoReturn:
        calls = {rank: call for rank, (_, call) in self._calls().items()}
        sides = "; ".join(f"{self._name(rank)}: {calls.get(rank, 'nothing')}" for rank in range(self._size))
        raise CollectiveError(
            f"The ranks call different collectives (number {self._count} of their group): {sides}.",
            hint="Each rank of a group must call the same collectives in the same order, with tensors that fit.",
        )

    def _name(self, rank: int) -> str:
        return f"rank {self._global_rank(rank)}"


def _key(rank: int) -> str:
    return f"calls/{rank}"


def _last(call: tuple[int, str] | None) -> str:
    return "it has called none" if call is None else f"its last one was number {call[0]}, {call[1]}"


def _said(error: RuntimeError) -> str:
    """Returns gloo's words, which may begin with a place in its sources and end with other things."""
    line = str(error).partition("\n")[0]
    words = line.partition("] ")[2] if line.startswith("[") else line
    return f"Gloo says: {words.partition('. This')[0]}."


__all__ = ["Gloo", "Transport"]
