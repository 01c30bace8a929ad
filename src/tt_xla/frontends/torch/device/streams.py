"""Streams and events of ``torch.tt``, with the interface of ``torch.cuda``.

A chip computes in the order in which ops are recorded, so there is one queue, and waiting for a stream or an event is
waiting for all that was recorded.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch

from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.device.programs import synchronize


def wait() -> None:
    """Waits until cards have computed what was asked of them. The error of a run arrives where its result is read."""
    from tt_xla import runtime  # which imports torch, whose import imports this module

    runtime.wait()


def finish() -> None:
    """Runs all recorded ops, and waits until they and all compiled functions have been computed."""
    synchronize()
    wait()


class Event:
    """A point in the order of ops.

    Args:
        enable_timing: whether :meth:`elapsed_time` will be asked; every event knows its time.
        blocking: without effect, as for ``interprocess``.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing = enable_timing
        self._seconds: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Runs what was recorded so far, and notes the time at which it has been computed."""
        finish()
        self._seconds = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Returns the milliseconds from this event to another.

        Raises:
            RuntimeError: one of the events was not recorded.
        """
        if self._seconds is None or end_event._seconds is None:  # pyright: ignore[reportPrivateUsage]
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._seconds - self._seconds) * 1e3  # pyright: ignore[reportPrivateUsage]

    def query(self) -> bool:
        """Returns whether all that was recorded before the event has been computed, which it has."""
        return True

    def synchronize(self) -> None:
        """Waits for the event, which :meth:`record` has done."""

    def wait(self, stream: Stream | None = None) -> None:
        """Lets a stream wait for the event, which lies before all that it gets."""


class Stream(torch.Stream):
    """The queue of a chip, which PyTorch takes wherever it takes a stream.

    Args:
        device: the chip; the current one by default.
        priority: without effect.
    """

    _device: torch.device

    def __new__(cls, device: Any = None, priority: int = 0, **rest: Any) -> Stream:
        chip = torch.device(chips.DEVICE_TYPE, chips.current()) if device is None else torch.device(device)
        made = super().__new__(cls, device=chip)
        made._device = chip  # PyTorch's own says the first chip of all streams
        return made

    @property
    def device(self) -> torch.device:
        """The chip."""
        return self._device

    def synchronize(self) -> None:
        """Runs all recorded ops. Their results have been computed when this returns."""
        finish()

    def query(self) -> bool:
        """Returns whether nothing is left to compute; runs what was recorded."""
        finish()
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event, a new one by default, and returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Does nothing: ops are computed in the order in which they were recorded."""

    def wait_stream(self, stream: Stream) -> None:
        """Does nothing, as :meth:`wait_event`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"<torch.tt.Stream device={self.device}>"


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Selects a stream for a block. There is one, so this does nothing; None selects nothing."""
    yield


__all__ = ["Event", "Stream", "stream"]
