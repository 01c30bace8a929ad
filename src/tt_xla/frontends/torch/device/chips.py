"""The chips of the system as devices of PyTorch: ``tt:0``, ``tt:1`` and so on.

In SPMD mode (``xr.use_spmd``) all chips act as the one device ``tt:0``.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import torch

from tt_xla.environment import selected_system
from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.private.dispatcher import backward_on_calling_thread

DEVICE_TYPE = "tt"
XLA = "xla"
"""Device type that PyTorch has for ``torch_xla``; our devices stand for it once a script has imported that."""


@functools.cache
def _chips_of(system: str) -> int:
    from tt_xla.target import load_target

    return load_target(system).chips


def chip_count() -> int:
    """Returns the number of chips of the selected system."""
    return _chips_of(selected_system())


def device_count() -> int:
    """Returns the number of devices of PyTorch: that of the system's chips, or 1 in SPMD mode."""
    return 1 if session.current.chips.acts_as_one else chip_count()


@functools.cache
def device(chip: int = 0) -> torch.device:
    """Returns the device of a chip."""
    return torch.device(DEVICE_TYPE, chip)


def own(requested: torch.device) -> torch.device:
    """Returns the device that stands for one of the type ``xla``, and any other device as it is."""
    if requested.type != XLA:
        return requested
    return device(current() if requested.index is None else requested.index)


def current() -> int:
    """Returns the chip that ``tt`` without a number names in this thread."""
    return session.current.chips.of_thread.current


def set_current(chip: int) -> None:
    """Selects the chip that ``tt`` without a number names in this thread."""
    session.current.chips.of_thread.current = chip


def chip_of(requested: torch.device | None) -> int:
    """Returns the number of the chip behind a device; the current one for None and for a device without a number.

    Raises:
        RuntimeError: the device is ``tt`` with a number that the system does not have.
    """
    index = None if requested is None or requested.type != DEVICE_TYPE else requested.index
    if index is None:
        return current()
    if index:
        _check_ordinal(index)
    return index


@functools.cache
def _use_chip(index: int, count: int) -> bool:
    """Returns whether a chip other than the first exists.

    Once one is used, backward passes run on the calling thread, since PyTorch's own threads know one device.
    """
    if index < count:
        backward_on_calling_thread()
    return index < count


def _check_ordinal(index: int) -> None:
    if _use_chip(index, device_count()):
        return
    if session.current.chips.acts_as_one and index < chip_count():
        reason = f"In SPMD mode all chips act as the one torch device {device()}; leave out xr.use_spmd() to use each."
    else:
        count = chip_count()
        devices = device_count()
        known = "its one torch device is tt:0" if devices == 1 else f"its torch devices are tt:0 to tt:{devices - 1}"
        reason = (
            f"The system {selected_system()} has {count} chip{'s' if count > 1 else ''}; {known}. "
            "TTXLA_SYSTEM selects another system."
        )
    raise RuntimeError(f"{DEVICE_TYPE}:{index}: invalid device ordinal. {reason}")


# Random numbers ------------------------------------------------------------------------------------------------------


def generator(chip: int) -> torch.Generator:
    """Returns the generator of a chip, a CPU generator. The first chip shares the CPU's."""
    if chip == 0:
        return torch.default_generator
    own = session.current.chips
    if chip not in own.generators:
        own.generators[chip] = torch.Generator("cpu")
        if own.seed is not None:
            own.generators[chip].manual_seed(own.seed)
    return own.generators[chip]


def is_replica() -> bool:
    """Returns whether this thread is a replica."""
    return session.current.chips.of_thread.replica is not None


def set_replica(chip: int | None) -> None:
    """Says that this thread is the replica on a chip, or none."""
    session.current.chips.of_thread.replica = chip


def seed_all(seed: int) -> None:
    """Seeds the generators of all chips; in a replica, that of its chip."""
    state = session.current.chips
    if state.of_thread.replica is not None:
        with drawing_on(state.of_thread.replica):
            torch.default_generator.manual_seed(seed)
        return
    state.seed = seed
    torch.default_generator.manual_seed(seed)
    for own in state.generators.values():
        own.manual_seed(seed)


@contextlib.contextmanager
def drawing_on(chip: int) -> Iterator[None]:
    """Makes PyTorch's default generator continue a chip's sequence of random numbers in the block."""
    thread = session.current.chips.of_thread
    with session.current.drawing:
        if chip == thread.drawing:
            yield
            return
        default, own = torch.default_generator, generator(chip)
        before = default.get_state()
        outer, thread.drawing = thread.drawing, chip
        default.set_state(own.get_state())
        try:
            yield
        finally:
            own.set_state(default.get_state())
            default.set_state(before)
            thread.drawing = outer
