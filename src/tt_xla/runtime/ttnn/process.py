"""The worker process that has ``ttnn``: started, asked, and replaced when it crashes or hangs.

Messages and shared memory are as :mod:`tt_xla.runtime.ttnn.worker` says. Nothing of a worker outlives this process: its
memory has no name, and it ends when its lifeline does.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from tt_xla.codegen import UTILS
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.errors import ExecutionError, RuntimeUnavailableError

Array = np.ndarray[Any, Any]
Message = dict[str, Any]

_SCRIPT = Path(__file__).with_name("worker.py")
_STARTING_SECONDS = 120.0
"""What a start may take where an answer may not."""
_CLOSING_SECONDS = 10.0
_ALIGNMENT = 64


@dataclass(frozen=True)
class Launch:
    """How a worker is started."""

    python: Path
    environment: Mapping[str, str]
    mode: str = "device"
    """``mock`` where TT-NN checks calls and computes nothing."""
    timeout_seconds: float = 600.0
    """For one answer."""


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    connection: socket.socket
    lifeline: int
    memory: int
    log: IO[bytes]
    owner: int = field(default_factory=os.getpid)
    map: mmap.mmap | None = None


class Worker:
    """One worker process after another; the same one as long as it answers."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.generation = 0
        """Counts processes: what was sent to another one has to be sent again."""
        self.trace_region_bytes = 0
        self.hello: Message = {}
        """What the running process said of itself: ``arch``, ``grid`` and the version of ``ttnn``."""
        self._running: _Running | None = None
        atexit.register(self.close)

    @property
    def pid(self) -> int | None:
        return self._running.process.pid if self._alive() and self._running else None

    def start(self, trace_region_bytes: int = 0) -> None:
        """Makes sure that there is a process whose device keeps that much for traces.

        Raises:
            RuntimeUnavailableError: TT-NN does not start.
        """
        if self._alive() and trace_region_bytes <= self.trace_region_bytes:
            return
        self.close()
        self.trace_region_bytes = max(trace_region_bytes, self.trace_region_bytes)
        self._running = self._start()
        self.generation += 1
        try:
            self.hello = self._receive(self._running)
            self._running.connection.settimeout(self.launch.timeout_seconds)
        except ExecutionError as error:
            raise RuntimeUnavailableError(f"TT-NN does not start. {error.message}", hint=error.hint) from None

    def request(
        self,
        message: Message,
        arrays: Mapping[str, Array],
        on_host: Callable[[str, list[Array]], Sequence[Array]] | None = None,
    ) -> Message:
        """Sends a message and waits for what comes of it.

        Args:
            arrays: its tensors. bfloat16 comes as bits, as an array of int16.
            on_host: what the worker has computed here meanwhile, by name, from its tensors.

        Raises:
            ExecutionError: the process crashed or did not answer in time; it is gone.
        """
        running = self._running
        assert running is not None
        failure: BaseException | None = None
        try:
            self._send(running, message | {"tensors": self._put(running, arrays)})
            while "host" in (answer := self._receive(running)):
                given = [self.read(segment) for segment in answer["inputs"]]
                try:
                    assert on_host is not None
                    results = on_host(str(answer["host"]), given)
                except Exception as error:
                    failure = error
                    self._send(running, {"do": "answer", "failed": True})
                    continue
                named = {str(index): array for index, array in enumerate(results)}
                self._send(running, {"do": "answer", "arrays": list(self._put(running, named).values())})
        except BaseException:
            self.kill()  # nobody knows what the next message would be the answer to
            raise
        if "failed" in answer and failure is not None:
            raise failure
        return answer

    def read(self, segment: Message) -> Array:
        """An array of its own from the shared memory."""
        assert self._running is not None
        dtype, shape = np.dtype(segment["type"]), tuple(segment["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return np.zeros(shape, dtype)
        memory = _mapped(self._running, segment["offset"] + count * dtype.itemsize)
        return np.frombuffer(memory, dtype, count, segment["offset"]).reshape(shape).copy()

    def close(self) -> None:
        """Ends the process; its device closes in order where it can."""
        running = self._running
        if running is None:
            return
        if running.owner != os.getpid():  # of a fork: the process is the parent's
            self._running = None
            return
        running.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(_CLOSING_SECONDS)
        self.kill()

    def kill(self) -> None:
        running, self._running = self._running, None
        if running is None or running.owner != os.getpid():
            return
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()
        running.connection.close()
        running.log.close()
        os.close(running.lifeline)
        os.close(running.memory)

    def _alive(self) -> bool:
        running = self._running
        return running is not None and running.owner == os.getpid() and running.process.poll() is None

    def _start(self) -> _Running:
        ours, theirs = socket.socketpair()
        ours.settimeout(max(self.launch.timeout_seconds, _STARTING_SECONDS))
        held, lifeline = os.pipe()
        with theirs, open(held, "rb", closefd=True):
            memory = _anonymous_file()
            log = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
            passed = (theirs.fileno(), memory, held)
            sizes = (self.trace_region_bytes, L1_SMALL_BYTES)
            command = [self.launch.python, _SCRIPT, *passed, UTILS, *sizes, self.launch.mode]
            try:
                process = subprocess.Popen(
                    [str(part) for part in command],
                    env=dict(self.launch.environment),
                    pass_fds=passed,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            except OSError as error:
                raise RuntimeUnavailableError(f"'{self.launch.python}' does not start: {error}.") from error
        return _Running(process, ours, lifeline, memory, log)

    def _put(self, running: _Running, arrays: Mapping[str, Array]) -> dict[str, Message]:
        """Lays arrays into the shared memory, from its start."""
        segments: dict[str, Message] = {}
        offset = 0
        for name, array in arrays.items():
            kind = "bf16" if array.dtype == np.int16 else array.dtype.str
            segments[name] = {"offset": offset, "shape": list(array.shape), "type": kind}
            offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        if offset:
            memory = _mapped(running, offset)
            for array, segment in zip(arrays.values(), segments.values(), strict=True):
                if array.nbytes:
                    place = np.frombuffer(memory, array.dtype, array.size, segment["offset"])
                    np.copyto(place.reshape(array.shape), array)
        return segments

    def _send(self, running: _Running, message: Message) -> None:
        data = json.dumps(message).encode()
        try:
            running.connection.sendall(struct.pack("<I", len(data)) + data)
        except OSError:
            raise self._gone(running) from None

    def _receive(self, running: _Running) -> Message:
        (size,) = struct.unpack("<I", self._exactly(running, 4))
        return json.loads(self._exactly(running, size))

    def _exactly(self, running: _Running, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            try:
                part = running.connection.recv(size - len(parts))
            except TimeoutError:
                raise self._silent(running) from None
            except OSError:
                part = b""
            if not part:
                raise self._gone(running)
            parts += part
        return parts

    def _silent(self, running: _Running) -> ExecutionError:
        seconds, said = running.connection.gettimeout(), _said(running)
        self.kill()
        return ExecutionError(
            f"TT-NN did not answer within {seconds:g} s; its process was ended.{said}",
            hint="The next run starts a fresh one. Set TTXLA_TTNN_TIMEOUT where work takes longer.",
        )

    def _gone(self, running: _Running) -> ExecutionError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(_CLOSING_SECONDS)
        status = running.process.poll()
        said = _said(running)
        self.kill()
        how = f"with status {status}"
        if status is not None and status < 0:
            how = f"by {signal.Signals(-status).name}"
        return ExecutionError(f"TT-NN's process ended {how}.{said}", hint="The next run starts a fresh one.")


def _anonymous_file() -> int:
    """A file in memory that no other process can open by name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("tt-xla-ttnn")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _mapped(running: _Running, size: int) -> mmap.mmap:
    if running.map is None or len(running.map) < size:
        if os.fstat(running.memory).st_size < size:
            os.ftruncate(running.memory, size)
        running.map = mmap.mmap(running.memory, 0)
    return running.map


def _said(running: _Running) -> str:
    """The last that a process printed."""
    running.log.seek(0, os.SEEK_END)
    running.log.seek(max(0, running.log.tell() - 4000))
    lines = [line for line in running.log.read().decode(errors="replace").splitlines() if line.strip()]
    return f" It said: {' / '.join(lines[-3:])[-1000:]}" if lines else ""
