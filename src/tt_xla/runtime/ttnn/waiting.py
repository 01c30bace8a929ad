"""Waits for an answer of a worker: compiling kernels has a time limit of its own, and is a stage that is shown."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from tt_xla.log import logger
from tt_xla.stage_times import KERNELS, note, stage

LOOK_SECONDS = 0.5
"""Time between two looks at what a worker does."""

_COMPILERS = ("riscv", "cc1plus", "g++", "collect2", "lto")
"""Parts of the names of the processes with which TT-NN compiles kernels."""

_GENERATIONS = 4
"""Processes between a worker and a compiler: a shell, and the compiler's driver."""

LOG_SECONDS = 60.0
"""Time between two lines in the log while kernels are compiled."""


class Waiting:
    """The time that one answer has taken.

    Args:
        pid: process id of the worker.
        seconds: time limit of a run, in which no kernels are compiled.
        compiling_seconds: time limit of compiling kernels.
    """

    def __init__(self, pid: int, seconds: float, compiling_seconds: float) -> None:
        self._pid = pid
        self._seconds, self._compiling_seconds = seconds, compiling_seconds
        self._last = time.monotonic()
        self._ran = self._compiled = 0.0
        self._logged = 0.0
        self._stage = contextlib.ExitStack()
        """Ends the stage of compiling kernels, once they are compiled."""

    def look(self) -> tuple[str, str] | None:
        """Looks at what the worker does.

        Returns:
            What took too long, as the end of a sentence, and the variable with the limit; None for nothing.
        """
        now = time.monotonic()
        spent, self._last = now - self._last, now
        if compiles(self._pid):
            if not self._compiled:
                self._stage.enter_context(stage(KERNELS))
            self._compiled += spent
            self._report()
        else:
            self._ran += spent
        if self._compiled > self._compiling_seconds:
            return f"has compiled kernels for {self._compiling_seconds:g} s", "TTXLA_TTNN_COMPILE_TIMEOUT"
        if self._ran > self._seconds:
            return f"did not answer within {self._seconds:g} s", "TTXLA_TTNN_TIMEOUT"
        return None

    def end(self) -> None:
        """Ends the wait."""
        self._stage.close()

    def _report(self) -> None:
        note(f"{self._compiled:.0f} s")
        if self._compiled - self._logged >= LOG_SECONDS:
            self._logged = self._compiled
            logger().info("TT-NN has compiled kernels for %.0f s", self._compiled)


def compiles(pid: int) -> bool:
    """Returns whether a process has compilers of kernels among its descendants; False where no system tells."""
    generation = [pid]
    for _ in range(_GENERATIONS):
        generation = [child for parent in generation for child in _children(parent)]
        if any(part in name for name in map(_name, generation) for part in _COMPILERS):
            return True
    return False


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except OSError:  # the thread has ended
            continue
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""
