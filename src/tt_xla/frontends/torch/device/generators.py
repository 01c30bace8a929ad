"""``torch.Generator(device="tt")``. Torch lets no device written in Python make generators, so the class is asked.

Random numbers of the device are the CPU's, so that a seed gives the same ones on both; its generators are CPU
generators that name another device.
"""

from __future__ import annotations

from typing import Any

import torch
import torch._prims.rng_prims  # sets the metaclass
from torch._dynamo.variables.builder import VariableBuilder

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
    """Makes ``torch.Generator`` know the device: its metaclass, which torch sets once and for all, makes instances.

    Dynamo breaks the graph where a generator of torch's own class is used, and would trace one of a class derived of it
    as an object without contents; so it is told to take this one for any object of Python, which breaks the graph too.
    """
    type(torch.Generator).__call__ = _call  # type: ignore[method-assign]
    for trace_numpy in (True, False):  # dynamo has a table for either setting
        VariableBuilder._type_dispatch_impl(trace_numpy)[Generator] = VariableBuilder.wrap_user_defined
