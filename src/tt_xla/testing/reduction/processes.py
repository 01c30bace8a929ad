"""Processes in which programs are tried: forks of one process that has imported the compiler, the runtime and XLA.

A new interpreter spends seconds on these imports, a fork none. A fork runs one trial after another until one of them
ends it, takes too long, or :data:`TRIALS` are done. ``python -m tt_xla.testing.reduction.processes FD FILE...`` is the
process that forks; it opens no backend and starts no thread. The FILEs are Python files that it runs before.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tt_xla.environment import child_environment
from tt_xla.errors import ExecutionError
from tt_xla.testing.child_processes import kill_group, limit_this_process, signal_name
from tt_xla.testing.reduction.failures import Outcome

TRIALS = 200
"""Number of trials after which a fork is replaced, so that what a compiler keeps in memory does not add up."""

_XLA_FLAGS = "--xla_backend_optimization_level=0"
"""Flags with which XLA compiles a program in half the time; the programs run only once."""

_START_S = 120.0
"""Seconds in which the process must have imported everything."""

_SHOWN_BYTES = 2000
"""Bytes at the end of a fork's standard error that are reported if a signal ends it."""


class Lost(Exception):
    """A fork ended, or took too long, before it answered.

    Attributes:
        stage: the stage in which it was.
        outcome: how it ended.
    """

    def __init__(self, stage: str, outcome: Outcome) -> None:
        super().__init__(outcome.text)
        self.stage, self.outcome = stage, outcome


class Processes(contextlib.AbstractContextManager["Processes"]):
    """Runs trials in forks of one prepared process, which ends with this object.

    Args:
        memory: memory limit of a fork in bytes; 0 for none.
        imports: Python files to run in the process before it forks.
    """

    def __init__(self, memory: int = 0, imports: Sequence[Path] = ()) -> None:
        self._socket, other = socket.socketpair()
        self._folder = tempfile.TemporaryDirectory(prefix="tt-xla-reduce-")
        self._errors = os.open(Path(self._folder.name, "errors"), os.O_CREAT | os.O_RDWR)
        with other:
            self._server = subprocess.Popen(
                [sys.executable, "-m", __spec__.name, str(other.fileno()), str(memory), *map(str, imports)],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=child_environment({"TTXLA_CACHE": "off", "TTXLA_PROGRESS": "0", "XLA_FLAGS": _XLA_FLAGS}),
                start_new_session=True,
            )
        self._child: Connection | None = None
        self._pid = 0
        self._trials = 0

    def __exit__(self, *exception: object) -> None:
        """Ends the process and its forks."""
        self._drop()
        self._socket.close()
        kill_group(self._server.pid)
        self._server.wait()
        os.close(self._errors)
        self._folder.cleanup()

    def run(self, task: Any, limit: float) -> Any:
        """Runs a task in a fork.

        Args:
            task: an object that can be pickled, with a method ``run`` that takes a function to name its stages.
            limit: seconds after which the fork is killed.

        Returns:
            The result of the task's ``run``.

        Raises:
            Lost: the fork ended, or took longer than ``limit``.
            ExecutionError: the process that forks has ended.
        """
        if self._child is None or self._trials >= TRIALS:
            self._drop()
            self._fork()
        assert self._child is not None
        self._trials += 1
        stage = "read"
        deadline = time.monotonic() + limit
        try:
            self._child.send(task)
            while self._child.poll(max(deadline - time.monotonic(), 0)):
                kind, value = self._child.recv()
                if kind == "result":
                    return value
                stage = value
        except (EOFError, ConnectionError):
            status = self._drop(b"w")
            raise Lost(stage, Outcome("signal", signal_name(status), details=self._last_errors())) from None
        except BaseException:
            self._drop()  # its answer would be taken for that of the next task
            raise
        self._drop()
        raise Lost(stage, Outcome("hang", f"{limit:.3g} s"))

    def renew(self) -> None:
        """Ends the fork, so that the next task has a new one."""
        self._drop()

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._socket.settimeout(_START_S)
                socket.send_fds(self._socket, [b"f"], [theirs.fileno()])
                answer = self._socket.recv(8)
            except OSError as error:
                answer = str(error).encode()[:7]
        if len(answer) < 8:
            ours.close()
            raise ExecutionError(f"The process that tries programs did not start: {self._last_errors()}.")
        self._pid, self._child, self._trials = int.from_bytes(answer, "little"), Connection(ours.detach()), 0

    def _drop(self, request: bytes = b"k") -> int:
        """Kills the fork if there is one, or waits for its end. Returns its exit status, as ``subprocess`` gives it."""
        if self._child is None:
            return 0
        child, self._child = self._child, None
        child.close()
        with contextlib.suppress(OSError):
            self._socket.sendall(request + self._pid.to_bytes(8, "little"))
            return int.from_bytes(self._socket.recv(8), "little", signed=True)
        return 0

    def _last_errors(self) -> str:
        """Returns the end of what the processes wrote to standard error."""
        size = os.fstat(self._errors).st_size
        return os.pread(self._errors, _SHOWN_BYTES, max(size - _SHOWN_BYTES, 0)).decode(errors="replace").strip()


def _prepare(imports: Sequence[str]) -> None:
    """Runs the user's files, which may change how modules are imported, and imports what trials need."""
    for path in imports:
        runpy.run_path(path)
    for package in ("tt_xla.compiler", "tt_xla.runtime.emulator", "tt_xla.ir", "tt_xla.cost"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    for name in ("jax.numpy", "tt_xla.testing.reduction.trials", "tt_xla.testing.reduction.graphs"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _serve(server: socket.socket, memory: int) -> None:
    """Forks a child for each request ``f``. Request ``k`` kills a child, ``w`` waits for one that is ending."""
    parent = os.getpid()
    while True:
        head, files, *_ = socket.recv_fds(server, 1, 1)
        if head == b"f":
            child = os.fork()
            if child == 0:
                server.close()
                os.setpgid(0, 0)
                limit_this_process(memory, parent)
                _work(Connection(files[0]))
            os.close(files[0])
            server.sendall(child.to_bytes(8, "little"))
        elif head:
            child = int.from_bytes(server.recv(8), "little")
            status = None if head == b"k" else _awaited(child)
            kill_group(child)  # with processes that it started
            if status is None:
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            server.sendall(status.to_bytes(8, "little", signed=True))
        else:
            return


def _awaited(child: int) -> int | None:
    """Returns the exit status of a child whose connection is closed; None if it does not end within a second."""
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return None


def _work(connection: Connection) -> None:
    """Runs the tasks that arrive, until the other side closes the connection."""
    try:
        while True:
            task = connection.recv()
            result = task.run(lambda stage: connection.send(("stage", stage)))
            connection.send(("result", result))
    except (EOFError, ConnectionError):
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the process that reduces
    _prepare(sys.argv[3:])
    _serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
