"""One line on a terminal while a compilation takes long: its stage and pass, and at its end where the time went.

The line appears when a compilation has taken :data:`AFTER_S`, if standard error is a terminal and ``TTXLA_PROGRESS`` is
not ``0``. Rich draws it, in a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tt_xla.environment import shows_progress
from tt_xla.stage_times import COMPILING, LOADING, LOWERING, WATCHERS, Spent

if TYPE_CHECKING:
    from rich.status import Status

AFTER_S = 2.0
"""Seconds after which a compilation shows a line."""

_SHORTEST_S = 0.05
"""Seconds from which the summary names a stage."""


class Progress:
    """Shows the stages of one compilation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text = ""
        self._status: Status | None = None
        self._timer: threading.Timer | None = None
        if shows_progress():
            self._timer = threading.Timer(AFTER_S, self._show)
            self._timer.daemon = True
            self._timer.start()

    def entered(self, stage: str, detail: str) -> None:
        """Shows the stage, and the pass within it if there is one."""
        with self._lock:
            self._text = f"tt: {stage}, {detail}" if detail else f"tt: {stage}"
            if self._status is not None:
                self._status.update(self._text)

    def ended(self, spent: Mapping[str, Spent], wall_s: float) -> None:
        """Replaces the line by the summary."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            status, self._timer, self._status = self._status, None, None
        if status is not None:
            status.stop()
            status.console.print(summary(spent, wall_s), highlight=False, soft_wrap=True)

    def _show(self) -> None:
        from rich.console import Console

        with self._lock:
            if self._timer is not None:  # otherwise the compilation has ended
                self._status = Console(stderr=True).status(self._text)
                self._status.start()


def summary(spent: Mapping[str, Spent], wall_s: float) -> str:
    """Returns a line that says where the time of a compilation went, and whether a cache spared compiling.

    Args:
        spent: times of the stages.
        wall_s: seconds that the compilation took.
    """
    parts = [f"{name} {times.wall_s:.1f} s" for name, times in spent.items() if times.wall_s >= _SHORTEST_S]
    is_cached = LOADING in spent and not {COMPILING, LOWERING} & spent.keys()
    cached = " (from a cache)" if is_cached else ""
    return f"tt: {wall_s:.1f} s{cached}: {', '.join(parts)}"


def show_progress() -> None:
    """Shows the progress of later compilations of this process."""
    if Progress not in WATCHERS:
        WATCHERS.append(Progress)


__all__ = ["Progress", "show_progress", "summary"]
