"""``torch_xla.experimental.callback``: functions that run when a tensor has been computed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from tt_xla.frontends.torch.device import synchronize as _synchronize


def on_ready_callback(tensor: torch.Tensor, callback: Callable[[torch.Tensor], object]) -> None:
    """Calls a function in another thread once a tensor has been computed.

    Ops that were recorded run first, so the tensor is ready when this returns.

    Args:
        tensor: the tensor.
        callback: takes the tensor.
    """
    _synchronize()
    threading.Thread(target=callback, args=(tensor,), name="on_ready_callback").start()


def on_ready_event(tensor: torch.Tensor) -> threading.Event:
    """Returns an event that is set once a tensor has been computed."""
    event = threading.Event()
    on_ready_callback(tensor, lambda _: event.set())
    return event
