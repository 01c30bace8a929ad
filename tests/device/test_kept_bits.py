"""Bits of numerics=bit_exact that no simulator has judged stay as they were recorded."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.device import kept_bits

RECORDED = kept_bits.recorded()


@pytest.mark.parametrize("family", kept_bits.FAMILIES)
def test_the_bits_are_those_that_were_recorded(family: str) -> None:
    lines = {case.name: case.line() for case in kept_bits.FAMILIES[family]()}
    assert lines == {name: RECORDED.get(name) for name in lines}


@pytest.mark.parametrize("family", kept_bits.FAMILIES)
def test_strides_of_operands_change_no_bit(family: str) -> None:
    cases = {case.name: case for case in kept_bits.FAMILIES[family]()}
    assert {name: case.line(_apart) for name, case in cases.items()} == {name: RECORDED[name] for name in cases}


def _apart(tensor: Tensor) -> Tensor:
    """Returns an equal tensor whose elements lie two numbers apart, with others between them."""
    return torch.stack([tensor, torch.full_like(tensor, 7)], -1)[..., 0]


def test_each_recorded_case_is_computed() -> None:
    names = [case.name for family in kept_bits.FAMILIES.values() for case in family()]
    assert sorted(names) == sorted(RECORDED)
