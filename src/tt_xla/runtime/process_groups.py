"""The process groups of ``torch.distributed`` in which this process is a rank, for the collectives of its programs.

A program contains only the name of a group. The front end registers each group under the name that PyTorch gives it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Generator, Sequence
from contextvars import ContextVar
from typing import Protocol

import torch

from tt_xla.errors import ExecutionError

_OF_DEVICE: ContextVar[bool] = ContextVar("of_device", default=False)


@contextlib.contextmanager
def exchanging_for_device() -> Generator[None]:
    """Within it, CPU tensors that a process group exchanges are contents of the device's: a program has them there.

    Other ranks may exchange theirs as tensors of the device.
    """
    token = _OF_DEVICE.set(True)
    try:
        yield
    finally:
        _OF_DEVICE.reset(token)


def exchanges_for_device() -> bool:
    """Returns whether this is within :func:`exchanging_for_device`."""
    return _OF_DEVICE.get()


class ProcessGroup(Protocol):
    """A process group, which exchanges tensors with processes that run programs or eager ops of their own."""

    def collective(
        self,
        kind: str,
        tensor: torch.Tensor,
        *,
        reduction: str,
        root: int,
        sent: Sequence[int],
        received: Sequence[int],
        silicon: bool,
    ) -> torch.Tensor:
        """Calls a collective and returns its result, a new CPU tensor.

        Args:
            kind: kind of a :class:`~tt_xla.ir.ranks.RankCollective`.
            tensor: what this rank gives, on the CPU.
            reduction: sum, mean, max, min or prod; empty for a kind without one.
            root: number in the group of the rank that sends, for a broadcast.
            sent, received: rows for each rank and from each, for an all_to_all between parts of different sizes; else
                empty. Tensors without such rows have one that is not used.
            silicon: whether sums are rounded as on the chip.

        Raises:
            CollectiveError: another rank calls something else, or does not come.
        """
        ...


_registered: weakref.WeakValueDictionary[str, ProcessGroup] = weakref.WeakValueDictionary()


def register(name: str, group: ProcessGroup) -> None:
    """Registers a group for as long as it is alive; one of the same name before it has ended."""
    _registered[name] = group


def registered() -> dict[str, ProcessGroup]:
    """Returns the groups that are alive, by name."""
    return dict(_registered)


def find(name: str) -> ProcessGroup:
    """Returns the group of a name.

    Raises:
        ExecutionError: this process is in no such group.
    """
    group = _registered.get(name)
    if group is None:
        raise ExecutionError(
            f"The program exchanges tensors with the ranks of the process group '{name}', and this process is in no "
            "such group of the backend 'tt'.",
            hint='Make the group before the model runs: dist.init_process_group("tt"), or dist.new_group() as there.',
        )
    return group


__all__ = ["ProcessGroup", "find", "register", "registered"]
