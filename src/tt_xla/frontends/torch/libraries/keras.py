"""keras lists torch's devices by name, and uses the CPU where none of them is there."""

from __future__ import annotations

from typing import Any

from tt_xla.environment import variable
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE


def choose_device(module: Any) -> None:
    """Makes ``tt`` the device, unless keras found another one or ``KERAS_TORCH_DEVICE`` names one.

    Args:
        module: ``keras.src.backend.torch.core``.
    """
    if module.DEFAULT_DEVICE == "cpu" and not variable("KERAS_TORCH_DEVICE"):
        module.DEFAULT_DEVICE = DEVICE_TYPE


__all__ = ["choose_device"]
