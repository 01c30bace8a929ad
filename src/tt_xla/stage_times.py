"""The times of a first call's stages, from dynamo's tracing to the first run of the program.

Stages nest. The time of a stage is what it takes itself, without the stages inside it. Each thread has stages of its
own; the processor time is the process's, so that work which a stage gives to other threads counts as its own.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tt_xla.locks import Lock

TRACING = "dynamo"
"""Dynamo traces the user's function."""
AUTOGRAD = "AOTAutograd"
"""AOTAutograd makes dynamo's graph functional, or finds what it made in the cache on disk."""
LOWERING = "lowering"
"""The functional graph becomes StableHLO."""
COMPILING = "compiling"
"""StableHLO becomes a Program."""
PRINTING = "printing"
"""The module is printed at a stage, where somebody asked for its text."""
LOADING = "loading"
"""A Program is found in the cache on disk and bound to kernels."""
FIRST_RUN = "first run"
"""The Program runs for the first time, with its checks."""
KERNELS = "kernels"
"""TT-NN compiles the kernels of ops that run for the first time."""

STAGES = (TRACING, AUTOGRAD, LOWERING, COMPILING, PRINTING, LOADING, FIRST_RUN, KERNELS)
"""The stages, in the order of the flow."""


@dataclass
class Spent:
    """Time that a stage took.

    Attributes:
        wall_s: seconds of the wall clock.
        processor_s: seconds of processor time of all threads of the process.
        count: number of times that the stage was entered.
    """

    wall_s: float = 0.0
    processor_s: float = 0.0
    count: int = 0


@dataclass
class _Open:
    """A stage that has not ended."""

    name: str
    wall: float
    processor: float


class Watcher(Protocol):
    """Follows one outermost stage and the stages inside it."""

    def entered(self, stage: str, detail: str) -> None:
        """A stage began or went on after one inside it, or a pass of it began, which ``detail`` names."""
        ...

    def ended(self, spent: Mapping[str, Spent], wall_s: float) -> None:
        """The outermost stage ended after some seconds, which the stages have taken."""
        ...


WATCHERS: list[Callable[[], Watcher]] = []
"""Functions that make a watcher of an outermost stage when it begins."""


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.spent: dict[str, Spent] = {}
        self.watchers: list[Watcher] = []


@dataclass
class _Process:
    """Times of all threads of the process."""

    lock: Lock = field(default_factory=Lock)
    """A lock that its thread may take again: a signal or a compiler of Python frames may enter a stage meanwhile."""
    spent: dict[str, Spent] = field(default_factory=lambda: {})


_THREAD = _Thread()
_PROCESS = _Process()


@contextlib.contextmanager
def stage(name: str) -> Generator[None]:
    """Counts the time of a block as that of one of :data:`STAGES`."""
    open_stages = _THREAD.open
    began = wall = time.perf_counter()
    processor = time.process_time()
    if open_stages:
        _account(open_stages[-1], wall, processor)
    else:
        _THREAD.spent, _THREAD.watchers = {}, [make() for make in WATCHERS]
    open_stages.append(_Open(name, wall, processor))
    note("")
    with _PROCESS.lock:
        _PROCESS.spent.setdefault(name, Spent()).count += 1
    try:
        yield
    finally:
        wall, processor = time.perf_counter(), time.process_time()
        _account(open_stages.pop(), wall, processor)
        if open_stages:
            open_stages[-1].wall, open_stages[-1].processor = wall, processor
            note("")
        else:
            for watcher in _THREAD.watchers:
                watcher.ended(_THREAD.spent, wall - began)


def note(detail: str) -> None:
    """Tells watchers the pass that the current stage is in."""
    if _THREAD.open:
        for watcher in _THREAD.watchers:
            watcher.entered(_THREAD.open[-1].name, detail)


def _account(stage: _Open, wall: float, processor: float) -> None:
    with _PROCESS.lock:
        spent = _PROCESS.spent.setdefault(stage.name, Spent())
        own = _THREAD.spent.setdefault(stage.name, Spent())
        for times in (spent, own):
            times.wall_s += wall - stage.wall
            times.processor_s += processor - stage.processor


def spent() -> dict[str, Spent]:
    """Returns the time that each stage has taken in this process so far, in the order of :data:`STAGES`."""
    with _PROCESS.lock:
        return {name: Spent(**vars(_PROCESS.spent[name])) for name in STAGES if name in _PROCESS.spent}


@contextlib.contextmanager
def counted_apart() -> Generator[None]:
    """Counts the stages in a block as if the process had just begun, and then returns to the times of before."""
    with _PROCESS.lock:
        before, _PROCESS.spent = _PROCESS.spent, {}
    try:
        yield
    finally:
        with _PROCESS.lock:
            _PROCESS.spent = before


__all__ = [
    "AUTOGRAD",
    "COMPILING",
    "FIRST_RUN",
    "KERNELS",
    "LOADING",
    "LOWERING",
    "PRINTING",
    "STAGES",
    "TRACING",
    "WATCHERS",
    "Spent",
    "Watcher",
    "counted_apart",
    "note",
    "spent",
    "stage",
]
