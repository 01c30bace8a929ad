"""Ranks that cannot leave contents for each other send them."""

from __future__ import annotations

import errno
import os

import pytest
import torch

from tt_xla.frontends.torch.distributed.shared_memory import SharedMemory, machine


def refuse(name: str) -> int:
    raise OSError(errno.EMFILE, "too many open files")


@pytest.mark.parametrize("system", ["Linux", "another system", "no more files"])
def test_ranks_share_memory_where_the_system_has_it(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    other = torch.frombuffer(bytearray(machine()), dtype=torch.uint8)
    if system == "another system":
        monkeypatch.delattr(os, "memfd_create")
    elif system == "no more files":
        monkeypatch.setattr(os, "memfd_create", refuse)
    memory = SharedMemory(lambda own: [own, other if own.dtype is torch.uint8 else own])
    assert memory.works == (system == "Linux")


def test_contents_stay_while_the_next_ones_are_written() -> None:
    memory = SharedMemory(lambda own: [own])
    first, second = torch.tensor([1, 2], dtype=torch.uint8), torch.tensor([3, 4], dtype=torch.uint8)
    (contents,) = memory.exchange([first])
    (others,) = memory.exchange([second])  # a slower rank may read the first ones yet
    assert torch.equal(contents[:2], first)
    assert torch.equal(others[:2], second)
