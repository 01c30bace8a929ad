"""Compares the emulated card with TT-NN: tests of the harness, and its measurements if a simulator is named."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import torch

from conformance import differential
from conformance.differential import Case, cases, deviation, models

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn

ALL = [*cases(), *models()]
PRODUCTS = (*differential.PRODUCTS, "softmax", "layer_norm", "sum", "mean", "cumsum")

NO_SIMULATOR = pytest.mark.skip(reason="TT_METAL_SIMULATOR names no simulator of a chip to compare with")
MEASURED = ALL if os.environ.get("TT_METAL_SIMULATOR") else [pytest.param(None, marks=NO_SIMULATOR)]


def by_name(*names: str, dtype: str = "float32") -> list[Case]:
    return [case for case in ALL if case.name in names and case.dtype == dtype]


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_RUNTIME", "ttnn")


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("case", MEASURED, ids=lambda case: case.label if case else "all")
def test_numbers_are_those_of_the_chip(case: Case) -> None:
    emulated, on_ttnn = differential.run(case)
    for one, other in zip(emulated, on_ttnn, strict=True):
        distance = deviation(one, other)
        if case.name.startswith("model"):
            assert distance.pcc > 0.99
        elif case.name in PRODUCTS:
            assert distance.pcc > 0.9999
            if case.dtype != "float32":
                assert distance.beyond_one <= 0.001
        elif distance.largest > 1:  # units in the last place, which only float32 may exceed
            assert case.dtype == "float32"
            assert distance.pcc > 0.9999


def test_there_are_sixty_ops_in_two_types_and_shapes() -> None:
    ops = {case.name for case in cases()}
    assert len(ops) >= 60
    assert {case.dtype for case in cases()} == {"bfloat16", "float32", "int32"}
    assert len({case.label for case in ALL}) == len(ALL)
    assert {case.name for case in ALL if len({other.shapes[0] for other in ALL if other.name == case.name}) > 1} >= {
        *differential.UNARY,
        *differential.BINARY,
    }


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("case", by_name("add", "multiply", "tanh", "exp", "matmul"), ids=lambda case: case.label)
def test_what_another_runtime_computes_alike_lies_near(case: Case) -> None:
    (emulated,), (on_ttnn,) = differential.run(case)
    assert not torch.equal(on_ttnn, torch.zeros_like(on_ttnn))
    assert deviation(emulated, on_ttnn).pcc > 0.99999
    if case.name in ("add", "multiply"):
        assert deviation(emulated, on_ttnn).largest <= 1


def test_what_it_computes_otherwise_is_found(stand_in: StandIn) -> None:
    (case, *_) = by_name("tan")
    assert "TT-NN refused" not in differential.row(case, compare=True)
    stand_in.tan.write_text("refuse")
    assert "refused: TT-NN refused program 'tan'" in differential.row(case, compare=True)


@pytest.mark.usefixtures("mock_runtime")
@pytest.mark.parametrize("name", ["gelu", "argmax", "batched matmul", "convolution", "pad", "model: decoder layer"])
def test_ttnn_takes_the_cases(name: str) -> None:
    for case in (*by_name(name), *by_name(name, dtype="bfloat16")):
        assert differential.row(case, compare=False) == f"| {case.label} | accepted ||||"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_distances_count_the_values_between(dtype: torch.dtype) -> None:
    values = torch.tensor([1.0, -1.0, 0.0, 2.0], dtype=dtype)
    step = torch.finfo(dtype).eps
    other = torch.tensor([1.0 + 2 * step, -1.0 - step, -0.0, 2.0], dtype=dtype)
    distance = deviation(values, other)
    assert (distance.largest, distance.mean, distance.beyond_one) == (2, 0.75, 0.25)
    assert deviation(values, values).pcc == 1.0
    tiny = torch.tensor([torch.finfo(dtype).smallest_normal * step], dtype=dtype)
    assert deviation(tiny, -tiny).largest == 2
    assert deviation(torch.tensor([3, 4]), torch.tensor([3, 9])).largest == 5
