"""The chips of the system as devices of PyTorch: ``tt:0``, ``tt:1`` and so on.

In SPMD mode (``xr.use_spmd``) all chips act as the one device ``tt:0``.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import torch

from tt_xla.environment import selected_system, variables_for_now
from tt_xla.frontends.torch.private.dispatcher import backward_on_calling_thread
from tt_xla.ir.mesh import Mesh
from tt_xla.locks import Lock

DEVICE_TYPE = "tt"
XLA = "xla"
"""Device type that PyTorch has for ``torch_xla``; our devices stand for it once a script has imported that."""


class _Current(threading.local):
    """The chips that a thread selected.

    Attributes:
        chip: the chip that ``tt`` without a number names.
        drawing: the chip whose random numbers PyTorch's default generator draws at present.
        replica: the chip of the replica that the thread is, whose random numbers are no other thread's; None outside of
            replicas.
    """

    chip = 0
    drawing = 0
    replica: int | None = None


_CURRENT = _Current()


class _State:
    """Settings of the process that concern all chips.

    Attributes:
        acts_as_one: whether all chips act as one device.
        splits_tensors: whether tensors may have placements: one was placed, or a mesh of several chips was created.
        default_mesh: mesh of programs that have collectives but no argument with a placement, and number of the chip at
            each position; None until one is set.
        holds_parts: whether tensors may have been replaced by every chip's part (``xs.enable_manual_sharding``).
        chooses_shardings: whether the compiler splits arguments of recorded ops that nobody marked.
        global_mesh: the object that ``xs.set_global_mesh`` set; None until then.
    """

    acts_as_one = False
    splits_tensors = False
    holds_parts = False
    chooses_shardings = False
    default_mesh: tuple[Mesh, tuple[int, ...]] | None = None
    global_mesh: Any = None


STATE = _State()


@contextlib.contextmanager
def fresh_state() -> Iterator[None]:
    """Runs a block as in a process that has neither entered SPMD mode nor created a mesh, and then restores the state.

    A process itself cannot leave SPMD mode, because its tensors are on the one device.
    """
    before = dict(vars(STATE))
    vars(STATE).clear()
    try:
        with variables_for_now(XLA_USE_SPMD=""):
            yield
    finally:
        vars(STATE).clear()
        vars(STATE).update(before)


@functools.cache
def _chips_of(system: str) -> int:
    from tt_xla.target import load_target

    return load_target(system).chips


def chip_count() -> int:
    """Returns the number of chips of the selected system."""
    return _chips_of(selected_system())


def device_count() -> int:
    """Returns the number of devices of PyTorch: that of the system's chips, or 1 in SPMD mode."""
    return 1 if STATE.acts_as_one else chip_count()


@functools.cache
def device(chip: int = 0) -> torch.device:
    """Returns the device of a chip."""
    return torch.device(DEVICE_TYPE, chip)


def own(requested: torch.device) -> torch.device:
    """Returns the device that stands for one of the type ``xla``, and any other device as it is."""
    return device(_CURRENT.chip if requested.index is None else requested.index) if requested.type == XLA else requested


def current() -> int:
    """Returns the chip that ``tt`` without a number names in this thread."""
    return _CURRENT.chip


def set_current(chip: int) -> None:
    """Selects the chip that ``tt`` without a number names in this thread."""
    _CURRENT.chip = chip


def chip_of(requested: torch.device | None) -> int:
    """Returns the number of the chip behind a device; the current one for None and for a device without a number.

    Raises:
        RuntimeError: the device is ``tt`` with a number that the system does not have.
    """
    index = None if requested is None or requested.type != DEVICE_TYPE else requested.index
    if index is None:
        return _CURRENT.chip
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
    if STATE.acts_as_one and index < chip_count():
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

_GENERATORS: dict[int, torch.Generator] = {}
"""Generators of all chips but the first, which has PyTorch's default one."""


_seed: int | None = None
"""Seed of chips that draw their first random number; None until one is set."""


def generator(chip: int) -> torch.Generator:
    """Returns the generator of a chip, a CPU generator. The first chip shares the CPU's."""
    if chip == 0:
        return torch.default_generator
    if chip not in _GENERATORS:
        _GENERATORS[chip] = torch.Generator("cpu")
        if _seed is not None:
            _GENERATORS[chip].manual_seed(_seed)
    return _GENERATORS[chip]


def is_replica() -> bool:
    """Returns whether this thread is a replica."""
    return _CURRENT.replica is not None


def set_replica(chip: int | None) -> None:
    """Says that this thread is the replica on a chip, or none."""
    _CURRENT.replica = chip


def seed_all(seed: int) -> None:
    """Seeds the generators of all chips; in a replica, that of its chip."""
    global _seed
    if _CURRENT.replica is not None:
        with drawing_on(_CURRENT.replica):
            torch.default_generator.manual_seed(seed)
        return
    _seed = seed
    torch.default_generator.manual_seed(seed)
    for own in _GENERATORS.values():
        own.manual_seed(seed)


_DRAWING = Lock()
"""Held while random numbers are drawn, because the threads share PyTorch's one default generator."""


@contextlib.contextmanager
def drawing_on(chip: int) -> Iterator[None]:
    """Makes PyTorch's default generator continue a chip's sequence of random numbers in the block."""
    with _DRAWING:
        if chip == _CURRENT.drawing:
            yield
            return
        default, own = torch.default_generator, generator(chip)
        before = default.get_state()
        outer, _CURRENT.drawing = _CURRENT.drawing, chip
        default.set_state(own.get_state())
        try:
            yield
        finally:
            own.set_state(default.get_state())
            default.set_state(before)
            _CURRENT.drawing = outer
