"""A worker of a mesh: a process that runs each program's part for its own chips. Ray makes an actor of it.

Ray calls :meth:`MeshWorker.run` in one thread, :meth:`MeshWorker.deliver` and :meth:`MeshWorker.end` in others.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

import tt_xla
from tt_xla import environment
from tt_xla.ir.program import Program
from tt_xla.runtime import lifetimes
from tt_xla.runtime.emulator import heap
from tt_xla.runtime.executable import Counters, Executable
from tt_xla.runtime.mesh.expansion import expand
from tt_xla.runtime.mesh.interruption import Interruption
from tt_xla.runtime.mesh.post import CallEnded, Post, opened
from tt_xla.runtime.mesh.wire import Packed, pack, unpack
from tt_xla.runtime.transfer import Version

if TYPE_CHECKING:
    from tt_xla.runtime.device import Chip, Device

Key = tuple[object, ...]
"""Name of a shard that a worker keeps between runs; the version of its contents comes first."""


class Identity(NamedTuple):
    """Who a worker is, and the code that it runs."""

    tt_xla: str
    source: str
    """Hash of the package's source."""
    torch: str
    python: str
    host: str
    pid: int

    @property
    def code(self) -> tuple[str, ...]:
        """Versions on which the bits of results depend."""
        return self[:4]


class Part(NamedTuple):
    """The shards of a program's arguments and results that a worker has."""

    reads: tuple[tuple[int, int], ...]
    """Argument, and first of the worker's chips that holds the shard."""
    holders: tuple[tuple[int, int], ...]
    """Result, and first of the worker's chips that holds the tensor."""


class Load(NamedTuple):
    """A program for a worker to load."""

    program: bytes
    device: type[Device]
    """The class of the chip that the worker runs it on."""
    target: Chip
    shares: Sequence[Sequence[int]]
    worker: int


class Request(NamedTuple):
    """A run of a loaded program. The tensors follow it, as arguments that Ray brings."""

    program: int
    call: int
    keys: Sequence[Key | None]
    """For each argument, the name under which the worker keeps its shard; None if it keeps it not."""
    sent: Sequence[int]
    """Positions of the arguments whose tensors follow; the worker has the others."""
    versions: Sequence[Version]
    returned: Sequence[int]
    """Indices of the results to return."""
    ended: Sequence[int]
    """Versions whose contents no longer exist."""
    unloaded: Sequence[int]
    """Programs that nobody runs any more."""
    resets: bool
    """Whether the program starts cold, since a run of it did not end on all workers."""
    variables: dict[str, str]
    """The environment variables of the table in :mod:`tt_xla.environment` that are set."""
    threads: int
    """Number of torch's threads."""


class Reply(NamedTuple):
    """The outcome of a run on one worker."""

    results: list[Packed]
    counters: Counters
    state: str
    trace_bytes: int
    const_eval_bytes: int


@functools.cache
def identity() -> Identity:
    """Returns the identity of this process."""
    digest = hashlib.blake2b(digest_size=8)
    root = Path(tt_xla.__file__).parent
    for path in sorted(root.rglob("*.py")):  # all of them: kernels of host ops import from other folders too
        digest.update(path.read_bytes())
    return Identity(
        tt_xla.__version__,
        digest.hexdigest(),
        str(torch.__version__),
        platform.python_version(),
        platform.node(),
        os.getpid(),
    )


class MeshWorker:
    """One worker.

    Args:
        number: its number.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._peers: list[Any] = []
        self._post = Post(self._send)
        self._devices: dict[str, Device] = {}
        self._loaded: dict[int, Executable] = {}
        self._kept: dict[Key, torch.Tensor] = {}
        self._interruption = Interruption()

    def hello(self) -> Identity:
        """Returns who this worker is."""
        return identity()

    def connect(self, peers: list[Any]) -> None:
        """Takes the actors of all workers, by number."""
        self._peers = peers

    def load(self, number: int, load: Load, variables: dict[str, str]) -> Part:
        """Loads a program under a number.

        Raises:
            ExecutionError: the program is not well-formed.
        """
        environment.set_variables_in_force(variables)
        heap.keep_freed()
        if load.target.name not in self._devices:
            device = self._devices[load.target.name] = load.device(load.target, trace_region_bytes=None)
            device.reporter.silence()  # the process that makes the calls reports
        program = Program.from_bytes(load.program)
        expansion = expand(program, shares=load.shares, worker=load.worker)
        self._loaded[number] = Executable(self._devices[load.target.name], program, expansion)
        return Part(expansion.reads, expansion.holders)

    def run(self, request: Request, *sent: Packed) -> Reply | None:
        """Runs a program on the worker's chips. Returns None if the call was ended meanwhile.

        Raises:
            ExecutionError: a value does not fit its on-device type, or an op fails.
        """
        try:
            return self._run(request, sent)
        except CallEnded:
            return None

    def deliver(self, sender: int, call: int, tensors: list[Packed]) -> None:
        """Takes a message of another worker."""
        self._post.deliver(sender, call, tensors)

    def end(self, call: int) -> None:
        """Ends a call, wherever it is: it waits for no other worker and begins no other op."""
        self._post.end(call)
        self._interruption.end(call)

    def _run(self, request: Request, sent: Sequence[Packed]) -> Reply:
        self._settle(request)
        executable = self._loaded[request.program]
        received = dict(zip(request.sent, map(unpack, sent), strict=True))
        for position, tensor in received.items():
            key = request.keys[position]
            if key is not None:
                self._kept[key] = tensor
        tensors = [received[position] if key is None else self._kept[key] for position, key in enumerate(request.keys)]
        own = [position for position in received if request.keys[position] is None]
        if request.resets:
            executable.reset()
        try:
            self._interruption.begin(request.call)
            if self._post.has_ended(request.call):
                raise CallEnded
            with opened(self._post, request.call):
                results = executable.run(tensors, request.versions, own)
        finally:
            self._interruption.leave()
        return Reply(
            [pack(results[index]) for index in request.returned],
            executable.counters,
            executable.state,
            executable.trace_bytes,
            executable.const_eval_bytes,
        )

    def _settle(self, request: Request) -> None:
        """Brings the process to the state that the request's sender is in."""
        environment.set_variables_in_force(request.variables)
        if torch.get_num_threads() != request.threads:
            torch.set_num_threads(request.threads)
        for version in request.ended:
            lifetimes.ended(version)
        if request.ended:
            ended = set(request.ended)
            for key in [key for key in self._kept if key[0] in ended]:
                del self._kept[key]
        for number in request.unloaded:
            self._loaded.pop(number, None)

    def _send(self, worker: int, call: int, tensors: list[Packed]) -> None:
        deliver = self._peers[worker].deliver.options(concurrency_group="mail")
        deliver.remote(self._number, call, tensors)
