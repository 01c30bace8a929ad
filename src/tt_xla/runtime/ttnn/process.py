"""Runs the worker process that has ``ttnn``: starts it, sends requests, and replaces it when it crashes or hangs.

:mod:`tt_xla.runtime.ttnn.worker` describes messages and shared memory. Nothing of a worker outlives this process: the
shared memory has no name, and the worker ends when this process closes its lifeline.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import dataclasses
import json
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from tt_xla.codegen import UTILS
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.errors import ExecutionError, RuntimeUnavailableError
from tt_xla.locks import Lock
from tt_xla.log import logger
from tt_xla.runtime.observation import WAITS
from tt_xla.runtime.ttnn import board
from tt_xla.runtime.ttnn.waiting import LOOK_SECONDS, Waiting

Array = np.ndarray[Any, Any]

Message = dict[str, Any]
"""A message to or from the worker: plain data, which either interpreter's pickle can read."""

Ended = Callable[[Message | ExecutionError], None]
"""Called with the answer to a request that nobody waited for, or with the error that took its place; not called when
the answer only says that the results are there."""

_SCRIPT = Path(__file__).with_name("worker.py")
_STARTING_SECONDS = 120.0
"""Minimum time limit for the start of a worker; a shorter limit for answers does not apply to it."""

_MESH_STARTING_SECONDS = 600.0
"""Minimum time limit for the start of a worker for a mesh: its first start compiles the programs of Ethernet cores."""

_CLOSING_SECONDS = 10.0
"""Time that a worker has to close its device and end."""

_ENDING_SECONDS = 4.0
"""Time in which a worker ends whose user's process has ended, before a board that it has counts as in use."""

_KEPT_BYTES = 16 << 20
"""Bytes of the shared memory that stay between runs, for programs whose arguments change in each."""

_MOST_OUTSTANDING = 64
"""Number of requests that may wait for their answers."""

_ANSWERS = 32
"""Number of outstanding requests from which the next one reads the answers that have arrived. The worker sends one
answer for several runs (``ANSWER_EVERY`` of its script)."""

_PROTOCOL = 4
"""Pickle's protocol, which all interpreters that TT-NN supports read."""

_SIZE = struct.Struct("<I")
"""Size of a message, before its bytes."""

_ALIGNMENT = 64
"""Alignment of tensors in the shared memory, in bytes."""


@dataclass(frozen=True)
class Launch:
    """How a worker is started."""

    python: Path
    """Interpreter that has ``ttnn``."""
    environment: Mapping[str, str]
    """Environment variables of the worker."""
    mode: str = "device"
    """``device``, or ``mock`` when TT-NN only checks calls and computes nothing."""
    timeout_seconds: float = 600.0
    """Time limit for one answer, without the time in which kernels are compiled."""
    compile_timeout_seconds: float = 3600.0
    """Time limit for compiling kernels before one answer."""
    reset_command: Callable[[], Sequence[str] | None] = lambda: None
    """Returns the command that resets the board; None without a board."""
    board_users: Callable[[], Sequence[str]] = tuple
    """Returns the processes that have the board, each as words; empty without a board."""


@dataclass(frozen=True)
class OpenMesh:
    """A mesh device to open."""

    shape: tuple[int, int]
    """Rows and columns."""
    fabric: str
    """Name of TT-NN's fabric config."""
    chips: tuple[int, ...] = ()
    """Number of the chip at each position, row-major; empty when TT-NN chooses the chips."""

    def __str__(self) -> str:
        chips = f" ({', '.join(map(str, self.chips))})" if self.chips else ""
        return f"{self.shape[0]}x{self.shape[1]} chips{chips}"


@dataclass
class _Running:
    """A worker process and the resources that this process shares with it."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    lifeline: int
    """File descriptor of a pipe; the worker ends when it is closed."""
    memory: int
    """File descriptor of the shared memory."""
    log: IO[bytes]
    """Standard output and error of the worker."""
    seconds: float
    """Time limit for one answer."""
    owner: int = field(default_factory=os.getpid)
    """Id of the process that started the worker. A forked child must not touch it."""
    map: mmap.mmap | None = None
    """The shared memory as mapped into this process."""
    received: bytearray = field(default_factory=bytearray)
    """Bytes of messages that have arrived and were not read."""
    outstanding: collections.deque[Ended] = field(default_factory=lambda: collections.deque())
    """The functions that take the answers to requests which the worker has not answered yet, in their order."""
    taken: int = 0
    """Bytes of the shared memory that outstanding requests may still read."""
    readable: select.poll = field(default_factory=select.poll)
    """Tells whether the worker has sent something, or has ended."""

    def __post_init__(self) -> None:
        self.readable.register(self.connection, select.POLLIN)


class Worker:
    """A worker process, which is replaced by a new one when it no longer answers."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._started = 0
        """Number of processes started so far."""
        self.trace_region_bytes = 0
        """Size of the trace region that the device was opened with."""
        self.mesh: OpenMesh | None = None
        """The mesh device that was opened; None for the first chip alone."""
        self.hello: Message = {}
        """First message of the running process: ``arch``, ``grid`` and the version of ``ttnn``."""
        self.before_replacement: Callable[[], None] | None = None
        """Called before a process that runs is ended, because another one is needed."""
        self.lock = Lock()
        """Held for a whole run: programs for several systems, in several threads, share the process."""
        self._is_to_reset = False
        """Whether the board is to be reset before the next start, because a process did not answer."""
        self.sent_bytes = self.received_bytes = 0
        """Bytes of tensors that went to the worker so far, and that came from it."""
        self._running: _Running | None = None
        atexit.register(self.close)
        _WORKERS.add(self)

    @property
    def pid(self) -> int | None:
        """Process id of the worker, or None when none is running."""
        return self._running.process.pid if self._running is not None and self.is_running else None

    @property
    def is_running(self) -> bool:
        """Whether a process of this one runs."""
        running = self._running
        return running is not None and running.owner == os.getpid() and running.process.poll() is None

    @property
    def generation(self) -> int:
        """Number of the process that runs; 0 for none. No other has its programs and tensors."""
        return 0 if self._running is None else self._started

    def start(self, trace_region_bytes: int = 0, mesh: OpenMesh | None = None) -> None:
        """Starts a process, unless one runs whose device has these chips and a trace region of at least this size.

        Args:
            trace_region_bytes: size of the trace region.
            mesh: the mesh device to open; None for one chip, which a process with a mesh device has too.

        Raises:
            RuntimeUnavailableError: TT-NN does not start.
        """
        has_chips = mesh is None or mesh == self.mesh
        if self.is_running and has_chips and trace_region_bytes <= self.trace_region_bytes:
            return
        if self.is_running and not has_chips and self.mesh is not None:
            logger().warning(
                "TT-NN has one mesh device: its process with %s is replaced by one with %s, and everything is sent "
                "again. Programs for both that take turns need a process each, with TT_VISIBLE_DEVICES.",
                *(self.mesh, mesh),
            )
        if self.is_running and self.before_replacement is not None:
            self.before_replacement()
        elif self._running is not None and self._running.owner == os.getpid():
            self._ended(self._running)  # outstanding requests end with the cause
        self.close()
        if users := self._board_users():
            raise RuntimeUnavailableError(
                f"TT-NN does not start: the card is in use by {' and by '.join(users)}.",
                hint="Wait until it ends, or end it. TT_VISIBLE_DEVICES gives each process boards of its own, and "
                "TTXLA_RUNTIME=emulated needs none.",
            )
        self.mesh = mesh or self.mesh
        self.trace_region_bytes = max(trace_region_bytes, self.trace_region_bytes)
        if self._is_to_reset:
            board.reset(self.launch.reset_command())
        self._is_to_reset = False
        self._running = self._start()
        self._started += 1
        try:
            self.hello = self._receive(self._running)
            self._running.seconds = self.launch.timeout_seconds
        except ExecutionError as error:
            raise RuntimeUnavailableError(f"TT-NN does not start. {error.message}", hint=error.hint) from None

    def _board_users(self) -> Sequence[str]:
        """Returns the processes that have the board, once those that are ending have had the time to."""
        end = time.monotonic() + _ENDING_SECONDS
        while (users := self.launch.board_users()) and time.monotonic() < end:
            time.sleep(0.2)
        return users

    def request(
        self,
        message: Message,
        arrays: Mapping[str, Array],
        on_host: Callable[[str, list[Array]], Sequence[Array]] | None = None,
    ) -> Message:
        """Sends a request and waits for the answer.

        Args:
            message: the request.
            arrays: its tensors by name. bfloat16 tensors are sent as their bits, in arrays of int16.
            on_host: computes a host op for the worker while it runs: takes the op's name and operands, returns results.

        Returns:
            The answer.

        Raises:
            ExecutionError: the process crashed or did not answer in time, and was ended.
        """
        running = self._running
        assert running is not None
        failure: BaseException | None = None
        try:
            if arrays and running.taken > _KEPT_BYTES:
                self.wait()
            self._send(running, message, arrays)
            self._take_all(running)
            while "host" in (answer := self._receive(running)):
                operands = [self.read(segment) for segment in answer["inputs"]]
                try:
                    assert on_host is not None
                    results = on_host(str(answer["host"]), operands)
                    self.wait()  # for programs that it has run
                except Exception as error:
                    self.wait()
                    failure = error
                    self._send(running, {"do": "answer", "failed": True}, {})
                    continue
                named = {str(index): array for index, array in enumerate(results)}
                running.taken = 0
                self._send(running, {"do": "answer"}, named)
        except BaseException:
            self.kill()  # the next message could be the answer to any earlier request
            raise
        if "failed" in answer and failure is not None:
            raise failure
        return answer

    def post(self, message: Message, arrays: Mapping[str, Array], ended: Ended) -> None:
        """Sends a request and returns at once. The worker answers requests in their order.

        Args:
            message: the request, which asks for no results and computes no host op.
            arrays: its tensors by name.
            ended: called with the answer, by a later call of this worker's methods.

        Raises:
            ExecutionError: the process crashed, or does not answer earlier requests in time, and was ended.
        """
        running = self._running
        assert running is not None
        try:
            if len(running.outstanding) >= _ANSWERS:
                while len(running.outstanding) >= _MOST_OUTSTANDING or running.received or _has_bytes(running, 0):
                    self._take_answer(running)
            if arrays and running.taken > _KEPT_BYTES:
                self.wait()
            self._send(running, message, arrays)
        except BaseException:
            self.kill()
            raise
        running.outstanding.append(ended)

    def wait(self) -> None:
        """Waits until all requests are answered.

        Raises:
            ExecutionError: the process crashed or did not answer in time, and was ended.
        """
        running = self._running
        if running is None or not running.outstanding:
            return
        try:
            self._send(running, {"do": "answer runs"}, {})
            self._take_all(running)
        except BaseException:
            self.kill()
            raise

    def _take_all(self, running: _Running) -> None:
        """Reads the answers to all outstanding requests, after another request that has an answer at once."""
        while running.outstanding:
            self._take_answer(running)
        running.taken = 0

    def _take_answer(self, running: _Running) -> None:
        """Reads the next answer, which may be that of several runs without an error."""
        answer = self._receive(running)
        outstanding = running.outstanding
        if "kept" in answer:
            for _ in range(answer["kept"]):
                outstanding.popleft()
        else:
            outstanding.popleft()(answer)

    def read(self, segment: Message) -> Array:
        """Copies an array out of the shared memory. bfloat16 elements become int16, which has their bits."""
        assert self._running is not None
        kind = segment["type"]
        dtype, shape = np.dtype(np.int16 if kind == "bf16" else kind), tuple(segment["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return np.zeros(shape, dtype)
        self.received_bytes += count * dtype.itemsize
        memory = _mapped(self._running, segment["offset"] + count * dtype.itemsize)
        return np.frombuffer(memory, dtype, count, segment["offset"]).reshape(shape).copy()

    def rest(self) -> None:
        """Gives memory beyond :data:`_KEPT_BYTES` back, once all results of a run were read."""
        shared = None if self._running is None else self._running.map
        is_read = self._running is not None and not self._running.outstanding
        if is_read and shared is not None and len(shared) > _KEPT_BYTES and hasattr(mmap, "MADV_REMOVE"):
            shared.madvise(mmap.MADV_REMOVE, _KEPT_BYTES, len(shared) - _KEPT_BYTES)

    def close(self) -> None:
        """Ends the process, after its device has closed if it does so in time."""
        running = self._running
        if running is None:
            return
        if running.owner != os.getpid():  # this is a forked child, and the worker belongs to its parent
            self._running = None
            return
        running.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(_CLOSING_SECONDS)
        self.kill()

    def kill(self, error: ExecutionError | None = None) -> None:
        """Ends the process at once and frees what is shared with it. Outstanding requests end with an error."""
        running, self._running = self._running, None
        if running is None or running.owner != os.getpid():
            return
        while running.outstanding:
            running.outstanding.popleft()(error or ExecutionError("TT-NN's process was ended before it had run this."))
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()
        running.connection.close()
        running.log.close()
        os.close(running.lifeline)
        os.close(running.memory)

    def leave_to_parent(self) -> None:
        """Closes the forked process's ends of what the worker shares with its parent, so that it ends with that."""
        running, self._running = self._running, None
        if running is not None:
            running.connection.close()
            running.log.close()
            os.close(running.lifeline)
            os.close(running.memory)

    def _start(self) -> _Running:
        ours, theirs = socket.socketpair()
        starting_seconds = _STARTING_SECONDS if self.mesh is None else _MESH_STARTING_SECONDS
        seconds = max(self.launch.timeout_seconds, starting_seconds)
        ours.settimeout(seconds)  # of sending
        held, lifeline = os.pipe()
        with theirs, open(held, "rb", closefd=True):
            memory = _anonymous_file()
            log = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
            passed = (theirs.fileno(), memory, held)
            sizes = (self.trace_region_bytes, L1_SMALL_BYTES)
            mesh = json.dumps(None if self.mesh is None else dataclasses.asdict(self.mesh))
            command = [self.launch.python, _SCRIPT, *passed, UTILS, *sizes, self.launch.mode, mesh]
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
                raise RuntimeUnavailableError(
                    f"The interpreter '{self.launch.python}' does not start: {error}."
                ) from error
        return _Running(process, ours, lifeline, memory, log, seconds)

    def _put(self, running: _Running, arrays: Mapping[str, Array]) -> dict[str, Message]:
        """Writes arrays into the shared memory behind those of outstanding requests. Returns their segments by name."""
        segments: dict[str, Message] = {}
        offset = running.taken
        for name, array in arrays.items():
            kind = "bf16" if array.dtype == np.int16 else array.dtype.str
            segments[name] = {"offset": offset, "shape": list(array.shape), "type": kind}
            self.sent_bytes += array.nbytes
            offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        running.taken = offset
        memory = _mapped(running, offset)
        for array, segment in zip(arrays.values(), segments.values(), strict=True):
            if array.nbytes:
                target = np.frombuffer(memory, array.dtype, array.size, segment["offset"])
                np.copyto(target.reshape(array.shape), array)
        return segments

    def _send(self, running: _Running, message: Message, arrays: Mapping[str, Array]) -> None:
        """Sends a message, with the segments of its arrays by name."""
        if arrays:
            message = {**message, "tensors": self._put(running, arrays)}
        data = pickle.dumps(message, _PROTOCOL)
        try:
            running.connection.sendall(_SIZE.pack(len(data)) + data)
        except OSError:
            raise self._ended(running) from None

    def _receive(self, running: _Running) -> Message:
        start = time.perf_counter_ns() if WAITS else 0
        (size,) = _SIZE.unpack(self._exactly(running, 4))
        message = pickle.loads(self._exactly(running, size))
        for observer in WAITS:
            observer(start, time.perf_counter_ns())
        return message

    def _exactly(self, running: _Running, size: int) -> bytes:
        """Receives exactly ``size`` bytes."""
        while len(running.received) < size:
            self._wait_for_bytes(running)
            try:
                chunk = running.connection.recv(1 << 16)
            except OSError:
                chunk = b""
            if not chunk:
                raise self._ended(running)
            running.received += chunk
        data = bytes(running.received[:size])
        del running.received[:size]
        return data

    def _wait_for_bytes(self, running: _Running) -> None:
        """Waits until the worker has sent something, or has ended.

        Raises:
            ExecutionError: that takes too long, and the worker was ended.
        """
        if _has_bytes(running, 0):
            return
        waiting = Waiting(running.process.pid, running.seconds, self.launch.compile_timeout_seconds)
        try:
            while not _has_bytes(running, LOOK_SECONDS):
                if (exceeded := waiting.look()) is not None:
                    raise self._timed_out(running, *exceeded)
        finally:
            waiting.end()

    def _timed_out(self, running: _Running, reason: str, variable: str) -> ExecutionError:
        """Ends a process that does not answer and returns the error to raise."""
        error = ExecutionError(
            f"TT-NN {reason}; its process was ended.{_last_output(running)}",
            hint=f"The next run starts a new process. Set {variable} to allow more time.",
        )
        self._is_to_reset = True
        self.kill(error)
        return error

    def _ended(self, running: _Running) -> ExecutionError:
        """Returns the error to raise when the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(_CLOSING_SECONDS)
        status = running.process.poll()
        output = _last_output(running)
        cause = f"with status {status}"
        if status is not None and status < 0:
            cause = f"by {signal.Signals(-status).name}"
        error = ExecutionError(f"TT-NN's process ended {cause}.{output}", hint="The next run starts a new process.")
        self.kill(error)
        return error


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()


def _leave_workers() -> None:
    for worker in list(_WORKERS):
        worker.leave_to_parent()


os.register_at_fork(after_in_child=_leave_workers)


def _anonymous_file() -> int:
    """Returns a descriptor of a file in memory that no other process can open by name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("tt-xla-ttnn")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _mapped(running: _Running, size: int) -> mmap.mmap:
    """Returns the shared memory, grown to at least ``size`` bytes."""
    if running.map is None or len(running.map) < size:
        if os.fstat(running.memory).st_size < size:
            os.ftruncate(running.memory, size)
        running.map = mmap.mmap(running.memory, 0)
    return running.map


def _has_bytes(running: _Running, seconds: float) -> bool:
    """Returns whether the worker has sent something, or has ended, after at most some seconds."""
    return bool(running.readable.poll(1e3 * seconds))


def _last_output(running: _Running) -> str:
    """Returns a sentence with the last lines that a process printed, or nothing."""
    running.log.seek(0, os.SEEK_END)
    running.log.seek(max(0, running.log.tell() - 4000))
    lines = [line for line in running.log.read().decode(errors="replace").splitlines() if line.strip()]
    return f" Its last output: {' / '.join(lines[-3:])[-1000:]}" if lines else ""
