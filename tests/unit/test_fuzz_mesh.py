"""Tests of the generator's programs for several chips: what they draw, and that a fault in the localiser is noticed."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

import pytest

from tests.fuzz.annotations import PLACED
from tests.fuzz.cases import Case, NotDrawnError
from tests.fuzz.kinds import manual, sharded
from tests.fuzz.steps import DRAWERS, EXCHANGES, UNREACHED
from tt_xla.compiler.sharding import rules
from tt_xla.compiler.sharding.builder import Builder
from tt_xla.compiler.sharding.context import RULES
from tt_xla.errors import UnsupportedOpError

REGIONS = {"sdy.manual_computation"}
"""Ops that every program of the kind ``manual`` has."""


def test_every_sharding_rule_has_a_drawer_or_a_reason() -> None:
    assert rules.FAMILIES
    drawn = collections.Counter([*DRAWERS, *EXCHANGES, *PLACED, *REGIONS])
    assert {name for name, count in drawn.items() if count > 1} == set()
    assert set(RULES) - set(drawn) == set(UNREACHED)
    assert set(drawn) - set(RULES) == set()


@pytest.mark.parametrize("kind", [sharded, manual])
def test_a_case_is_the_same_program_each_time(kind) -> None:
    for number in range(4):
        one, other = (_drawn(kind, f"test:{number}") for _ in range(2))
        assert one == other


def _drawn(kind, seed: str) -> str:
    try:
        return kind.draw(Case("mesh", seed.replace(":", "-"), 0).generator()).text
    except NotDrawnError as error:
        return str(error)


def _first_wrong(kind, seed: str, count: int) -> int | None:
    """Returns the number of the first program that is judged wrong, without a comparison of one chip's results."""
    return next((number for number in range(count) if _differs(kind, seed, number)), None)


def _differs(kind, seed: str, number: int) -> bool:
    try:
        subject = kind.draw(Case("mesh", seed, number).generator())
        return any(dataclasses.replace(subject, one_chip=False).check())
    except (NotDrawnError, UnsupportedOpError):
        return False


def _unsummed(build: Builder, value: object, kind: str, groups: list[list[int]]) -> object:
    return value


def _turned(build: Builder, value: object, pairs: Sequence[tuple[int, int]]) -> object:
    return COLLECTIVE_PERMUTE(build, value, [(target, source) for source, target in pairs])


def _reversed(build: Builder, value: object, dim: int, groups: list[list[int]]) -> object:
    return ALL_GATHER(build, value, dim, [group[::-1] for group in groups])


COLLECTIVE_PERMUTE, ALL_GATHER = Builder.collective_permute, Builder.all_gather


@pytest.mark.parametrize(
    ("kind", "method", "fault"),
    [
        (sharded, "all_reduce", _unsummed),
        (sharded, "all_gather", _reversed),
        pytest.param(sharded, "collective_permute", _turned, marks=pytest.mark.nightly),
        (manual, "all_gather", _reversed),
    ],
)
def test_a_fault_in_what_chips_exchange_is_noticed(kind, method, fault, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Builder, method, fault)
        wrong = _first_wrong(kind, method, 60)
    assert wrong is not None
    assert not _differs(kind, method, wrong)
