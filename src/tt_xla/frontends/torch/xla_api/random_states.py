"""States of random numbers as integers, as ``torch_xla`` has them.

The state of PyTorch's generators has five kilobytes, so a number stands for it: the seed as long as no number was
drawn, and then a digest, whose state is kept.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import chips

_KEPT = 64
"""Number of states that are kept: a script has few states at a time, such as those of its checkpoints."""


class _States(OrderedDict[int, torch.Tensor]):
    """The session's states by their numbers, the latest last."""


def generator_of(device: torch.device | str | None) -> torch.Generator:
    """Returns the generator of a device; None is the current one.

    Raises:
        RuntimeError: the system has no such chip.
    """
    return chips.generator(chips.chip_of(None if device is None else chips.own(torch.device(device))))


def number_of(generator: torch.Generator) -> int:
    """Returns the number that stands for the state of a generator, and keeps the state."""
    state, seed = generator.get_state(), generator.initial_seed()
    if torch.equal(torch.Generator("cpu").manual_seed(seed).get_state(), state):
        return seed
    number = _digest(state)
    states = session.current.part(_States)
    states[number] = state
    states.move_to_end(number)
    while len(states) > _KEPT:
        states.popitem(last=False)
    return number


def restore(generator: torch.Generator, number: int) -> bool:
    """Restores the state that a number stands for, and returns whether it is the number of a state and no seed.

    In a process that has restored the CPU's generator from a checkpoint, as trainers do, that may be the state it is
    in already.
    """
    states = session.current.part(_States)
    if number in states:
        generator.set_state(states[number])
        return True
    return _digest(generator.get_state()) == number


def _digest(state: torch.Tensor) -> int:
    return int.from_bytes(hashlib.sha256(state.numpy().tobytes()).digest()[:8], "little") >> 1  # 63 bits, as seeds have
