"""Drawn programs of StableHLO ops and of JAX: what they are drawn from, that they stay the same, what they notice."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import torch

from tests.fuzz import kinds, reference
from tests.fuzz.cases import Case, NotDrawnError
from tests.fuzz.jaxes.functions import MODULES, NOT_IN_EVERY_VERSION, UNUSED, named, public
from tests.fuzz.kinds import ops
from tests.fuzz.stablehlo.builder import Builder
from tests.fuzz.stablehlo.drawers import DRAWERS, draw
from tests.fuzz.stablehlo.follow import program
from tests.fuzz.stablehlo.types import EVERY
from tt_xla.compiler.stablehlo import conversion
from tt_xla.runtime.emulator import registry

reference.set_flags()


def test_each_converter_has_a_drawer() -> None:
    assert ops.missing() == []


def test_each_public_function_of_jax_is_drawn_or_has_a_reason() -> None:
    drawn = named()
    left = [f"{module}.{name}" for module in MODULES for name in public(module)]
    assert sorted(set(left) - drawn - set(UNUSED)) == []
    assert sorted(set(UNUSED) & drawn) == []
    assert sorted(set(UNUSED) - set(left) - NOT_IN_EVERY_VERSION) == []


@pytest.mark.parametrize(("kind", "count"), [("ops", 12), ("expressions", 12), ("jaxes", 3)])
def test_a_program_is_the_same_for_a_state_of_the_generator(kind: str, count: int) -> None:
    drawn = texts(kind, range(count))
    assert drawn == texts(kind, range(count))
    assert len(set(drawn)) > count // 2


def texts(kind: str, numbers: range) -> list[str]:
    found: list[str] = []
    for number in numbers:
        try:
            found.append(kinds.load(kind)(Case(kind, "same", number).generator()).text)
        except NotDrawnError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("name", DRAWERS)
def test_each_drawer_makes_modules_that_are_well_formed(name: str) -> None:
    for number in range(3):
        b = Builder(random.Random(number), hollow=number == 2)
        assert program(b, draw(b, name)).module.operation.verify()


def test_each_element_type_is_drawn() -> None:
    drawn: set[str] = set()
    for number in range(400):
        b = Builder(random.Random(number))
        draw(b, "stablehlo.convert")
        drawn.update(value.element for value in b.values)
    assert set(EVERY) - drawn == set()


def test_a_converter_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = conversion.CONVERTERS["stablehlo.reverse"]

    def first_dimension_only(context: Any, op: Any) -> Any:
        return context[op.operands[0]] if len(op.attributes["dimensions"]) > 1 else right(context, op)

    monkeypatch.setattr(conversion, "CONVERTERS", {**conversion.CONVERTERS, "stablehlo.reverse": first_dimension_only})
    assert noticed("stablehlo.reverse", 12)


def test_a_kernel_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = registry.find("ttnn.floor")
    wrong = dataclasses.replace(right, function=lambda ctx, input: torch.trunc(input))
    monkeypatch.setattr(registry, "kernels", lambda: {**kernels, "ttnn.floor": wrong})
    assert noticed("stablehlo.floor", 12)


kernels = registry.kernels()


def noticed(name: str, count: int) -> bool:
    """Returns whether one of so many programs around an op differs from XLA's."""
    for number in range(count):
        b = Builder(random.Random(number))
        try:
            if any(program(b, draw(b, name)).check()):
                return True
        except NotDrawnError:
            continue
    return False
