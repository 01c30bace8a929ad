"""One line on a terminal while a compilation takes long: its stage and pass, and at its end where the time went.

The line appears when a compilation has taken :data:`AFTER_S`, if standard error is a terminal and ``TTXLA_PROGRESS`` is
not ``0``. Rich draws it, in a thread of its own. A compilation that stays in one pass for :data:`STALLED_S` is logged.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tt_xla.environment import shows_progress
from tt_xla.locks import Lock
from tt_xla.log import logger
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
        self._lock = Lock()
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


class Stall:
    """Reports a compilation that stays in one pass for :data:`STALLED_S` seconds, with what its thread is doing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._thread = threading.get_ident()
        self._place = ""
        self._since = time.monotonic()
        self._is_reported = False
        _STALLS.add(self)
        _watch_stalls()

    def entered(self, stage: str, detail: str) -> None:
        """Begins to count anew."""
        with self._lock:
            self._place = f"{stage}, {detail}" if detail else stage
            self._since, self._is_reported = time.monotonic(), False

    def ended(self, spent: Mapping[str, Spent], wall_s: float) -> None:
        """Ends the watch."""
        _STALLS.discard(self)

    def report(self) -> None:
        """Logs where the compilation is, once for each pass that takes long."""
        frame = sys._current_frames().get(self._thread)
        with self._lock:
            if self._is_reported or frame is None or time.monotonic() - self._since < STALLED_S:
                return
            self._is_reported = True
            logger().warning(
                "A compilation has been at '%s' for %d s. Its thread is here, the innermost call last:\n%s",
                self._place,
                time.monotonic() - self._since,
                "".join(traceback.format_stack(frame, limit=_FRAMES)),
            )


STALLED_S = 30.0
"""Seconds that a compilation may spend in one pass, after which a warning says where it is."""

_FRAMES = 12
"""Number of calls that the warning shows."""

_STALLS: set[Stall] = set()
"""The compilations that are going on."""
_watcher: threading.Thread | None = None


def _watch_stalls() -> None:
    """Starts the thread that looks at compilations, unless it runs; it does not in a forked process."""
    global _watcher
    if _watcher is None or not _watcher.is_alive():
        _watcher = threading.Thread(target=_report_stalls, name="tt_xla stalls", daemon=True)
        _watcher.start()


def _report_stalls() -> None:
    while True:
        time.sleep(STALLED_S / 6)
        for stall in list(_STALLS):
            stall.report()


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
    WATCHERS.extend(watcher for watcher in (Progress, Stall) if watcher not in WATCHERS)


__all__ = ["Progress", "Stall", "show_progress", "summary"]
