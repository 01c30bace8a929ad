"""Handles of collectives and messages that PyTorch waits for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist


class FinishedWork(dist.Work):
    """A collective that is done.

    Args:
        result: its result, a list of tensors.
    """

    def __init__(self, result: Any) -> None:
        super().__init__()
        self._result = result

    def is_completed(self) -> bool:
        """Whether it is done: it is."""
        return True

    def wait(self, timeout: Any = None) -> bool:
        """Returns True at once."""
        return True

    def result(self) -> Any:
        """Returns the result."""
        return self._result

    def get_future(self) -> torch.futures.Future[Any]:
        """Returns the result as a future that has it."""
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(self._result)
        return future


class Message(dist.Work):
    """A message between two ranks that may be on its way.

    Args:
        work: gloo's.
        result: the tensors.
        finish: called once it has arrived.
        waiting: returns the context manager in which gloo is waited for.
    """

    def __init__(
        self,
        work: dist.Work,
        result: Any,
        finish: Callable[[], None],
        waiting: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        super().__init__()
        self._work, self._result, self._finish, self._waiting = work, result, finish, waiting
        self._is_done = False

    def is_completed(self) -> bool:
        return self._is_done or self._work.is_completed()

    def wait(self, timeout: timedelta | None = None) -> bool:
        if not self._is_done:
            with self._waiting():
                self._work.wait() if timeout is None else self._work.wait(timeout)
            self._finish()
            self._is_done = True
        return True

    def result(self) -> Any:
        return self._result

    def _source_rank(self) -> int:
        return self._work._source_rank()

    def get_future(self) -> torch.futures.Future[Any]:
        self.wait()
        return FinishedWork(self._result).get_future()


__all__ = ["FinishedWork", "Message"]
