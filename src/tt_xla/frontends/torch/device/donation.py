"""Donated tensors: a program that reads one may release its bytes, and the tensor has none afterwards.

A tensor without bytes still has shape and dtype, so ops on it can be recorded and shown, but not run.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import chips, metrics
from tt_xla.frontends.torch.device.buffers import Buffer, buffer_of
from tt_xla.frontends.torch.device.recording import new_tensor
from tt_xla.frontends.torch.device.values import Value


def donate(tensor: torch.Tensor, donates: bool = True) -> bool:
    """Donates the bytes of a tensor to the next program that reads it, or takes the donation back.

    Returns:
        Whether the tensor has bytes. The result of a recorded op that has not run has none to donate.
    """
    buffer = buffer_of(tensor)
    if buffer.pending:
        return False
    metrics.count(metrics.DONATIONS)
    buffer.value.donated = donates
    return True


def is_donated(tensor: torch.Tensor) -> bool:
    """Returns whether the bytes of a tensor are donated, or were."""
    return buffer_of(tensor).is_donated


def placeholder(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor of the current chip without bytes."""
    return new_tensor(Value(tuple(shape), dtype, chip=chips.current()))


def is_placeholder(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor has no bytes: a placeholder, or one whose donation a program took."""
    return buffer_of(tensor).is_placeholder


def release(values: Iterable[Value]) -> None:
    """Releases the bytes of those values that are donated, unless their tensors have been written since."""
    for value in values:
        buffer: Buffer | None = value.owner() if value.donated and value.owner is not None else None
        if buffer is not None and buffer.value is value:
            released = Value(value.shape, value.dtype, chip=buffer.chip)
            released.donated = True
            buffer.set_value(released)


def takes(leaves: Sequence[Value]) -> tuple[bool, tuple[int, ...]]:
    """Returns what inputs a run that takes donations takes: whether also those that it overwrites, and the positions of
    the donated ones."""
    return session.current.donation.ends_step, tuple([n for n, leaf in enumerate(leaves) if leaf.donated])


def aliases(leaves: Iterable[Value], outputs: Iterable[Value]) -> int:
    """Returns how many inputs of a program have no bytes of their own after its run."""
    ends_step = session.current.donation.ends_step
    overwritten = set(outputs) if ends_step else ()
    takes_donations = ends_step or session.current.mode.takes_donations
    return sum((leaf.donated and takes_donations) or _is_overwritten(leaf, overwritten) for leaf in leaves)


def _is_overwritten(leaf: Value, outputs: Container[Value]) -> bool:
    """Returns whether an input of a program is the contents of a tensor that gets one of its results instead."""
    owner: Buffer | None = None if leaf.owner is None else leaf.owner()
    return owner is not None and owner.pending and owner.value in outputs
