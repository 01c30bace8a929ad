"""How recorded ops run: later or at once, and what ``torch_xla.compile`` wants to know of them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator

from tt_xla.environment import debug_level, variable


class _OfThread(threading.local):
    """Switches and names of one thread in a session.

    Attributes:
        may_run: whether recorded ops may run.
        cause: why they run now, as ``PT_XLA_DEBUG`` reports it; empty where a result is read.
        graph_name: name of the program that they become; empty for most.
        scopes: names of the open ranges of torch_xla's profiler, the outermost first.
        scope_number: number of the last range that was opened in this step.
    """

    may_run = True
    cause = ""
    graph_name = ""
    scope_number = 0

    def __init__(self) -> None:
        self.scopes: list[str] = []


class Mode:
    """Switches of a session.

    Attributes:
        copies_operands: whether an elementwise op on two tensors copies one of the CPU to the device, as in torch_xla.
            Otherwise tensors of two devices are PyTorch's error.
        takes_floating_classes: whether losses take classes of a floating type, as they do after ``import torch_xla``.
        takes_donations: whether every run takes donated tensors, beside those of ``torch_xla.sync``.
        structures: receives the structure of each trace that runs; None while nobody asks.
    """

    copies_operands = False
    takes_floating_classes = False

    def __init__(self) -> None:
        self.takes_donations = False
        self.structures: set[tuple[int, ...]] | None = None
        self._thread = _OfThread()

    @classmethod
    def follow_torch_xla(cls) -> None:
        """Takes over torch_xla's rules for operands in all sessions, since a script has imported it."""
        cls.copies_operands = cls.takes_floating_classes = True

    @functools.cached_property
    def eager(self) -> bool:
        """Whether each op runs at once instead of being recorded. The default comes from ``TTXLA_EAGER``."""
        return variable("TTXLA_EAGER") == "1"

    @functools.cached_property
    def debug_level(self) -> int:
        """Level of ``PT_XLA_DEBUG``, as the environment says when recorded ops run for the first time."""
        return debug_level()

    @property
    def may_run(self) -> bool:
        """Whether this thread may run recorded ops now; not within a function that is to be one program."""
        return self._thread.may_run

    @may_run.setter
    def may_run(self, value: bool) -> None:
        self._thread.may_run = value

    @property
    def cause(self) -> str:
        """Why recorded ops run now; empty where a result is read."""
        return self._thread.cause

    @property
    def graph_name(self) -> str:
        """Name of the program of the recorded ops; empty for most."""
        return self._thread.graph_name

    @contextlib.contextmanager
    def running_because(self, cause: str, graph_name: str = "") -> Iterator[None]:
        """Context manager that says why recorded ops run, unless an outer one does, and what their program is named."""
        before = self._thread.cause, self._thread.graph_name
        self._thread.cause = before[0] or cause
        self._thread.graph_name = graph_name or before[1]
        try:
            yield
        finally:
            self._thread.cause, self._thread.graph_name = before

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Context manager that opens a range of torch_xla's profiler."""
        self._thread.scope_number += 1
        self._thread.scopes.append(f"{name}.{self._thread.scope_number}")
        try:
            yield
        finally:
            self._thread.scopes.pop()

    def reset_scope(self) -> None:
        """Numbers ranges of the profiler from 1 again.

        Raises:
            RuntimeError: a range is open, which the end of a step would divide.
        """
        if self._thread.scopes:
            raise RuntimeError(
                f"Expecting scope to be empty but it is {'/'.join(self._thread.scopes)}. A step may not end within a "
                "range of xp.Trace. End it after the range, use xp.StepTrace for an entire step, or call "
                "torch_xla.sync(reset_scope=False)."
            )
        self._thread.scope_number = 0

    @contextlib.contextmanager
    def allowing_runs(self) -> Iterator[None]:
        """Context manager in which recorded ops may run, for programs of their own within a function that is one."""
        before, self.may_run = self.may_run, True
        try:
            yield
        finally:
            self.may_run = before
