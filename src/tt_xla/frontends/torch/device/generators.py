"""``torch.Generator(device="tt")``.

PyTorch offers devices written in Python no way to make generators, so the metaclass of ``torch.Generator`` is asked.
Random numbers of the device come from the CPU, so that a seed gives the same numbers on both: a generator of the device
is a CPU generator that names another device.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.private import random as _sets_the_metaclass  # noqa: F401


class Generator(torch.Generator):
    """A generator of a chip.

    Attributes:
        chip: number of the chip.
    """

    chip = 0

    @property
    def device(self) -> torch.device:
        return chips.device(self.chip)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.initial_seed(), self.get_state(), self.chip)

    def clone_state(self) -> Generator:
        return _restored(self.initial_seed(), self.get_state(), self.chip)


def _restored(seed: int, state: torch.Tensor, chip: int = 0) -> Generator:
    generator = new_generator(chip).manual_seed(seed)
    generator.set_state(state)
    return generator


def new_generator(chip: int) -> Generator:
    """Returns a new generator of a chip."""
    _tell_dynamo()
    generator = Generator()
    generator.chip = chip
    return generator


@functools.cache
def _tell_dynamo() -> None:
    """Makes dynamo break the graph where a generator of the device is used, as it does for ``torch.Generator``.

    Without this, dynamo would trace an instance of the subclass as an object without contents. Dynamo is imported here,
    with the first generator, and not with PyTorch, because that takes about half a second.
    """
    from tt_xla.frontends.torch.private.dynamo import treat_as_opaque

    treat_as_opaque(Generator)


def _call(cls: type, *args: Any, **kwargs: Any) -> Any:
    """``type.__call__`` of the metaclass: ``torch.Generator(device="tt")`` makes a generator of the device."""
    device = args[0] if args else kwargs.get("device")
    if cls is torch.Generator and device is not None:
        requested = chips.own(torch.device(device))
        if requested.type == chips.DEVICE_TYPE:
            return new_generator(chips.chip_of(requested))
    return type.__call__(cls, *args, **kwargs)


def register() -> None:
    """Makes ``torch.Generator`` know the device."""
    type(torch.Generator).__call__ = _call  # type: ignore[method-assign]
