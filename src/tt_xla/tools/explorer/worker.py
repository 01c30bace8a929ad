"""A process for the explorer's long work, which the server can end at any time.

The server sends jobs over a socket, and gets lines about progress and a result from it. Messages are pickled: the
process is the server's own child.
"""

from __future__ import annotations

import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

PROGRESS, RESULT, ERROR, FAULT = "progress", "result", "error", "fault"
"""Kinds of messages: a line about progress, the result, an error for the user, and a fault of the explorer."""


class Cancelled(Exception):
    """The work was cancelled."""


def _send(connection: Connection[Any, Any], message: object) -> None:
    """Sends a message with its tensors, which ``Connection.send`` would leave in memory of this process."""
    connection.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def _received(connection: Connection[Any, Any]) -> Any:
    """Waits for a message.

    Raises:
        EOFError: the other side ended.
    """
    return pickle.loads(connection.recv_bytes())


class Worker:
    """The process, started with the first job and again after it was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._jobs = threading.Lock()
        self._cancelled = False

    def start(self) -> None:
        """Starts the process, so that the first job finds its libraries loaded. It prints to standard error."""
        if self._process is None or self._process.poll() is not None:
            ours, theirs = socket.socketpair()
            self._connection = Connection(ours.detach())
            with theirs:
                command = [sys.executable, "-m", "tt_xla.tools.explorer.worker", str(theirs.fileno())]
                self._process = subprocess.Popen(
                    command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2
                )

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
            process, connection = self._process, self._connection
            assert process is not None
            assert connection is not None
            try:
                _send(connection, (function, arguments))
                kind, content = _received(connection)
                while kind == PROGRESS:
                    progress(content)
                    kind, content = _received(connection)
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


def _ending(status: int) -> str:
    """Returns in words how a process ended, from its return code."""
    if status == -signal.SIGKILL:
        return "by SIGKILL; the machine may have run out of memory"
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


def _serve(connection: Connection[Any, Any]) -> None:
    """Runs the jobs that arrive, until the server ends or closes the socket."""
    from tt_xla.errors import TTXLAError
    from tt_xla.tools.explorer import jobs

    def progress(line: str) -> None:
        _send(connection, (PROGRESS, line))

    while True:
        try:
            name, arguments = _received(connection)
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
            _send(connection, result)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            _send(connection, (FAULT, f"The result of {name} cannot be sent: {error}."))


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
