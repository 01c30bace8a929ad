"""Programs of StableHLO made of the idioms that patterns match, with parameters that a guard must notice."""

from __future__ import annotations

import random

from tests.fuzz.cases import Subject
from tests.fuzz.idioms import IDIOMS, built
from tests.fuzz.judge import Module


def draw(random: random.Random) -> Subject:
    """Draws an idiom with its parameters and inputs."""
    one = random.choice(list(IDIOMS.values()))
    special = one.special and random.random() < 0.2
    source, inputs = built(random, one, special=special)
    return Module(source, inputs, special=special)
