"""Runs Programs on a device: the emulated card, whose kernels are torch CPU calls, or a card driven by TT-NN.

    device = get_device("n150")
    executable = device.load(program)
    results = executable.run(tensors, versions)

Importing this package does not import torch; the first use of one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device, MemoryReport, get_device, is_open, wait
    from tt_xla.runtime.executable import Counters, Executable
    from tt_xla.runtime.observation import recorded_runs

__all__ = [
    "Counters",
    "Device",
    "Executable",
    "MemoryReport",
    "get_device",
    "is_open",
    "recorded_runs",
    "wait",
]

_HOMES = {
    "Counters": "executable",
    "Device": "device",
    "Executable": "executable",
    "MemoryReport": "device",
    "get_device": "device",
    "is_open": "device",
    "recorded_runs": "observation",
    "wait": "device",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
