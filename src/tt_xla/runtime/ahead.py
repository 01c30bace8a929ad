"""Compiles what fused kernels of any program need while the compilation of a long program goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping

from tt_xla import disk_cache, environment, stage_times
from tt_xla.stage_times import AUTOGRAD, COMPILING, LOWERING, TRACING, Spent

_EXPECTANT_S = 2.0
"""Seconds that a program has been in the making, from which its first run is likely to make its fused kernels."""

_WAIT_S = 2.0
"""Seconds that the first run of a program waits at most for what is compiled ahead."""


def _making_s() -> float:
    """Returns the seconds that making programs has taken in this process, without loading and running them."""
    spent = stage_times.spent()
    return sum(spent[name].wall_s for name in (TRACING, AUTOGRAD, LOWERING, COMPILING) if name in spent)


class Ahead:
    """How long the program that is being made has taken, and the C++ that is compiled meanwhile."""

    def __init__(self) -> None:
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
        if self._threads or self.waited_s() < _EXPECTANT_S:
            return
        if environment.emulator_chains() == "off" or disk_cache.current() is None:
            return
        from tt_xla.runtime.emulator.fused import background, build

        if build.compiler() is not None:
            self._threads = [background.start(job) for job in (_compile_products, _compile_probe)]

    def ended(self, spent: Mapping[str, Spent], wall_s: float) -> None:
        """Does nothing: a program ends with its first run, which may be part of a later compilation."""

    def is_ready(self) -> bool:
        """Returns whether all that was begun has ended, for which it waits a moment."""
        end = time.monotonic() + _WAIT_S
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._threads)


def _compile_products() -> None:
    from tt_xla.runtime.emulator.fused import packed

    with contextlib.suppress(Exception):  # whoever needs the library compiles it again, and reports what fails
        packed.compile_library()


def _compile_probe() -> None:
    from tt_xla.runtime.emulator.fused.build import Build
    from tt_xla.runtime.emulator.fused.families import PROBE

    with contextlib.suppress(Exception):
        Build.of(PROBE, optimize=False)


AHEAD = Ahead()


def _ahead() -> Ahead:
    return AHEAD


def compile_ahead() -> None:
    """Has the C++ that all fused kernels share compiled during later compilations of this process that take long."""
    if _ahead not in stage_times.WATCHERS:
        stage_times.WATCHERS.append(_ahead)


__all__ = ["AHEAD", "Ahead", "compile_ahead"]
