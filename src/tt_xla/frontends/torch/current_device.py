"""Selects the chip that ``tt`` without a number names, as ``torch.cuda.set_device`` does.

This module is not in the folder ``device``, because dynamo traces the mode here.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.private.function_modes import (
    DEVICE_CONSTRUCTORS,
    DeviceContext,
    TorchFunctionMode,
    current_modes,
    insert,
    remove,
)


def _default_device() -> str:
    """Returns the default device of this thread, or an empty string.

    PyTorch keeps one in ``torch.utils._device.CURRENT_DEVICE``, but for the whole process: a thread without a default
    device would read the one that another thread has set.
    """
    for mode in current_modes():
        if isinstance(mode, DeviceContext):
            return str(mode.device)
    return ""


_UNNUMBERED = (chips.DEVICE_TYPE, chips.XLA)


class _NumbersDevices(TorchFunctionMode):
    """Names a chip where a call says ``tt`` or ``xla``.

    PyTorch itself completes ``tt`` to ``tt:0`` before a kernel is called, as it believes that a device written in
    Python has one device only. The mode is on the stack while another chip is selected.

    Args:
        chip: number of the chip.
    """

    def __init__(self, chip: int) -> None:
        super().__init__()
        self.device = chips.device(chip)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in DEVICE_CONSTRUCTORS and kwargs.get("device") is None and _default_device() in _UNNUMBERED:
            kwargs["device"] = self.device
        if "device" in kwargs and str(kwargs["device"]) in _UNNUMBERED:
            kwargs["device"] = self.device
        if (
            func is torch.Tensor.to
            and len(args) > 1
            and isinstance(args[1], str | torch.device)
            and str(args[1]) in _UNNUMBERED
        ):
            args = (args[0], self.device, *args[2:])
        return func(*args, **kwargs)


class _Installed(threading.local):
    mode: _NumbersDevices | None = None


_INSTALLED = _Installed()


def select_chip(chip: int) -> None:
    """Selects the chip that ``tt`` without a number names in this thread."""
    chips.set_current(chip)
    if _INSTALLED.mode is not None:
        remove(_INSTALLED.mode)
    _INSTALLED.mode = _NumbersDevices(chip) if chip else None
    if _INSTALLED.mode is not None:
        insert(_INSTALLED.mode)
