"""Places where PyTorch itself looks at the device type ``xla``, before or without the dispatcher.

Each replacement acts for the type ``xla`` alone, which PyTorch names and has no devices for, and only once a script has
imported ``torch_xla``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.amp import autocast_mode

from tt_xla.frontends.torch.private.fake import FakeTensor

NAME = "xla"
"""Name of the device type."""

REPLACED = (
    (torch.Tensor, "is_xla"),
    (autocast_mode.autocast, "__init__"),
    (torch.nn.utils, "clip_grad_norm_"),
    (FakeTensor, "_normalize_fake_device"),
)
"""Owner and name of each attribute that :func:`apply` replaces."""


def apply(device_type: str, own: Callable[[torch.device], torch.device]) -> None:
    """Applies all replacements.

    Args:
        device_type: name of the device that stands for the type, ``tt``.
        own: returns the device that stands for one of the type ``xla``, and any other device as it is.
    """
    _patch_is_xla(device_type)
    _patch_autocast(device_type)
    _patch_clipping(device_type)
    _patch_fake_devices(own)
    torch.serialization.register_package(0, lambda storage: None, functools.partial(_restored, own))


def _patch_is_xla(device_type: str) -> None:
    """Makes ``tensor.is_xla`` true for tensors of the device; in C++ it compares the type of the device."""
    torch.Tensor.is_xla = property(lambda self: self.device.type in (NAME, device_type))  # type: ignore[assignment]


def _patch_autocast(own_type: str) -> None:
    """Makes ``torch.autocast("xla")`` act on tensors of the device, whose ops have autocast keys of their own."""
    initialise = autocast_mode.autocast.__init__

    @functools.wraps(initialise)
    def patched(self: Any, device_type: str, dtype: torch.dtype | None = None, *args: Any, **kwargs: Any) -> None:
        if device_type == NAME:  # torch_xla's dtype is bfloat16 unless one is given
            device_type, dtype = own_type, dtype or torch.bfloat16
        initialise(self, device_type, dtype, *args, **kwargs)

    autocast_mode.autocast.__init__ = patched  # type: ignore[method-assign]


def _patch_clipping(device_type: str) -> None:
    """Makes the norm of parameters without gradients a tensor of the device, as it is with gradients."""
    clip = torch.nn.utils.clip_grad_norm_

    @functools.wraps(clip)
    def patched(parameters: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        given = [parameters] if isinstance(parameters, torch.Tensor) else [*parameters]
        norm = clip(given, *args, **kwargs)
        own = [each.device for each in given if each.device.type == device_type]
        return norm.to(own[0]) if own and norm.device.type != device_type else norm

    torch.nn.utils.clip_grad_norm_ = patched


def _patch_fake_devices(own: Callable[[torch.device], torch.device]) -> None:
    """Gives fake tensors, which compilers trace with, the device that real ones would have.

    They take the device that a call names, where kernels of the dispatcher decide for real tensors.
    """
    normalise = FakeTensor._normalize_fake_device
    FakeTensor._normalize_fake_device = staticmethod(lambda device: normalise(own(device)))  # type: ignore[assignment]


def _restored(own: Callable[[torch.device], torch.device], storage: Any, location: str) -> Any:
    """Returns a storage of ``torch.load(map_location="xla")`` on the device; None for another location."""
    if location.partition(":")[0] != NAME:
        return None
    return torch.serialization.default_restore_location(storage, str(own(torch.device(location))))


__all__ = ["NAME", "REPLACED", "apply"]
