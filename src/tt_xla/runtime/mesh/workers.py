"""The Ray workers that the chips of a mesh are spread over, seen from the process that runs programs on them.

One set of workers serves all programs of the process. It is started when the first program needs it, ends with the
process, and is replaced as a whole when one of its workers dies.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla import environment
from tt_xla.errors import ExecutionError, RuntimeUnavailableError
from tt_xla.locks import Lock
from tt_xla.log import logger
from tt_xla.runtime import lifetimes
from tt_xla.runtime.mesh.worker import Identity, Key, MeshWorker, identity

START_SECONDS = 300.0
"""Time that Ray has to start workers, in seconds."""


CONNECTION_SECONDS = 10.0
"""Time that a cluster's machine has to answer, in seconds."""


class WorkerDiedError(ExecutionError):
    """A worker died while it ran a program."""


class Workers:
    """A set of Ray workers.

    Args:
        address: address of the Ray cluster; None for one that this process uses already, or else starts.
        ray: Ray's module, connected to the cluster; None to connect to it.
    """

    def __init__(self, address: str | None, ray: Any = None) -> None:
        self._address = address
        self._ray, self._is_ours = _connected(address) if ray is None else (ray, False)
        self._process = os.getpid()
        self._actors: list[Any] = []
        self.identities: list[Identity] = []
        """Who each worker is."""
        self._calls = itertools.count(1)
        self.generation = 0
        """Number of the set of processes. Programs are loaded again, and tensors sent again, when it changes."""
        self._held: list[dict[int, set[Key]]] = []
        """For each worker, the shards that it keeps, by the version of their contents."""
        self._watched: set[int] = set()
        """Versions whose end this object is told of."""
        self._ended: list[list[int]] = []
        """For each worker, versions that ended since its last run."""
        self._unloaded: list[list[int]] = []
        """For each worker, programs that were dropped since its last run."""
        self._stale = False
        """Whether a worker died, or missed a call, so that all are to be replaced."""
        self.lock = Lock()
        """Held during calls: one program runs at a time."""

    def count_for(self, wanted: int | None, chips: int) -> int:
        """Returns the number of workers for a mesh; each has at least one chip.

        Args:
            wanted: number that the user wants; None for one for each CPU of the cluster.
            chips: number of chips in the mesh.

        Raises:
            RuntimeUnavailableError: somebody else's cluster has fewer CPUs than the user wants workers.
        """
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        if wanted is not None and min(wanted, chips) > cpus and not self._is_ours:
            raise RuntimeUnavailableError(
                f"TTXLA_MESH_WORKERS asks for {wanted} workers, and the Ray cluster {self._place()} has {cpus} CPUs; "
                "each worker takes one.",
                hint=f"Set TTXLA_MESH_WORKERS to {cpus} workers or fewer, or add machines to the cluster.",
            )
        return min(chips, max(1, cpus) if wanted is None else wanted)

    def ensure(self, count: int) -> None:
        """Starts workers until there are ``count``, in the place of workers of which one died.

        Raises:
            RuntimeUnavailableError: Ray cannot start them, or they run other code than this process.
        """
        if os.getpid() != self._process:
            raise RuntimeUnavailableError(
                "The workers of a mesh belong to the process that started them, and this is a fork of it.",
                hint="Run programs for several chips in the parent, or start a new process instead of forking.",
            )
        if self._stale:
            count = max(count, len(self._actors))
            self.stop()
            self._stale = False
            self.generation += 1
        first = len(self._actors)
        if first >= count:
            return
        ray = self._ray
        cpus = 0 if self._is_ours else 1  # a cluster of our own has nobody else to share CPUs with
        remote = ray.remote(num_cpus=cpus, max_restarts=0, concurrency_groups={"mail": 1, "control": 1})(MeshWorker)
        remote = remote.options(scheduling_strategy="SPREAD")
        actors = [remote.remote(number) for number in range(first, count)]
        greetings = [actor.hello.remote() for actor in actors]
        try:
            ready, waiting = ray.wait(greetings, num_returns=len(greetings), timeout=START_SECONDS)
            if waiting:
                raise RuntimeUnavailableError(
                    f"Only {len(ready)} of {len(greetings)} workers started within {START_SECONDS:.0f} seconds on the "
                    f"Ray cluster {self._place()}, whose free resources are {ray.available_resources()}.",
                    hint="Other jobs may use its CPUs: ask for fewer workers in TTXLA_MESH_WORKERS, or wait.",
                )
            identities = [self._greeted(number, greeting) for number, greeting in enumerate(greetings, first)]
            self._actors += actors
            ray.get([actor.connect.remote(self._actors) for actor in self._actors])
        except BaseException:
            for actor in actors:
                ray.kill(actor)
            del self._actors[first:]
            raise
        self.identities += identities
        self._held += [{} for _ in actors]
        self._ended += [[] for _ in actors]
        self._unloaded += [[] for _ in actors]

    def stop(self) -> None:
        """Ends all workers."""
        if os.getpid() == self._process:
            for actor in self._actors:
                self._ray.kill(actor)
        for state in (self._actors, self.identities, self._held, self._ended, self._unloaded):
            state.clear()

    def threads_of(self, worker: int) -> int:
        """Returns the number of torch's threads of a worker. Workers on one machine share this process's number."""
        hosts = [identity.host for identity in self.identities]
        return max(1, torch.get_num_threads() // hosts.count(hosts[worker]))

    def name(self, number: int) -> str:
        """Returns the number of a worker with its host and process id."""
        if number >= len(self.identities):
            return f"worker {number}"
        return f"worker {number} (process {self.identities[number].pid} on {self.identities[number].host})"

    def store(self, value: Any) -> Any:
        """Puts an object where all workers can read it, and returns a reference for :meth:`call`."""
        return self._ray.put(value)

    def replace(self) -> None:
        """Has all workers replaced before the next call."""
        self._stale = True

    def next_call(self) -> int:
        """Returns the number of the next call."""
        return next(self._calls)

    def settle(self, worker: int) -> tuple[list[int], list[int]]:
        """Returns the versions that ended and the programs that were dropped since a worker's last run."""
        ended, unloaded = self._ended[worker], self._unloaded[worker]
        self._ended[worker], self._unloaded[worker] = [], []
        return ended, unloaded

    def holds(self, worker: int, version: int, key: Key) -> bool:
        """Returns whether a worker keeps a shard; from now on it does."""
        keys = self._held[worker].setdefault(version, set())
        held = key in keys
        keys.add(key)
        return held

    def watch(self, version: int) -> None:
        """Has workers told, with their next run, when the contents with a version no longer exist."""
        if version not in self._watched:
            self._watched.add(version)
            lifetimes.keep(version, weakref.ref(self))

    def forget(self, version: int) -> None:
        """Has workers drop the shards of contents that no longer exist, with their next run."""
        for ended in self._ended:
            ended.append(version)
        for held in self._held:
            held.pop(version, None)
        self._watched.discard(version)

    def unload(self, program: int, generation: int) -> None:
        """Has workers drop a program with their next run."""
        if generation == self.generation:
            for unloaded in self._unloaded:
                unloaded.append(program)

    def call(self, number: int, method: Callable[[Any], Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Calls a method of the first workers, and waits for all of them.

        When one of them fails, the others are told to end the call.

        Args:
            number: number of the call.
            method: returns the method of an actor.
            arguments: arguments of each worker.

        Returns:
            The outcome of each worker.

        Raises:
            WorkerDiedError: a worker died.
            Exception: the error of the first worker that failed.
        """
        ray = self._ray
        calls: dict[Any, int] = {}
        outcomes: dict[int, Any] = {}
        failures: dict[int, Exception] = {}
        try:
            for worker, own in enumerate(arguments):
                calls[method(self._actors[worker]).remote(*own)] = worker
            pending = [*calls]
            while pending:
                (done, *_), pending = ray.wait(pending)
                try:
                    outcomes[calls[done]] = ray.get(done)
                except ray.exceptions.RayError as error:
                    if not failures:
                        self._end(number)
                    failures[calls[done]] = error
        except BaseException:  # such as Ctrl-C
            self._stale = self._stale or len(calls) < len(arguments)
            self._end(number)
            raise
        if failures:
            self._raise(failures)
        return [outcomes[worker] for worker in range(len(calls))]

    def _end(self, number: int) -> None:
        """Has all workers end a call, and waits for none of them."""
        for actor in self._actors:
            actor.end.options(concurrency_group="control").remote(number)

    def _raise(self, failures: dict[int, Exception]) -> None:
        exceptions = self._ray.exceptions
        for worker, error in sorted(failures.items()):
            if not isinstance(error, exceptions.RayTaskError):
                self._stale = True
                reason = str(error).strip().splitlines()[0].rstrip(".")
                raise WorkerDiedError(
                    f"The mesh's {self.name(worker)} died during the call: {reason}.",
                    hint="The next call starts fresh workers. Look for its end in Ray's logs, or in those of the "
                    "machine if it ran out of memory.",
                ) from error
        worker, error = min(failures.items())
        cause = getattr(error, "cause", error)
        cause.add_note(f"Raised by the mesh's {self.name(worker)}.")
        raise cause from None

    def _greeted(self, number: int, greeting: Any) -> Identity:
        """Returns who a new worker is.

        Raises:
            RuntimeUnavailableError: it cannot start, or it runs other code than this process.
        """
        exceptions = self._ray.exceptions
        try:
            other: Identity = self._ray.get(greeting)
        except exceptions.RayError as error:
            lines = [line for line in str(error).strip().splitlines() if line.strip()]
            raise RuntimeUnavailableError(
                f"Worker {number} of the mesh cannot start on the Ray cluster {self._place()}: {lines[-1].strip()}.",
                hint="Every machine of the cluster needs tt_xla, in the version of this process.",
            ) from error
        own = identity()
        if other.code != own.code:
            raise RuntimeUnavailableError(
                f"Worker {number} of the mesh, on {other.host}, runs tt_xla {_code(other)}; this process runs tt_xla "
                f"{_code(own)}. Their results could differ.",
                hint="Install the same versions on every machine of the cluster.",
            )
        return other

    def _place(self) -> str:
        return "of this process" if self._address is None else f"at {self._address}"


def _code(identity: Identity) -> str:
    return f"{identity.tt_xla} ({identity.source}) with torch {identity.torch} and Python {identity.python}"


def _connected(address: str | None) -> tuple[Any, bool]:
    """Connects to a cluster, or to the one that this process uses already.

    Returns:
        Ray, and whether the cluster is one that this process started for its workers.

    Raises:
        RuntimeUnavailableError: Ray is not installed, or there is no cluster at the address.
    """
    try:
        environment.quieten_ray()
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise RuntimeUnavailableError(
            "TTXLA_MESH_WORKERS needs Ray, which is not installed.",
            hint="Install it with `pip install ray`, or unset TTXLA_MESH_WORKERS.",
        ) from None
    api: Any = ray
    if api.is_initialized():
        return api, False
    if address is None:
        api.init(address="local", include_dashboard=False, logging_level=logging.ERROR)
        logger().info("started Ray on this machine for the workers of meshes")
        return api, True
    try:
        host, _, port = address.rpartition("/")[2].rpartition(":")
        socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()  # Ray would try for minutes
        api.init(address=address, logging_level=logging.ERROR)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise RuntimeUnavailableError(
            f"There is no Ray cluster at {address}: {reason}.",
            hint="Start one with `ray start --head`, or correct the address in TTXLA_MESH_WORKERS. "
            f"{environment.RAY_TOKEN_HINT} An address with ray:// needs `pip install 'ray[client]'`.",
        ) from error
    return api, False


_sets: dict[str | None, Workers] = {}
_opening = Lock()


def workers_at(address: str | None) -> Workers:
    """Returns the process's workers on a Ray cluster; None stands for one that this process uses or starts.

    Raises:
        RuntimeUnavailableError: Ray is not installed, or there is no cluster at the address.
    """
    with _opening:
        if address not in _sets:
            _sets[address] = Workers(address)
        return _sets[address]


def stop_all() -> None:
    """Ends all workers of this process. Programs that are loaded later start new ones."""
    with _opening:
        for workers in _sets.values():
            workers.stop()
        _sets.clear()
