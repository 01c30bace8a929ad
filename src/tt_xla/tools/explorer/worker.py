"""A process for the explorer's long work, which the server can end at any time.

The server sends jobs over the process's standard input, and gets lines about progress and a result from its standard
output. Both are pickled: the process is the server's own child.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any

_SIZE = struct.Struct("<Q")

PROGRESS, RESULT, ERROR, FAULT = "progress", "result", "error", "fault"
"""Kinds of messages: a line about progress, the result, an error for the user, and a fault of the explorer."""


class Cancelled(Exception):
    """The work was cancelled."""


def write(stream: IO[bytes], message: object) -> None:
    """Writes a message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_SIZE.pack(len(data)) + data)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """Reads a message.

    Raises:
        EOFError: the other side ended.
    """
    head = stream.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    size = _SIZE.unpack(head)[0]
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


class Worker:
    """The process, started with the first job and again after it was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._jobs = threading.Lock()
        self._cancelled = False

    def start(self) -> None:
        """Starts the process, so that the first job finds its libraries loaded."""
        if self._process is None or self._process.poll() is not None:
            self._close_streams()
            command = [sys.executable, "-m", "tt_xla.tools.explorer.worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, function: str, *arguments: Any, progress: Callable[[str], None]) -> Any:
        """Runs a function of :data:`JOBS` in the process and returns its result. Jobs run one at a time.

        Raises:
            Cancelled: :meth:`cancel` ended the process.
            TTXLAError: the function raised it.
            RuntimeError: the function failed otherwise, or the process ended.
        """
        with self._jobs:
            self._cancelled = False
            self.start()
            process = self._process
            assert process is not None
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                write(process.stdin, (function, arguments))
                kind, content = read(process.stdout)
                while kind == PROGRESS:
                    progress(content)
                    kind, content = read(process.stdout)
            except (EOFError, OSError):
                status = process.wait()
                if self._cancelled:
                    raise Cancelled from None
                raise RuntimeError(f"The explorer's worker process ended {_ending(status)}.") from None
            if kind == RESULT:
                return content
            raise content if kind == ERROR else RuntimeError(content)

    def cancel(self) -> None:
        """Ends the process and with it the job that runs. The next job starts another one."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Replaces the process, once the job that runs has ended."""
        with self._jobs:
            self.cancel()
            self.start()

    def close(self) -> None:
        """Ends the process."""
        self.cancel()
        with self._jobs:
            self._close_streams()

    def _close_streams(self) -> None:
        for stream in (self._process.stdin, self._process.stdout) if self._process is not None else ():
            with contextlib.suppress(OSError):  # of what the process no longer reads
                if stream is not None:
                    stream.close()


def _ending(status: int) -> str:
    """Returns in words how a process ended, from its return code."""
    if status == -signal.SIGKILL:
        return "by SIGKILL; the machine may have run out of memory"
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


def _serve() -> None:
    """Runs jobs until standard input ends. What they print goes to standard error.

    A script may read its standard streams and close them, so requests and answers have file descriptors of their own.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    from tt_xla.errors import TTXLAError
    from tt_xla.tools.explorer import jobs

    def progress(line: str) -> None:
        write(answers, (PROGRESS, line))

    while True:
        try:
            name, arguments = read(requests)
        except EOFError:
            return
        try:
            result = RESULT, jobs.JOBS[name](*arguments, progress)
        except (TTXLAError, OSError) as error:
            result = ERROR, error
        except Exception as error:
            traceback.print_exc()
            result = FAULT, f"{type(error).__name__}: {error}. This is a fault of tt-xla; please report it."
        try:
            write(answers, result)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            write(answers, (FAULT, f"The result of {name} cannot be sent: {error}."))


if __name__ == "__main__":
    _serve()
