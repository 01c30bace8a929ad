"""``torch.Generator(device="tt")``. Torch lets no device written in Python make generators, so the class is asked.

Random numbers of the device are the CPU's, so that a seed gives the same ones on both; its generators are CPU
generators that name another device.
"""

from __future__ import annotations

from typing import Any

import torch
import torch._prims.rng_prims  # sets the metaclass
from torch._library.opaque_object import MemberType, register_opaque_type

from tt_xla.frontends.torch.device import buffers


class Generator(torch.Generator):
    """A generator of the device."""

    @property
    def device(self) -> torch.device:
        return buffers.device()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.initial_seed(), self.get_state())

    def clone_state(self) -> Generator:
        return _restored(self.initial_seed(), self.get_state())


def _restored(seed: int, state: torch.Tensor) -> Generator:
    made = Generator().manual_seed(seed)
    made.set_state(state)
    return made


def _call(cls: type, *args: Any, **kwargs: Any) -> Any:
    device = args[0] if args else kwargs.get("device")
    if cls is not torch.Generator or device is None or torch.device(device).type != buffers.DEVICE_TYPE:
        return type.__call__(cls, *args, **kwargs)
    return Generator()


def register() -> None:
    """Makes ``torch.Generator`` know the device: its metaclass, which torch sets once and for all, makes instances."""
    type(torch.Generator).__call__ = _call  # type: ignore[method-assign]
    real = MemberType.USE_REAL
    members = {"device": real, "__eq__": real, "__ne__": real}  # as torch says of its own class
    register_opaque_type(Generator, typ="reference", guard_fn=lambda generator: [generator.device], members=members)
