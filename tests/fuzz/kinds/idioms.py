"""Programs of StableHLO made of the idioms that patterns match, with parameters that a guard must notice."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.fuzz.cases import Difference, Subject
from tests.fuzz.idioms import IDIOMS, built
from tests.fuzz.judge import EXACT_NOISE, Judge, Module, run
from tests.fuzz.texts.judge import in_exact_kernels, is_coarse


class Rewritten(Module):
    """A program whose approximate rewritings of float32 are judged by exact kernels too, which show them sharper."""

    def check(self) -> Iterator[Difference]:
        yield from super().check()
        if self.special or "bf16" in self.source:  # weights that are joined are rounded to bfloat16
            return
        for level in (0, 2):
            program = in_exact_kernels(self.compiled(optimization_level=level))
            if is_coarse(program):
                return
            results = run(program, self.inputs)
            name = f"rewritten at level {level}, in exact kernels"
            yield from Judge(self).compare(name, results, self.expected, None, EXACT_NOISE)


def draw(random: random.Random) -> Subject:
    """Draws an idiom with its parameters and inputs."""
    one = random.choice(list(IDIOMS.values()))
    special = one.special and random.random() < 0.2
    source, inputs = built(random, one, special=special)
    return Rewritten(source, inputs, special=special)
