"""The messages that workers of a mesh send each other while they run a program.

Each transfer of a program is one message to every worker that it sends to. Messages of one sender arrive in order, and
each names its call, so that messages of a call that was ended early are not taken for those of the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue

import torch

from tt_xla.errors import ExecutionError
from tt_xla.locks import Lock
from tt_xla.runtime.mesh.wire import Packed, pack, unpack

Send = Callable[[int, int, list[Packed]], None]
"""Sends tensors of a call to a worker: number of the worker, number of the call, the tensors."""


class CallEnded(BaseException):
    """The call was ended by the process that made it. No error of the program, so nothing may handle it as one."""


class Post:
    """The incoming messages of one worker, and how it sends others.

    Args:
        send: sends tensors to another worker, without waiting for it.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._guard = Lock()
        self._incoming: defaultdict[int, SimpleQueue[tuple[int, list[Packed] | None]]] = defaultdict(SimpleQueue)
        """Messages of each sender, and None for the end of a call."""
        self._ended = 0
        """Number of the last call that was ended early."""
        self.call = 0
        """Number of the call that runs; calls are numbered in order."""

    def has_ended(self, call: int) -> bool:
        """Returns whether a call was ended early."""
        return call <= self._ended

    def deliver(self, sender: int, call: int, tensors: list[Packed]) -> None:
        """Takes a message of another worker, in any thread."""
        with self._guard:
            queue = self._incoming[sender]
        queue.put((call, tensors))

    def end(self, call: int) -> None:
        """Ends the waiting of a call for messages, in any thread."""
        with self._guard:
            self._ended = max(self._ended, call)
            queues = [*self._incoming.values()]
        for queue in queues:
            queue.put((call, None))

    def exchange(
        self, tensors: Sequence[torch.Tensor], to: Sequence[Sequence[int]], sources: Sequence[int]
    ) -> list[torch.Tensor]:
        """Sends tensors to other workers and waits for theirs.

        Args:
            tensors: the tensors to send.
            to: numbers of the workers that get each of them.
            sources: number of the worker that sends each tensor to return.

        Raises:
            CallEnded: the call was ended meanwhile.
        """
        outgoing: dict[int, list[Packed]] = {}
        for tensor, workers in zip(tensors, to, strict=True):
            packed = pack(tensor)
            for worker in workers:
                outgoing.setdefault(worker, []).append(packed)
        for worker, message in outgoing.items():
            self._send(worker, self.call, message)
        messages = {source: iter(self._receive(source)) for source in dict.fromkeys(sources)}
        return [unpack(next(messages[source])) for source in sources]

    def _receive(self, source: int) -> list[Packed]:
        with self._guard:
            if self.has_ended(self.call):
                raise CallEnded
            queue = self._incoming[source]
        while True:
            call, tensors = queue.get()
            if call < self.call:
                continue
            if tensors is None:
                raise CallEnded
            return tensors


_POST: ContextVar[Post] = ContextVar("post")
"""The post of the worker that runs a program in this context."""


@contextmanager
def opened(post: Post, call: int) -> Generator[None]:
    """Makes a post the one of this context, for one call."""
    post.call = call
    token = _POST.set(post)
    try:
        yield
    finally:
        _POST.reset(token)


def exchange(
    tensors: Sequence[torch.Tensor], to: Sequence[Sequence[int]], sources: Sequence[int]
) -> list[torch.Tensor]:
    """Sends tensors to other workers of the mesh and waits for theirs, see :meth:`Post.exchange`.

    Raises:
        ExecutionError: no worker of a mesh runs this.
    """
    post = _POST.get(None)
    if post is None:
        raise ExecutionError(
            "The program is one worker's part of a program for several chips, and no worker runs it.",
            hint="Load the Program that it was expanded from.",
        )
    return post.exchange(tensors, to, sources)
