"""Recordings of compilations, in a light module: a process that compiles nothing asks it whether somebody records."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from dataclasses import dataclass, field

from tt_xla.ir.program import Program
from tt_xla.observers import Observers
from tt_xla.options import CompileOptions


@dataclass
class Compilation:
    """A recorded call of :func:`compile_module`.

    Attributes:
        name: name of the Program.
        modules: text of the module at each stage, by stage name; empty unless texts are recorded.
        program: the Program; None if compiling failed.
        error: the exception that ended the call; None if compiling succeeded.
        started: time at which the call began, of :func:`time.perf_counter_ns`.
        ended: time at which the call ended, of the same clock.
        source: text of the module with its locations; empty unless texts are recorded.
        options: the compile options; None if the caller did not name them.
    """

    name: str
    modules: dict[str, str]
    program: Program | None = None
    error: BaseException | None = None
    started: int = field(default_factory=time.perf_counter_ns)
    ended: int = 0
    source: str = ""
    options: CompileOptions | None = None

    @property
    def seconds(self) -> float:
        """Duration of the call."""
        return (self.ended - self.started) / 1e9


@dataclass(eq=False)
class Recorder:
    """Records compilations, and with ``texts`` also the text of the module at each stage."""

    texts: bool
    compilations: list[Compilation] = field(default_factory=lambda: [])


RECORDERS: Observers[Recorder] = Observers()
"""The recorders that are active at the moment."""


def is_recording() -> bool:
    """Returns whether compilations are recorded at the moment."""
    return bool(RECORDERS)


@contextlib.contextmanager
def recorded_compilations(*, texts: bool) -> Generator[list[Compilation]]:
    """Records every compilation of the process, whichever frontend asked for it.

    Args:
        texts: whether the text of the module at each stage is recorded too.
    """
    with RECORDERS.added(Recorder(texts)) as recorder:
        yield recorder.compilations


__all__ = ["RECORDERS", "Compilation", "Recorder", "is_recording", "recorded_compilations"]
