"""How recorded ops run: later or at once, and what ``torch_xla.compile`` wants to know of them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator

from tt_xla.environment import variable


class _OfThread(threading.local):
    """Whether recorded ops may run in this thread."""

    may_run = True


_THREAD = _OfThread()


class Mode:
    """Switches of the process.

    Attributes:
        takes_floating_classes: whether losses take classes of a floating type, as they do after ``import torch_xla``.
        takes_donations: whether every run takes donated tensors, beside those of ``torch_xla.sync``.
        structures: receives the structure of each trace that runs; None while nobody asks.
    """

    takes_floating_classes = False
    takes_donations = False
    structures: set[tuple[int, ...]] | None = None

    @functools.cached_property
    def eager(self) -> bool:
        """Whether each op runs at once instead of being recorded. The default comes from ``TTXLA_EAGER``."""
        return variable("TTXLA_EAGER") == "1"

    @property
    def may_run(self) -> bool:
        """Whether this thread may run recorded ops now; not within a function that is to be one program."""
        return _THREAD.may_run

    @may_run.setter
    def may_run(self, value: bool) -> None:
        _THREAD.may_run = value

    @contextlib.contextmanager
    def allowing_runs(self) -> Iterator[None]:
        """Context manager in which recorded ops may run, for programs of their own within a function that is one."""
        before, self.may_run = self.may_run, True
        try:
            yield
        finally:
            self.may_run = before


MODE = Mode()
