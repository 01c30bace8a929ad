"""What a process does with its emulated card, in a file that ``tt-xla smi`` reads.

One file a process in the user's runtime folder, written at most once a second while programs are loaded or run, and
replaced in one step, so that no reader sees half of it. A process that cannot write it runs without.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tt_xla import options
from tt_xla.log import logger

INTERVAL = 1.0
"""Seconds between two writes."""


class Status(msgspec.Struct):
    """One emulated card in one process. Times are seconds since the epoch."""

    pid: int
    process_started: int
    """As the system counts it, in ticks since it was started: a number used again has another."""
    system: str
    opened: float
    updated: float = 0.0
    programs: int = 0
    runs: int = 0
    busy_us: float = 0.0
    """Predicted time of all runs together on the chip."""
    dram_used: int = 0
    dram_usable: int = 0
    running_since: float = 0.0
    """When the run in progress began, as of the last write; 0 for none."""


def process_started(pid: int) -> int | None:
    """When a process was started; None when there is none of this number, 0 where the system does not tell."""
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
    return options.runtime_directory() / "devices"


def read_all() -> list[Status]:
    """Of every process that is alive; files of others, and such as are none of ours, are removed."""
    found: list[Status] = []
    for path in sorted(folder().glob("*.json")):
        try:
            status = msgspec.json.decode(path.read_bytes(), type=Status)
        except (OSError, msgspec.DecodeError):
            status = None
        if status is not None and process_started(status.pid) == status.process_started:
            found.append(status)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return found


def request_reset(status: Status) -> None:
    """Asks a process to reset its card, which it does before its next run.

    Raises:
        OSError: the runtime folder cannot be written.
    """
    _request(status).touch()


def _request(status: Status) -> Path:
    return folder() / f"{status.pid}-{status.system}.reset"


class Reporter:
    """Keeps a card's file.

    Args:
        measure: fills in what is not counted here: programs and memory.
    """

    def __init__(self, system: str, measure: Callable[[Status], None]) -> None:
        pid = os.getpid()
        self.status = Status(pid, process_started(pid) or 0, system, time.time())
        self._measure = measure
        self._due = 0.0
        self._works = True
        self._registered = False

    def begin(self) -> bool:
        """A run begins; whether a reset was asked for."""
        self.status.running_since = time.time()
        return time.monotonic() >= self._due and self.write()

    def end(self, predicted_us: float) -> None:
        """The run has ended, well or not."""
        status = self.status
        status.runs += 1
        status.busy_us += predicted_us
        status.running_since = 0.0
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> bool:
        """Writes the file; whether a reset was asked for, which stays so until :meth:`begin` says it."""
        self._due = time.monotonic() + INTERVAL
        if not self._works:
            return False
        status = self.status
        if status.pid != os.getpid():  # a child after a fork is a process of its own
            self.status = status = Status(os.getpid(), process_started(os.getpid()) or 0, status.system, time.time())
            self._registered = False
        self._measure(status)
        status.updated = time.time()
        path = folder() / f"{status.pid}-{status.system}.json"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
            logger().debug("tt-xla smi does not see this process: %s", error)
        return False


def _remove(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        with contextlib.suppress(OSError):
            path.unlink()
