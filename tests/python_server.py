"""A process that has imported what test scripts need, and forks a child for each script.

A new interpreter spends seconds on importing jax, torch and this package before a script's first line runs; a fork of
this process spends about 0.1 s. The process opens no backend and starts no thread, so that a child can do both as a new
interpreter would. A child ends by the interpreter's own finalization.

``Server`` is the side of the tests. This file, run as a program, is the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

PACKAGES = (
    "tt_xla.ir",
    "tt_xla.cost",
    "tt_xla.compiler",
    "tt_xla.codegen.calls",
    "tt_xla.codegen.languages",
    "tt_xla.runtime.emulator",
    "tt_xla.frontends.jax",
)
"""Packages that the process imports with all their modules, before it serves."""

READ_AT_IMPORT = ("JAX_", "PYTHON", "OMP_", "MKL_", "OPENBLAS_", "LD_", "TORCH")
"""Prefixes of variables that Python, jax, torch or a library reads when it starts or is imported."""


class Server:
    """Runs Python scripts in forks of one prepared process, which ends with this object's process or with ``close``."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve()), str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                env=self._environment,
            )

    def serves(self, environment: Mapping[str, str]) -> bool:
        """Returns whether a fork behaves as a new interpreter with these environment variables would."""
        names = {name for name in {*environment, *self._environment} if name.startswith(READ_AT_IMPORT)}
        return all(environment.get(name) == self._environment.get(name) for name in names)

    def run(
        self, script: str, *, environment: Mapping[str, str], timeout: float, arguments: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Runs a script as ``python -c`` does, in this process's working directory.

        Raises ``subprocess.TimeoutExpired`` after ``timeout`` seconds, when the script and its children have been
        killed.
        """
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            status = self._status(script, environment, timeout, arguments, (out, err))
            texts = [self._text(file) for file in (out, err)]
        command = [sys.executable, "-c", script, *arguments]
        if status is None:
            raise subprocess.TimeoutExpired(command, timeout, *texts)
        return subprocess.CompletedProcess(command, status, *texts)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    @staticmethod
    def _text(file: IO[str]) -> str:
        file.seek(0)
        return file.read()

    def _status(
        self,
        script: str,
        environment: Mapping[str, str],
        timeout: float,
        arguments: Sequence[str],
        files: Sequence[IO[str]],
    ) -> int | None:
        """Returns the exit status of a script as ``subprocess`` gives it, or None after ``timeout`` seconds."""
        request = {"script": script, "environment": dict(environment), "folder": os.getcwd(), "timeout": timeout}
        body = json.dumps(request | {"arguments": list(arguments)}).encode()
        socket.send_fds(self._socket, [len(body).to_bytes(8, "little")], [file.fileno() for file in files])
        self._socket.sendall(body)
        answer = _receive(self._socket, 8)
        if len(answer) < 8:
            raise RuntimeError(f"The process that forks test scripts ended with status {self._process.wait()}.")
        status = int.from_bytes(answer, "little", signed=True)
        return None if status == _TIMED_OUT else status


_TIMED_OUT = 1 << 32


def _receive(connection: socket.socket, size: int) -> bytes:
    """Returns ``size`` bytes, or fewer where the other side has closed the connection."""
    received = b""
    while len(received) < size and (part := connection.recv(size - len(received))):
        received += part
    return received


def _prepare() -> None:
    """Imports what scripts need, without opening a backend or starting a thread."""
    import gc
    import importlib
    import pkgutil

    for name in ("jax.numpy", "jax.sharding", "jax.experimental.multihost_utils", "torch", "jax_plugin_tt"):
        importlib.import_module(name)
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Forks a child for each request. Returns the request in the child, and None when no more requests can come."""
    while True:
        head, files, *_ = socket.recv_fds(connection, 8, 2)
        if not head:
            return None
        request = json.loads(_receive(connection, int.from_bytes(head, "little")))
        child = os.fork()
        if child == 0:
            connection.close()
            os.setpgid(0, 0)
            for number, file in zip((1, 2), files, strict=True):
                os.dup2(file, number)
            return request
        for file in files:
            os.close(file)
        connection.sendall(_wait(child, request["timeout"]).to_bytes(8, "little", signed=True))


def _wait(child: int, timeout: float) -> int:
    """Returns the exit status of a child, negative for a signal. Kills what is left of its process group."""
    descriptor = os.pidfd_open(child)
    ended, *_ = select.select([descriptor], [], [], timeout)
    os.close(descriptor)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if ended else _TIMED_OUT


def _start(request: dict[str, Any]) -> None:
    """Runs a request's script in this process as ``python -c`` would."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    sys.path[0] = ""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        exec(compile(request["script"], "<string>", "exec"), vars(main))
    except Exception as error:
        traceback.print_exception(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
        raise SystemExit(1) from None


if __name__ == "__main__":
    _prepare()
    _request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if _request is not None:
        _start(_request)
