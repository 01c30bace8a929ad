"""Reports the state of a process and its card, emulated or not, in a file that ``tt-xla smi`` reads.

Each process has one file for each card in the user's runtime folder. The file is written at most once a second while
programs are loaded or run, and replaced atomically, so that no reader sees half of it. A process that cannot write the
file runs without it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from tt_xla import environment
from tt_xla.log import logger
from tt_xla.target.target import Link
from tt_xla.temporary import made_private

INTERVAL = 1.0
"""Minimum time between two writes of the file, in seconds."""


class Status(msgspec.Struct):
    """One chip of a card in one process. Times are seconds since the epoch."""

    pid: int
    process_started: int
    """Start time of the process in clock ticks since boot. It tells a reused process id from the original one."""
    system: str
    """Name of the system. Only the process itself is sure to know a system by it, so its facts are here too."""
    opened: float
    updated: float = 0.0
    programs: int = 0
    runs: int = 0
    busy_us: float = 0.0
    """Predicted time of all runs together on the chip, in microseconds."""
    dram_used: int = 0
    dram_usable: int = 0
    chip: int = 0
    """Number of the chip in its system."""
    chips: int = 1
    """Number of chips in the system."""
    links: list[Link] = []
    clock_hz: float = 0.0
    runtime: str = "emulated"
    """The runtime of the programs, as ``TTXLA_RUNTIME`` names it."""
    running_since: float = 0.0
    """Start of the run that was in progress at the last write; 0 when there was none."""


def process_started(pid: int) -> int | None:
    """Returns the start time of a process in clock ticks since boot.

    Returns None when no process has this id, and 0 when the system does not tell start times.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[19])
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except (OSError, ValueError, IndexError):
        return 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return 0


def folder() -> Path:
    """Returns the folder that the files of all processes are in."""
    return environment.runtime_directory() / "devices"


def read_all() -> list[Status]:
    """Returns the status of every live process. Removes files of other processes and files that cannot be read."""
    statuses: list[Status] = []
    for path in sorted(folder().glob("*.json")):
        try:
            status = msgspec.json.decode(path.read_bytes(), type=Status)
        except (OSError, msgspec.DecodeError):
            status = None
        if status is not None and process_started(status.pid) == status.process_started:
            statuses.append(status)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return statuses


def request_reset(status: Status) -> None:
    """Asks a process to reset its card. The process does so before its next run.

    Raises:
        OSError: the runtime folder is not writable.
    """
    _request(status).touch()


def _request(status: Status) -> Path:
    """Returns the file whose existence asks a process for a reset."""
    return _file(status).with_suffix(".reset")


def _file(status: Status) -> Path:
    """Returns the file of a chip's status. A system's name may be a path, so that it is in the name as a digest."""
    digest = hashlib.sha256(status.system.encode()).hexdigest()[:8]
    return folder() / f"{status.pid}-{digest}-{status.chip}.json"


class Chip(Protocol):
    """The properties of a :class:`tt_xla.target.Target` that the runtime needs."""

    @property
    def name(self) -> str: ...
    @property
    def arch(self) -> str: ...
    @property
    def chips(self) -> int: ...
    @property
    def links(self) -> tuple[Link, ...]: ...
    @property
    def clock_hz(self) -> float: ...
    @property
    def dram_usable_bytes(self) -> int: ...


class Reporter:
    """Writes the file of one chip.

    Args:
        target: the chip's system.
        measure: fills in the fields that the reporter does not count itself: programs and memory.
        chip: number of the chip in its system.
    """

    def __init__(self, target: Chip, measure: Callable[[Status], None], chip: int = 0) -> None:
        self._target = target
        self._chip = chip
        self.status = self._opened()
        self._measure = measure
        self._due = 0.0
        self._works = True
        self._registered = False

    def _opened(self) -> Status:
        pid, target = os.getpid(), self._target
        return Status(
            pid,
            process_started(pid) or 0,
            target.name,
            time.time(),
            chip=self._chip,
            chips=target.chips,
            links=list(target.links),
            clock_hz=target.clock_hz,
        )

    def silence(self) -> None:
        """Writes no file from now on: another process reports what this one runs."""
        self._works = False

    def begin(self) -> bool:
        """Records that a run begins. Returns whether a reset was asked for."""
        self.status.running_since = time.time()
        return time.monotonic() >= self._due and self.write()

    def end(self, predicted_us: float) -> None:
        """Records that the run ended, with or without an error."""
        status = self.status
        status.runs += 1
        status.busy_us += predicted_us
        status.running_since = 0.0
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> bool:
        """Writes the file. Returns whether a reset was asked for; a request is answered during a run only."""
        self._due = time.monotonic() + INTERVAL
        if not self._works:
            return False
        status = self.status
        if status.pid != os.getpid():  # a forked child reports as a process of its own
            self.status = status = self._opened()
            self._registered = False
        self._measure(status)
        status.updated = time.time()
        path = _file(status)
        try:
            made_private(path.parent)
            fresh = path.with_suffix(".new")
            fresh.write_bytes(msgspec.json.encode(status))
            fresh.replace(path)
            if not self._registered:
                self._registered = True
                atexit.register(_remove, path, status.pid)
            if status.running_since and _request(status).exists():
                _request(status).unlink()
                return True
        except OSError as error:
            self._works = False
            logger().debug("tt-xla smi cannot show this process: %s", error)
        return False


def _remove(path: Path, pid: int) -> None:
    """Removes the file at exit of the process that wrote it, but not at exit of a forked child."""
    if os.getpid() == pid:
        with contextlib.suppress(OSError):
            path.unlink()
