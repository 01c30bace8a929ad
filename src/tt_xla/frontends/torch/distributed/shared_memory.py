"""Memory in which the ranks of one machine leave large contents for each other, instead of sending them over sockets.

The memory has no name in a file system, so nothing is left of it when the ranks have ended, also by a signal.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

Gather = Callable[[torch.Tensor], list[torch.Tensor]]

LEAST_BYTES = 1 << 17
"""Size from which contents are left in shared memory: smaller ones cross a socket in about the time of an exchange."""

_DIGEST_BYTES = hashlib.sha256().digest_size


class _Segment:
    """A part of this rank's memory that other ranks may read."""

    def __init__(self) -> None:
        self.file = os.memfd_create("tt_xla")
        weakref.finalize(self, os.close, self.file)
        self.size = 0
        self._content = torch.empty(0, dtype=torch.uint8, device="cpu")

    def write(self, parts: Sequence[torch.Tensor]) -> None:
        """Replaces the contents by those of uint8 CPU tensors, one after another."""
        size = sum(part.numel() for part in parts)
        if size > self.size:
            os.ftruncate(self.file, size)
            self._content, self.size = _mapped(self.file, size), size
        if parts:
            torch.cat([*parts], out=self._content[:size])


class SharedMemory:
    """Memory in which the ranks of a group leave contents for each other, all calling the methods in the same order.

    Each rank writes into two segments by turns. When all have written, a rank has read what the others had written
    before, so the segment of the last but one exchange is free.

    Args:
        gather: returns the small CPU tensors of all ranks, which have one shape and dtype.
    """

    def __init__(self, gather: Gather) -> None:
        self._gather = gather
        self._segments: list[_Segment] = []
        self._turn = 0
        self._places: list[list[list[int]]] = [[], []]
        """Process, file and size of each rank's segment, for both turns."""
        self._contents: list[list[torch.Tensor]] = [[], []]
        """The memory of these segments."""
        self.works = self._is_mutual()

    def _is_mutual(self) -> bool:
        """Returns whether all ranks can read the memory of all others. It is the same on all of them."""
        try:
            self._segments, own = [_Segment(), _Segment()], machine()
        except (AttributeError, OSError):  # another system than Linux, or no more files
            own = os.urandom(_DIGEST_BYTES)  # as of a machine that no other rank is on
        machines = self._gather(torch.frombuffer(bytearray(own), dtype=torch.uint8))
        if any(not torch.equal(machines[0], other) for other in machines):
            return False
        try:
            self.exchange([torch.zeros(1, dtype=torch.uint8, device="cpu")])
        except OSError:
            return False
        return True

    def exchange(self, parts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Leaves contents for the others, and returns those of all ranks when all have done so.

        Args:
            parts: uint8 CPU tensors, which are joined; none for a rank that gives nothing.

        Returns:
            Tensors over the memory of the ranks, of at least the size of the contents. They have to be read before the
            next exchange.

        Raises:
            OSError: a rank cannot read the memory of another one; on all ranks.
        """
        turn, segment = self._turn, self._segments[self._turn]
        self._turn = 1 - turn
        segment.write(parts)
        place = torch.tensor([os.getpid(), segment.file, segment.size], device="cpu")
        places = [other.tolist() for other in self._gather(place)]
        if places != self._places[turn]:
            self._contents[turn] = self._opened(places)
            self._places[turn] = places
        return self._contents[turn]

    def _opened(self, places: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Returns the memory of the segments of all ranks, when each of them has opened it: one may end at once."""
        contents, failure = [], None
        try:
            contents = [_opened(*place) for place in places]
        except OSError as error:
            failure = error
        if not all(map(bool, self._gather(torch.tensor([failure is None], device="cpu")))):
            raise OSError("A rank cannot read the memory of another rank of its machine.") from failure
        return contents


def _opened(process: int, file: int, size: int) -> torch.Tensor:
    """Returns the memory of a segment of another process."""
    if not size:
        return torch.empty(0, dtype=torch.uint8, device="cpu")
    opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
    try:
        return _mapped(opened, size)
    finally:
        os.close(opened)


def _mapped(file: int, size: int) -> torch.Tensor:
    """Returns a uint8 CPU tensor over the memory of a file, which lives as long as the tensor."""
    return torch.frombuffer(mmap.mmap(file, size), dtype=torch.uint8)


def machine() -> bytes:
    """Returns what processes have in common that can read each other's memory, in :data:`_DIGEST_BYTES` bytes."""
    started = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    processes = os.stat("/proc/self/ns/pid")
    return hashlib.sha256(started + f"{processes.st_dev} {processes.st_ino} {os.getuid()}".encode()).digest()


__all__ = ["LEAST_BYTES", "SharedMemory"]
