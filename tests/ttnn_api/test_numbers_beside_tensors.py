"""Numbers in the place of tensors have the bits that TT-NN 0.81 gives on Tenstorrent's functional simulator."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick

A = (0.0947265625, 3.609375, -2.84375)
B = (-1.90625, -1.609375, 2.515625)

RECORDED: dict[str, tuple[float, float, float]] = {
    "addalpha(a, b, 1.7)": (-3.140625, 0.875, 1.40625),
    "div(a, 1.7)": (0.0556640625, 2.125, -1.671875),
    "div_no_nan(a, 1.7)": (0.055908203125, 2.125, -1.6796875),
    "floor_div(a, 1.7)": (0.0, 2.0, -2.0),
    "fmod(a, 1.7)": (0.0947265625, 0.208984375, -1.140625),
    "full_like(a, 1.7)": (1.6953125, 1.6953125, 1.6953125),
    "lerp(a, b, 0.3)": (-0.50390625, 2.046875, -1.2421875),
    "multiply(a, 1.7)": (0.1611328125, 6.15625, -4.84375),
    "prelu(a, 1.7)": (0.0947265625, 3.609375, -4.8125),
    "remainder(a, 1.7)": (0.0947265625, 0.208984375, 0.5546875),
    "subalpha(a, b, 1.7)": (3.328125, 6.34375, -7.09375),
    "threshold(a, 0.7, 1.7)": (1.6953125, 3.609375, 1.6953125),
    "where(a, 1.7, b)": (1.6953125, 1.6953125, 1.6953125),
}
"""Results of calls on bfloat16."""


@pytest.fixture(autouse=True)
def bit_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", "bit_exact")


def on_device(ttnn: Any, device: Any, values: torch.Tensor, dtype: str = "bfloat16") -> Any:
    return ttnn.from_torch(values.reshape(1, -1), dtype=getattr(ttnn, dtype), layout=ttnn.TILE_LAYOUT, device=device)


@pytest.mark.parametrize("call", RECORDED)
def test_the_bits_are_those_of_the_simulator(call: str, ttnn: Any, device: Any) -> None:
    operands = {name: on_device(ttnn, device, torch.tensor(each)) for name, each in (("a", A), ("b", B))}
    result = eval(f"ttnn.{call}", {"ttnn": ttnn, **operands})
    assert ttnn.to_torch(result).flatten().tolist() == list(RECORDED[call])


@pytest.mark.parametrize(("rounding", "expected"), [("trunc", [-3.0, 2.0]), ("floor", [-4.0, 2.0])])
def test_a_quotient_is_rounded_to_a_whole_number(rounding: str, expected: list[float], ttnn: Any, device: Any) -> None:
    a, b = (on_device(ttnn, device, torch.tensor(each)) for each in ((-7.0, 5.0), (2.0, 2.0)))
    assert ttnn.to_torch(ttnn.div(a, b, rounding_mode=rounding)).flatten().tolist() == expected


@pytest.mark.parametrize(
    "call", ["div_no_nan(a, b)", "div_no_nan(a, 3)", "div_no_nan(a, 0)", "floor_div(a, b)", "isclose(a, b)"]
)
def test_quotients_of_integers_are_float32(call: str, ttnn: Any, device: Any) -> None:
    a, b = (on_device(ttnn, device, torch.tensor(each), "int32") for each in ([7, -7], [2, 2]))
    assert eval(f"ttnn.{call}", {"ttnn": ttnn, "a": a, "b": b}).dtype == ttnn.float32


def test_a_multiple_is_one_operation(ttnn: Any, device: Any) -> None:
    """TT-NN multiplies the second operand on the way into the addition."""
    a, b = (on_device(ttnn, device, torch.tensor(each)) for each in (A, B))
    start = device.predicted_us
    ttnn.addalpha(a, b, 2.0)
    of_one = device.predicted_us - start
    ttnn.add(a, ttnn.multiply(b, 2.0))
    assert of_one < 0.75 * (device.predicted_us - start - of_one)
