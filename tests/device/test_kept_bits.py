"""Bits of numerics=bit_exact that no simulator has judged stay as they were recorded."""

from __future__ import annotations

import pytest

from tests.device import kept_bits

RECORDED = kept_bits.recorded()


@pytest.mark.parametrize("family", kept_bits.FAMILIES)
def test_the_bits_are_those_that_were_recorded(family: str) -> None:
    lines = {case.name: case.line() for case in kept_bits.FAMILIES[family]()}
    assert lines == {name: RECORDED.get(name) for name in lines}


def test_each_recorded_case_is_computed() -> None:
    names = [case.name for family in kept_bits.FAMILIES.values() for case in family()]
    assert sorted(names) == sorted(RECORDED)
