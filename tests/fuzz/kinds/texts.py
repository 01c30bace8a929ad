"""Programs of TTIR and TTNN text: functions of the file checks, in which each pattern fires, changed a little."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp, TensorType

from tests.fuzz.cases import Generator, NotDrawnError, Subject
from tests.fuzz.texts.changes import mutated
from tests.fuzz.texts.corpus import seeds
from tests.fuzz.texts.judge import LaidOut, Text, seed_of
from tt_xla.compiler.rewriting import body, functions


def draw(random: Generator) -> Subject:
    """Draws a function of a file check, with up to three changes."""
    seed = random.in_turn(seeds())
    module = seed.module()
    if most_elements(module) > (1 << 16 if random.random() < 0.9 else 1 << 19):
        raise NotDrawnError("the function has large tensors")
    source = mutated(random, module, random.choice((0, 1, 1, 2, 2, 3)))
    if not seed.in_ttnn:
        return Text(source, seed_of(random), special=random.random() < 0.25)
    stage = seed.stage if seed.stage and random.random() < 0.5 else ""
    options = seed.options if stage else {"optimization_level": random.choice((0, 1, 2)), "numerics": "exact"}
    return LaidOut(source, seed_of(random), stage, options)


def most_elements(module: ModuleOp) -> int:
    """Returns the number of elements of a module's largest value."""
    types = [value.type for op in module.walk() for value in op.results]
    types += [value.type for function in functions(module) for value in body(function).args]
    return max((math.prod(type_.get_shape()) for type_ in types if isinstance(type_, TensorType)), default=0)
