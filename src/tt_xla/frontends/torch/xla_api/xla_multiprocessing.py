"""``torch_xla.distributed.xla_multiprocessing``, which scripts import as ``xmp``: replicas of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from tt_xla.frontends.torch import replicas as _replicas
from tt_xla.locks import Lock as _Lock

R = TypeVar("R")


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int | None = None,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """Calls ``fn(ordinal, *args)`` in a replica for each chip, and waits for all. In SPMD mode there is one replica.

    Args:
        fn: the function.
        args: its further arguments.
        nprocs: 1 for a call in this thread, None for replicas on all chips.
        join: changes nothing: replicas are threads, and the call waits for them.
        daemon: changes nothing.
        start_method: changes nothing.

    Raises:
        ValueError: ``nprocs`` is neither None nor 1.
        Exception: what a replica raised.
    """
    if nprocs not in (None, 1):
        raise ValueError(
            f"xmp.spawn(nprocs={nprocs}): nprocs is 1, or None for all chips. TTXLA_SYSTEM selects a system, and "
            "TT_VISIBLE_DEVICES some of its chips."
        )
    _replicas.run(lambda: fn(_replicas.ordinal(), *args), nprocs)


class MpModelWrapper:
    """Holds a model that replicas share until each moves it to its chip.

    Args:
        model: the model, on the CPU.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._lock = _Lock()

    def to(self, device: torch.device | str) -> torch.nn.Module:
        """Returns the model on a device.

        With several replicas each gets a copy, since they share this process, unless the model is on the device.
        """
        import copy

        with self._lock:
            there = all(parameter.device == torch.device(device) for parameter in self._model.parameters())
            model = self._model if there or _replicas.size() == 1 else copy.deepcopy(self._model)
            return model.to(device)


class MpSerialExecutor:
    """Runs functions of several replicas one after another."""

    def __init__(self) -> None:
        self._lock = _Lock()

    def run(self, fn: Callable[[], R]) -> R:
        """Returns what a function returns, which runs while no other replica's does."""
        with self._lock:
            return fn()
