"""Elementwise functions that write to a tensor that exists, and that put their results into a memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.ttnn_draw_families import families
from tt_xla.ttnn_api import signatures

ARGUMENTS = {
    "unary": "a",
    "unary_number": "an",
    "binary": "ab",
    "binary_typed": "ab",
    "binary_tensors": "ab",
    "ternary": "abc",
    "where": "abc",
    "scaled": "abn",
}
"""Tensors a, b and c, and a number n, that functions take whose arguments are drawn in a way."""
FUNCTIONS = {
    name: ARGUMENTS[drawer.__name__]
    for name, drawer in sorted(families()["pointwise"].items())
    if drawer.__name__ in ARGUMENTS and "output_tensor" in signatures.lines()[f"ttnn.{name}"][0]
}
"""Arguments of each function that takes an ``output_tensor``, by its name."""


@pytest.fixture
def arguments(ttnn: Any, device: Any) -> Callable[[str], list[Any]]:
    generator = torch.Generator().manual_seed(0)
    values: dict[str, Any] = {"n": 2.0}
    for name in "abc":
        tensor = torch.rand(2, 64, 96, generator=generator) * 0.8 + 0.1
        values[name] = ttnn.from_torch(tensor, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    return lambda names: [values[name] for name in names]


def numbers(ttnn: Any, tensor: Any) -> torch.Tensor:
    return ttnn.to_torch(tensor).float().nan_to_num(nan=12345.0)


def test_results_go_into_the_tensor_that_is_given(ttnn: Any, arguments: Callable[[str], list[Any]]) -> None:
    assert len(FUNCTIONS) > 100
    for name, names in FUNCTIONS.items():
        given, function = arguments(names), getattr(ttnn, name)
        expected = function(*given)
        before = [numbers(ttnn, each) for each in given if isinstance(each, ttnn.Tensor)]
        output = ttnn.zeros_like(expected)
        assert function(*given, output_tensor=output) is output, name
        assert torch.equal(numbers(ttnn, output), numbers(ttnn, expected)), name
        after = [numbers(ttnn, each) for each in given if isinstance(each, ttnn.Tensor)]
        assert all(map(torch.equal, before, after)), name


def test_results_go_into_the_memory_that_is_given(ttnn: Any, arguments: Callable[[str], list[Any]]) -> None:
    for name, names in FUNCTIONS.items():
        if "memory_config" in signatures.lines()[f"ttnn.{name}"][0]:
            function, given = getattr(ttnn, name), arguments(names)
            expected = function(*given)
            result = function(*given, memory_config=ttnn.L1_MEMORY_CONFIG)
            kinds = (expected.memory_config().buffer_type, result.memory_config().buffer_type)
            assert kinds == (ttnn.BufferType.DRAM, ttnn.BufferType.L1), name
            assert torch.equal(numbers(ttnn, result), numbers(ttnn, expected)), name
