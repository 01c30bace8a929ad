"""Makes our devices stand for the device type ``xla``, which scripts for ``torch_xla`` name.

PyTorch knows the type and its dispatch key. What is created on it, or moved to it, gets to a kernel of that key, and
the kernel here calls the op for the device ``tt``. So there are no tensors of the type: those of ``xla`` are those of
``tt``, and no call of PyTorch is slower for it.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from tt_xla.frontends.torch.device import chips, metrics
from tt_xla.frontends.torch.private import xla_type
from tt_xla.frontends.torch.private.device_guard import register_xla_guard
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.frontends.torch.trees import tree_map_only

_LIBRARIES: list[torch.library.Library] = []
"""The library that holds the kernel; one that is garbage-collected removes it."""


@functools.cache
def register() -> None:
    """Makes ``device="xla"`` mean our devices. Where PyTorch lets no guard be added, the name stays PyTorch's error."""
    if not register_xla_guard():
        return
    everything = torch.library.Library("_", "IMPL")
    _LIBRARIES.append(everything)
    everything.fallback(_on_own_device, "XLA")
    metrics.count(metrics.REGISTRATIONS)
    xla_type.apply(chips.DEVICE_TYPE, chips.own)


def _on_own_device(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Calls an op that names a device of the type ``xla`` for the device that stands for it."""
    args, kwargs = tree_map_only(torch.device, chips.own, (args, kwargs))
    return op(*args, **kwargs)
