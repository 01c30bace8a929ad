"""The torch device on which the emulated card computes. Nothing else decides where its kernels' tensors lie.

``TTXLA_EMULATOR_DEVICE=cuda`` runs the same kernels on a GPU. Arguments are copied there when a program reads them,
parameters once, and results are copied back. This has not been tried on a GPU. Products there are torch's own instead
of oneDNN's, so that the terms of sums are added in another order than on the CPU.
"""

from __future__ import annotations

import functools

import torch

from tt_xla import environment
from tt_xla.errors import OptionError


@functools.cache
def device() -> torch.device:
    """Returns the device that ``TTXLA_EMULATOR_DEVICE`` named at the first call.

    Raises:
        OptionError: it names no device, or one that torch does not find.
    """
    name = environment.emulator_device()
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            available = f"{count} CUDA devices" if count else "no CUDA device"
            raise OptionError(
                f"TTXLA_EMULATOR_DEVICE is {name!r}, and torch {torch.__version__} finds {available} here.",
                hint="Unset it to compute on the CPU, or install a torch built for CUDA beside a driver that it takes.",
            )
    return device


def brought(tensor: torch.Tensor) -> torch.Tensor:
    """Copies a tensor to the device on which the card computes; returns the tensor itself if it lies there."""
    return tensor.to(device())
