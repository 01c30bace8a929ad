"""Tests of 64-bit counters that become 32-bit ones before they are split over chips."""

from __future__ import annotations

import pytest

from tt_xla.compiler import parse_module
from tt_xla.compiler.sharding.counters import narrow_counters
from tt_xla.compiler.stablehlo.signature import entry_function

POSITIONS = """
  %i = stablehlo.iota dim = 0 : tensor<8x4xui64>
  %n = stablehlo.constant dense<{stride}> : tensor<8x4xui64>
  %m = stablehlo.multiply %i, %n : tensor<8x4xui64>
  %j = stablehlo.iota dim = 1 : tensor<8x4xui64>
  %p = stablehlo.add %m, %j : tensor<8x4xui64>
  %s = stablehlo.constant dense<{shift}> : tensor<8x4xui64>
  %h = stablehlo.shift_right_logical %p, %s : tensor<8x4xui64>
  %low = stablehlo.convert %p : (tensor<8x4xui64>) -> tensor<8x4xui32>
  %high = stablehlo.convert %h : (tensor<8x4xui64>) -> tensor<8x4x{to}>
  return %low, %high : tensor<8x4xui32>, tensor<8x4x{to}>
"""


def narrowed(stride: int = 4, shift: int = 32, to: str = "ui32") -> str:
    body = POSITIONS.format(stride=stride, shift=shift, to=to)
    results = f"tensor<8x4xui32>, tensor<8x4x{to}>"
    module = parse_module(f"module {{ func.func public @main() -> ({results}) {{ {body} }} }}")
    with module.context:
        function = entry_function(module)
        narrow_counters(function)
        module.operation.verify()
    return str(module)


def test_positions_are_counted_in_32_bits() -> None:
    text = narrowed()
    assert "64" not in text
    assert text.count("stablehlo.iota") == 2
    assert "shift_right_logical" not in text  # the upper halves are zeros


def test_a_shift_within_32_bits_stays() -> None:
    text = narrowed(shift=3)
    assert "64" not in text
    assert "stablehlo.shift_right_logical" in text


@pytest.mark.parametrize(
    ("stride", "shift", "to"), [(2**30, 32, "ui32"), (4, 32, "ui64"), (4, 32, "f64"), (4, 64, "ui32")]
)
def test_other_counters_stay(stride: int, shift: int, to: str) -> None:
    """Positions of 7 * 2^30 do not fit, nor do results of 64 bits, and nothing is known of a shift by all bits."""
    assert "tensor<8x4xui64>" in narrowed(stride, shift, to)
