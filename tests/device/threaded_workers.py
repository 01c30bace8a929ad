"""Workers of a mesh as threads of this process, to compare what they compute with what one executable does."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch

from tt_xla.ir.program import Program
from tt_xla.runtime import Device
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.mesh.expansion import expand
from tt_xla.runtime.mesh.post import CallEnded, Post, opened
from tt_xla.spmd.grid import shares


class ThreadedWorkers:
    """A Program on workers, each of which has an executable and a device of its own.

    Args:
        program: a Program with a mesh.
        device: a chip of the system that it was compiled for.
        count: number of workers.
        stacks: whether one instruction may compute the shards of several chips.
    """

    def __init__(self, program: Program, device: Device, count: int, *, stacks: bool) -> None:
        self.chips = shares(program.mesh, count)
        self.parts = [
            expand(program, stacks=stacks, shares=self.chips, worker=worker) for worker in range(len(self.chips))
        ]
        self.executables = [Executable(Device(device.target, None), program, part) for part in self.parts]
        self.posts = [Post(self._sender(worker)) for worker in range(len(self.chips))]
        self.calls = 0

    def _sender(self, worker: int):
        return lambda to, call, tensors: self.posts[to].deliver(worker, call, tensors)

    def run(
        self, shards: Sequence[Sequence[torch.Tensor]], versions: Sequence[int | None]
    ) -> dict[tuple[int, int], torch.Tensor]:
        """Runs the Program once. Returns the tensor of every result that each worker has, by result and chip."""
        self.calls += 1
        results: dict[tuple[int, int], torch.Tensor] = {}
        errors: list[BaseException] = []

        def run_one(worker: int) -> None:
            part = self.parts[worker]
            tensors = [shards[argument][chip].clone() for argument, chip in part.reads]
            tokens = [versions[argument] for argument, _ in part.reads]
            try:
                with opened(self.posts[worker], self.calls):
                    results.update(zip(part.holders, self.executables[worker].run(tensors, tokens), strict=True))
            except (Exception, CallEnded) as error:
                errors.append(error)
                for post in self.posts:
                    post.end(self.calls)

        threads = [threading.Thread(target=run_one, args=(worker,)) for worker in range(len(self.chips))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            if not isinstance(error, CallEnded):
                raise error
        return results


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Returns whether two tensors have the same type, shape and bits, NaNs included."""
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and torch.equal(one.reshape(-1).view(torch.uint8), other.reshape(-1).view(torch.uint8))
