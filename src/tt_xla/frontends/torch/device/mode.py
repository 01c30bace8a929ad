"""How recorded ops run: later or at once, and what ``torch_xla.compile`` wants to know of them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

from tt_xla.environment import variable


class Mode:
    """Switches of the process.

    Attributes:
        may_run: whether recorded ops may run now; not within a function that is to be one program.
        takes_donations: whether every run takes donated tensors, beside those of ``torch_xla.sync``.
        structures: receives the structure of each trace that runs; None while nobody asks.
    """

    may_run = True
    takes_donations = False
    structures: set[tuple[int, ...]] | None = None

    @functools.cached_property
    def eager(self) -> bool:
        """Whether each op runs at once instead of being recorded. The default comes from ``TTXLA_EAGER``."""
        return variable("TTXLA_EAGER") == "1"

    @contextlib.contextmanager
    def allowing_runs(self) -> Iterator[None]:
        """Context manager in which recorded ops may run, for programs of their own within a function that is one."""
        before, self.may_run = self.may_run, True
        try:
            yield
        finally:
            self.may_run = before


MODE = Mode()
