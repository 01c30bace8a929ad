"""Runs a Program with a mesh on Ray workers, each of which has some of the mesh's chips.

The process that makes the calls computes nothing. It sends each worker the shards that its chips read, those of
parameters and constants once, and puts results together from the shards that workers return. Workers send each other
what their chips exchange. All of them compute what one process does, in the same order.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tt_xla import environment
from tt_xla.ir.program import HOST_CALLBACK, Program, Role
from tt_xla.log import logger
from tt_xla.runtime import lifetimes
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.mesh.request import mesh_workers
from tt_xla.runtime.mesh.wire import Packed, pack, unpack
from tt_xla.runtime.mesh.worker import Key, Load, Part, Reply, Request
from tt_xla.runtime.mesh.workers import WorkerDiedError, Workers, workers_at
from tt_xla.runtime.observation import KERNELS
from tt_xla.runtime.transfer import Version
from tt_xla.runtime.traps import traps_of
from tt_xla.spmd.grid import Grid, shares

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device
    from tt_xla.runtime.mesh.expansion import Expansion

_IN_MESSAGE_BYTES = 1 << 16
"""Size up to which a tensor is part of the message; a larger one is put where several workers can read it."""

_program_numbers = itertools.count()


def workers_for(program: Program) -> Workers | None:
    """Returns the workers that run a program; None where this process does.

    Raises:
        OptionError: ``TTXLA_MESH_WORKERS`` has a bad value.
        RuntimeUnavailableError: Ray is not installed, or there is no cluster.
    """
    wanted = mesh_workers()
    if wanted is None or program.mesh is None or program.mesh.size == 1:
        return None
    calls_back = any(instruction.op == HOST_CALLBACK for function in program.functions for instruction in function.body)
    if KERNELS or calls_back or traps_of(program):
        watched = "its kernel calls are observed" if KERNELS else "it has traps"
        reason = "it calls Python functions of this process" if calls_back else watched
        logger().warning("'%s' runs in this process and not on TTXLA_MESH_WORKERS: %s", program.name, reason)
        return None
    return workers_at(wanted.address)


@dataclass(frozen=True)
class _Share:
    """The arguments and results that one worker has."""

    reads: Sequence[int]
    """Index, among the executable's arguments, of each shard that the worker reads."""
    returned: Sequence[int]
    """Indices of the worker's results to return."""
    results: Sequence[int]
    """Index, among the executable's results, of each of these."""


class SpreadExecutable(Executable):
    """An executable whose chips are spread over workers. Arguments and results are those of the expansion.

    Args:
        device: the first chip that it runs on.
        program: a Program with a mesh.
        expansion: its expansion for all chips.
        chips: the chips that it runs on.
        workers: the workers.

    Raises:
        RuntimeUnavailableError: workers cannot be started.
    """

    def __init__(
        self, device: Device, program: Program, expansion: Expansion, chips: Sequence[Device], workers: Workers
    ) -> None:
        super().__init__(device, program, expansion, chips)
        assert program.mesh is not None
        self._expansion = expansion
        self._workers = workers
        self._mesh = program.mesh
        self._number = next(_program_numbers)
        wanted = mesh_workers()
        count = workers.count_for(None if wanted is None else wanted.count, program.mesh.size)
        self._chips_of = shares(program.mesh, count)
        """Positions of each worker's chips."""
        self._keys = [self._key(argument, chip) for argument, chip in expansion.reads]
        arguments = [program.arguments[argument] for argument, _ in expansion.reads]
        self._persistent = [argument.role is not Role.INPUT for argument in arguments]
        """Whether each argument is a shard of a parameter or constant."""
        self._loaded: tuple[int, list[_Share]] | None = None
        """Generation of the workers that have loaded the program, and the share of each of them."""
        self._resets = False
        """Whether the next run starts cold, since the last one did not end on all workers."""
        self._reply: Reply | None = None
        """The first worker's reply to the last run, without results."""
        self._seen = set[int]()
        """Versions of parameters and constants in the last run."""
        with workers.lock:
            self._shares()

    @property
    def state(self) -> str:
        return "cold" if self._reply is None else self._reply.state

    @property
    def trace_bytes(self) -> int:
        return 0 if self._reply is None else self._reply.trace_bytes

    @property
    def const_eval_bytes(self) -> int:
        return 0 if self._reply is None else self._reply.const_eval_bytes

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Runs the Program once on all workers; see :meth:`Executable.run`. Donated memory is not written to.

        When a worker dies, fresh workers run the Program again: nothing of the first attempt is left.

        Raises:
            WorkerDiedError: a worker died in both attempts.
        """
        with self.device.lock, self._workers.lock:
            for chip in self.devices:
                chip.begin_run()
            try:
                for chip in self.devices:
                    if self._reply is None or chip.resident_at_most() > self._room:
                        chip.check_memory(self, self._held_bytes(versions))
                try:
                    return self._attempt(tensors, versions)
                except WorkerDiedError as error:
                    logger().warning("%s Running '%s' again on fresh workers.", error.message, self.source.name)
                    return self._attempt(tensors, versions)
            finally:
                for chip in self.devices:
                    chip.reporter.end(self.predicted_us)

    def forget(self, version: int) -> None:
        """Counts no bytes of const-eval results until workers, which drop those of a version in a run, reply again."""
        if self._reply is not None:
            self._reply = self._reply._replace(const_eval_bytes=0)

    def reset(self) -> None:
        """Returns to the cold state with the next run."""
        super().reset()
        self._reply, self._resets = None, True

    def _attempt(self, tensors: Sequence[torch.Tensor], versions: Sequence[Version]) -> list[torch.Tensor]:
        workers = self._workers
        shares_of = self._shares()
        call = workers.next_call()
        try:
            calls = self._requests(call, shares_of, tensors, versions)
        except BaseException:  # such as Ctrl-C: the tables say of shards that workers have them
            workers.replace()
            raise
        for version in self._new_versions(versions):
            lifetimes.keep(version, self._reference)
            workers.watch(version)
        self._resets = True  # until all workers have ended the run
        replies: list[Reply] = workers.call(call, lambda actor: actor.run, calls)
        self._resets = False
        results: dict[int, torch.Tensor] = {}
        for share, reply in zip(shares_of, replies, strict=True):
            results.update(zip(share.results, map(unpack, reply.results), strict=True))
        self._reply = replies[0]._replace(results=[])
        self.counters = self._reply.counters
        return [results[index] for index in range(len(results))]

    def _requests(
        self, call: int, shares_of: Sequence[_Share], tensors: Sequence[torch.Tensor], versions: Sequence[Version]
    ) -> list[Sequence[Any]]:
        """Returns the arguments of each worker's run: a request, and the shards that the worker does not keep."""
        workers = self._workers
        packed: dict[int, Any] = {}
        """Tensors to send by argument, or references to them."""
        calls: list[Sequence[Any]] = []
        for worker, share in enumerate(shares_of):
            ended, unloaded = workers.settle(worker)
            keys = [self._versioned(index, versions[index]) for index in share.reads]
            sent: list[int] = []
            for position, (index, key) in enumerate(zip(share.reads, keys, strict=True)):
                version = versions[index]
                if key is not None and version is not None and workers.holds(worker, version, key):
                    continue
                sent.append(position)
                if index not in packed:
                    packed[index] = self._parcel(tensors[index])
            request = Request(
                self._number,
                call,
                keys,
                sent,
                [versions[index] for index in share.reads],
                share.returned,
                ended,
                unloaded,
                self._resets,
                environment.variables_in_force(),
                workers.threads_of(worker),
            )
            calls.append((request, *(packed[share.reads[position]] for position in sent)))
        return calls

    def _shares(self) -> list[_Share]:
        """Returns each worker's share, after loading the Program where workers do not have it."""
        workers = self._workers
        workers.ensure(len(self._chips_of))
        if self._loaded is None or self._loaded[0] != workers.generation:
            stored = self.source.to_bytes()
            variables = environment.variables_in_force()
            loads = [
                (self._number, Load(stored, type(self.device), self.device.target, self._chips_of, worker), variables)
                for worker in range(len(self._chips_of))
            ]
            # Before the call: when one worker fails to load it, others have it.
            weakref.finalize(self, workers.unload, self._number, workers.generation)
            parts: list[Part] = workers.call(workers.next_call(), lambda actor: actor.load, loads)
            self._loaded = workers.generation, [self._share(worker, part) for worker, part in enumerate(parts)]
            self._resets = False
        return self._loaded[1]

    def _share(self, worker: int, part: Part) -> _Share:
        """Returns a worker's share in terms of this executable's arguments and results."""
        grid, expansion = Grid(self._mesh), self._expansion
        arguments = {read: index for index, read in enumerate(expansion.reads)}
        reads: list[int] = []
        for argument, chip in part.reads:
            sharding = self.source.arguments[argument].sharding
            axes = frozenset[int]() if sharding is None else sharding.axes & grid.axes
            reads.append(arguments[argument, grid.representative(axes, chip)])
        own = set(self._chips_of[worker])
        results = [index for index, (_, chip) in enumerate(expansion.holders) if chip in own]
        return _Share(reads, [part.holders.index(expansion.holders[index]) for index in results], results)

    def _key(self, argument: int, chip: int) -> Key | None:
        """Returns the name of an argument's shard on workers, but for its version; None if they do not keep it."""
        declared = self.source.arguments[argument]
        if declared.role is Role.INPUT or declared.written:
            return None
        return (self._mesh.shape, declared.sharding, chip, declared.dtype, declared.shape)

    def _versioned(self, index: int, version: Version) -> Key | None:
        key = self._keys[index]
        return None if key is None or version is None else (version, *key)

    def _new_versions(self, versions: Sequence[Version]) -> set[int]:
        """Returns the versions of parameters and constants that the last run did not have."""
        pairs = zip(self._persistent, versions, strict=True)
        kept = {version for persistent, version in pairs if persistent and version is not None}
        new, self._seen = kept - self._seen, kept
        return new

    def _parcel(self, tensor: torch.Tensor) -> Any:
        packed: Packed = pack(tensor)
        return packed if packed.data.nbytes <= _IN_MESSAGE_BYTES else self._workers.store(packed)
