"""Limits of a child process that runs what may crash, hang or take all memory, and how such a process ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from tt_xla.locks import Lock

_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl(2) that sets the signal which a process gets when its parent ends."""


def limit_this_process(memory: int, parent: int) -> None:
    """Limits the memory of this process, writes no core file, and ends the process with its parent, on Linux.

    Args:
        memory: bytes of data; 0 for no limit. Address space is not limited: torch reserves far more than it uses.
        parent: id of the process that started this one. Without it, a process that hangs would never end.
    """
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before prctl took effect
            os._exit(1)


_running: set[int] = set()
"""Processes of :func:`child` that run; each leads a group."""

_lock = Lock()


@contextlib.contextmanager
def child(command: Sequence[str], **options: Any) -> Generator[subprocess.Popen[bytes]]:
    """Starts a process in a session of its own; the end of the block kills it and its children.

    Args:
        command: program and arguments.
        options: further arguments of :class:`subprocess.Popen`.
    """
    with _lock:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
        _running.add(process.pid)
    try:
        yield process
    finally:
        with _lock:
            _running.discard(process.pid)
        kill_group(process.pid)
        process.wait()


def run_child(command: Sequence[str], limit: float, output: Path, **options: Any) -> int | None:
    """Runs a process to its end, or kills it after a time; see :func:`child`.

    Args:
        command: program and arguments.
        limit: seconds.
        output: file for what the process writes.
        options: further arguments of :class:`subprocess.Popen`.

    Returns:
        The exit status as ``subprocess`` gives it; None if the process took longer.
    """
    with output.open("wb") as sink, child(command, stdout=sink, stderr=sink, **options) as process:
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None


def end_of(output: Path, size: int) -> str:
    """Returns the text in the last ``size`` bytes of a file."""
    return output.read_bytes()[-size:].decode(errors="replace").strip()


def end_children() -> None:
    """Kills the processes of all blocks of :func:`child`, in every thread."""
    with _lock:
        for leader in _running:
            kill_group(leader)


def kill_group(leader: int) -> None:
    """Kills a process that leads a process group, and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def signal_name(status: int) -> str:
    """Returns the name of the signal that ended a process, or its exit status in words.

    Args:
        status: exit status as ``subprocess`` gives it, negative for a signal.
    """
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def default_memory(jobs: int) -> int:
    """Returns the memory limit of a process: 4/5 of the machine's memory, shared by ``jobs`` processes."""
    return int(0.8 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // jobs
