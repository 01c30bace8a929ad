"""Programs around one op that the compiler converts: each converter, converter of empty operands and composite."""

from __future__ import annotations

from tests.fuzz.cases import Generator
from tests.fuzz.judge import Module
from tests.fuzz.stablehlo import composites, control, elementwise, indexing, structure, windows  # noqa: F401
from tests.fuzz.stablehlo.builder import Builder
from tests.fuzz.stablehlo.drawers import DRAWERS
from tests.fuzz.stablehlo.follow import used
from tt_xla.compiler.stablehlo import importer  # noqa: F401
from tt_xla.compiler.stablehlo.composites import COMPOSITES
from tt_xla.compiler.stablehlo.context import CONVERTERS, EMPTY_OPERAND_CONVERTERS

EMPTY = "empty:"
"""Before the name of an op that is drawn with an operand without elements."""


def names() -> list[str]:
    """Returns what programs are drawn around."""
    return [*CONVERTERS, *(f"{EMPTY}{name}" for name in EMPTY_OPERAND_CONVERTERS), *COMPOSITES]


def missing() -> list[str]:
    """Returns the entries of the registries that have no drawer, and the drawers of none."""
    drawn = {name.removeprefix(EMPTY) for name in names()}
    return sorted(drawn ^ set(DRAWERS))


def draw(random: Generator) -> Module:
    """Draws a program around an entry of the registries; each entry is equally likely."""
    name = random.in_turn(names())
    builder = Builder(random, special=random.random() < 0.3, hollow=name.startswith(EMPTY))
    return used(builder, name.removeprefix(EMPTY))
