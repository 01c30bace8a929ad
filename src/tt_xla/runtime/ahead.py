"""Compiles what fused kernels of any program need while the compilation of a long program goes on."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping

from tt_xla import disk_cache, environment, stage_times
from tt_xla.stage_times import AUTOGRAD, COMPILING, LOWERING, TRACING, Spent

_LONG_COMPILATION_S = 2.0
"""Seconds of making a program from which its first run is likely to compile its fused kernels."""

_WAIT_S = 2.0
"""Seconds that the first run of a program waits at most for what is compiled ahead."""


def _making_s() -> float:
    """Returns the seconds that this process has traced, lowered and compiled programs."""
    spent = stage_times.spent()
    return sum(spent[name].wall_s for name in (TRACING, AUTOGRAD, LOWERING, COMPILING) if name in spent)


class Ahead:
    """Compiles the C++ that all fused kernels share while a program takes long to compile.

    Args:
        wait_s: seconds that :meth:`is_ready` waits at most.
    """

    def __init__(self, wait_s: float = _WAIT_S) -> None:
        self._wait_s = wait_s
        self._former_s = 0.0
        self._threads: list[threading.Thread] = []

    def waited_s(self) -> float:
        """Returns the seconds that making the present program has taken."""
        return _making_s() - self._former_s

    def end(self) -> float:
        """Ends the making of a program, and returns the seconds that it took."""
        total = _making_s()
        waited, self._former_s = total - self._former_s, total
        return waited

    def entered(self, stage: str, detail: str) -> None:
        """Begins to compile the C++ that all programs share, for the cache on disk, once a program has taken long."""
        if self._threads or self.waited_s() < _LONG_COMPILATION_S:
            return
        if environment.emulator_chains() == "off" or disk_cache.current() is None:
            return
        # The threads import nothing: two threads that import modules of one package may wait for each other.
        from tt_xla.runtime.emulator.fused import background, build, packed
        from tt_xla.runtime.emulator.fused.families import PROBE

        if build.compiler() is not None:
            jobs = packed.compile_library, functools.partial(build.Build.of, PROBE, optimize=False)
            self._threads = [background.start(functools.partial(_without_faults, job)) for job in jobs]

    def ended(self, spent: Mapping[str, Spent], wall_s: float) -> None:
        """Does nothing: a program ends with its first run, which may be part of a later compilation."""

    def is_ready(self) -> bool:
        """Returns whether all that was begun has ended, for which it waits a moment."""
        end = time.monotonic() + self._wait_s
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._threads)


def _without_faults(job: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):  # whoever needs the library compiles it again, and reports what fails
        job()


AHEAD = Ahead()


def _ahead() -> Ahead:
    return AHEAD


def compile_ahead() -> None:
    """Has the C++ that all fused kernels share compiled during later compilations of this process that take long."""
    if _ahead not in stage_times.WATCHERS:
        stage_times.WATCHERS.append(_ahead)


__all__ = ["AHEAD", "Ahead", "compile_ahead"]
