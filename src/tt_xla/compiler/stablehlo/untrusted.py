"""Programs of unknown origin: a process of its own reads them, so that damage in one ends that process, not the user's.

It has a time limit, and what it has read is read here as that process has written it anew.
"""

from __future__ import annotations

import atexit
import os
import selectors
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from tt_xla.compiler.stablehlo.reader_process import HEADER
from tt_xla.errors import MalformedModuleError
from tt_xla.options import child_environment

TIME_LIMIT = 10.0
"""Seconds that reading may take, with the start of the process, and a second more for each MB."""

_lock = threading.RLock()
_process: subprocess.Popen[bytes] | None = None
_owner = 0


def checked(data: bytes, name: str) -> bytes:
    """A program that this process can read: bytecode, written anew from text or bytecode.

    Raises:
        MalformedModuleError: it cannot be read, or not in reasonable time and memory.
    """
    with _lock:
        answer = _ask(data, name)
    if answer.startswith(b"+"):
        return answer[1:]
    reason = answer[1:].decode("utf-8", "replace").strip().rstrip(".")
    raise MalformedModuleError(
        f"'{name}' is not a well-formed StableHLO module: {reason}.",
        hint="Write it again; it may be cut off or of a newer StableHLO version.",
    )


def _ask(data: bytes, name: str) -> bytes:
    process = _running()
    requests, answers = process.stdin, process.stdout
    assert requests is not None
    assert answers is not None
    finished = False
    try:
        try:
            requests.write(HEADER.pack(len(data)) + data)
            requests.flush()
            deadline = time.monotonic() + TIME_LIMIT + len(data) / 1e6
            size = HEADER.unpack(_read(answers, HEADER.size, deadline))[0]
            answer = _read(answers, size, deadline)
            finished = True
        finally:
            if not finished:  # also where a signal handler raised: what is on its way would answer the next request
                _stop()
    except TimeoutError:
        problem = f"reading it does not end (it was stopped after {TIME_LIMIT:.0f} s)"
    except (EOFError, BrokenPipeError):
        problem = "MLIR's reader breaks on it"
    else:
        return answer
    raise MalformedModuleError(
        f"'{name}' is not a well-formed StableHLO module: {problem}.",
        hint="Write it again from the program that it came from.",
    )


def _read(answers: IO[bytes], size: int, deadline: float) -> bytes:
    """Bytes from the process, which is waited for until the deadline."""
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        while len(data) < size:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            piece = os.read(answers.fileno(), min(1 << 20, size - len(data)))
            if not piece:
                raise EOFError
            data += piece
    return bytes(data)


def _running() -> subprocess.Popen[bytes]:
    """The process, started where there is none; a forked child does not share its parent's."""
    global _process, _owner
    if _process is None or _owner != os.getpid() or _process.poll() is not None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("reader_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment({"PYTHONPATH": path}),
            start_new_session=True,  # Ctrl-C is for the user's program
        )
        _process, _owner = process, os.getpid()
    return _process


@atexit.register
def _stop() -> None:
    global _process
    process, _process = _process, None
    if process is not None and _owner == os.getpid():
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
