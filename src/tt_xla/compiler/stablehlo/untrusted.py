"""Reading of programs of unknown origin in a separate process, so that a damaged one does not end the user's process.

The process has a time limit. It writes the module that it has read as new bytecode, which is safe to read here.
"""

from __future__ import annotations

import atexit
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from tt_xla.compiler.stablehlo.reader_process import HEADER
from tt_xla.environment import child_environment
from tt_xla.errors import MalformedModuleError
from tt_xla.locks import Lock

TIME_LIMIT = 10.0
"""Time limit in seconds for reading a program, including the start of the process, plus one second for each MB."""

_lock = Lock()
_process: subprocess.Popen[bytes] | None = None
_owner = 0


def checked(data: bytes, name: str) -> bytes:
    """Returns a program as bytecode that is safe to read in this process.

    Args:
        data: text or bytecode of any origin.
        name: name of the program in errors.

    Raises:
        MalformedModuleError: the program cannot be read, or not within the limits of time and memory.
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
    """Sends a program to the reader process, and returns its answer.

    Raises:
        MalformedModuleError: the process ended, or did not answer in time.
    """
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
            if (
                not finished
            ):  # also when a signal handler raised: a late answer would be taken for that to the next request
                _stop()
    except TimeoutError:
        problem = f"reading it took longer than {TIME_LIMIT:.0f} s and was stopped"
    except (EOFError, BrokenPipeError):
        problem = "MLIR's reader crashes on it"
    else:
        return answer
    raise MalformedModuleError(
        f"'{name}' is not a well-formed StableHLO module: {problem}.",
        hint="Write the module again from its source.",
    )


def _read(answers: IO[bytes], size: int, deadline: float) -> bytes:
    """Reads ``size`` bytes from the process.

    Raises:
        TimeoutError: the deadline passed.
        EOFError: the process ended.
    """
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        while len(data) < size:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            chunk = os.read(answers.fileno(), min(1 << 20, size - len(data)))
            if not chunk:
                raise EOFError
            data += chunk
    return bytes(data)


def _running() -> subprocess.Popen[bytes]:
    """Returns the running reader process, after starting one if there is none or this process was forked."""
    global _process, _owner
    if _process is None or _owner != os.getpid() or _process.poll() is not None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("reader_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment({"PYTHONPATH": path}),
            start_new_session=True,  # Ctrl-C must reach the user's program only
        )
        _process, _owner = process, os.getpid()
    return _process


@atexit.register
def _stop() -> None:
    """Ends the reader process that this process started, if there is one."""
    global _process
    process, _process = _process, None
    if process is not None and _owner == os.getpid():
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
