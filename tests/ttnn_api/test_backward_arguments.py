"""Gradients of ``ttnn`` for numbers of both signs, at the borders of functions, and with every optional argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.ttnn_api.conftest import Card

pytestmark = pytest.mark.quick

Function = Callable[..., torch.Tensor]

SIGNED: dict[str, Function] = {
    "abs": torch.abs,
    "asinh": torch.asinh,
    "atan": torch.atan,
    "ceil": torch.ceil,
    "celu": F.celu,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "deg2rad": torch.deg2rad,
    "elu": F.elu,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "frac": torch.frac,
    "gelu": F.gelu,
    "hardshrink": F.hardshrink,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "i0": torch.i0,
    "leaky_relu": F.leaky_relu,
    "log_sigmoid": F.logsigmoid,
    "neg": torch.neg,
    "rad2deg": torch.rad2deg,
    "relu": F.relu,
    "relu6": F.relu6,
    "round": torch.round,
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": F.silu,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "softplus": F.softplus,
    "softshrink": F.softshrink,
    "softsign": F.softsign,
    "square": torch.square,
    "tanh": torch.tanh,
    "tanhshrink": F.tanhshrink,
    "trunc": torch.trunc,
}
"""Functions of all numbers."""

WITH_OPTIONS: list[tuple[str, Function, dict[str, Any]]] = [
    ("celu", lambda x: F.celu(x, 0.5), {"alpha": 0.5}),
    ("clamp", lambda x: x.clamp(-1.5, 2.5), {"min": -1.5, "max": 2.5}),
    ("clamp", lambda x: x.clamp(min=-1.5), {"min": -1.5}),
    ("clamp", lambda x: x.clamp(max=2.5), {"max": 2.5}),
    ("clip", lambda x: x.clip(-1.5, 2.5), {"min": -1.5, "max": 2.5}),
    ("elu", lambda x: F.elu(x, 0.5), {"alpha": 0.5}),
    ("hardshrink", lambda x: F.hardshrink(x, 1.5), {"lambd": 1.5}),
    ("hardtanh", lambda x: F.hardtanh(x, -0.5, 1.5), {"min": -0.5, "max": 1.5}),
    ("leaky_relu", lambda x: F.leaky_relu(x, 0.25), {"negative_slope": 0.25}),
    ("rdiv", lambda x: -3.0 / x, {"scalar": -3.0}),
    ("rdiv", lambda x: torch.div(-3.0, x, rounding_mode="floor"), {"scalar": -3.0, "rounding_mode": "floor"}),
    ("softplus", lambda x: F.softplus(x, 2.0, 3.0), {"beta": 2.0, "threshold": 3.0}),
    ("softshrink", lambda x: F.softshrink(x, 1.5), {"lambd": 1.5}),
    ("threshold", lambda x: F.threshold(x, 1.5, -7.0), {"min": 1.5, "max": -7.0}),
    ("div_no_nan", lambda x: x / -4.0, {"scalar": -4.0}),
    ("div_no_nan", lambda x: x * 0.0, {"scalar": 0.0}),
]

POSITIVE: list[tuple[str, Function, dict[str, Any]]] = [
    ("pow", lambda x: x**0.5, {"exponent": 0.5}),
    ("pow", lambda x: x**2.5, {"exponent": 2.5}),
    ("pow", lambda x: x**0.0, {"exponent": 0.0}),
    ("rpow", lambda x: x**2.5, {"exponent": 2.5}),  # TT-NN's gradient is that of pow
    ("rpow", lambda x: x**0.0, {"exponent": 0.0}),
    ("polygamma", lambda x: torch.polygamma(2, x), {"n": 2}),
    ("log2", torch.log2, {}),
    ("acosh", lambda x: torch.acosh(x + 0.0), {}),
    ("multigammaln", lambda x: torch.special.multigammaln(x, 4), {}),
]
"""Functions of numbers above 1.6, where all of them have gradients."""

AT_BORDERS: dict[str, tuple[Function, list[float]]] = {
    "acos": (torch.acos, [-1.0, 1.0, 2.0, -2.0]),
    "asin": (torch.asin, [-1.0, 1.0, 2.0, -2.0]),
    "log": (torch.log, [0.0]),
    "log10": (torch.log10, [0.0]),
    "log1p": (torch.log1p, [-1.0]),
    "log2": (torch.log2, [0.0]),
    "logit": (torch.logit, [0.0]),
    "reciprocal": (torch.reciprocal, [0.0]),
    "rsqrt": (torch.rsqrt, [-1.0, 0.0]),
    "sqrt": (torch.sqrt, [-1.0, 0.0]),
    "erfinv": (torch.erfinv, [-1.0, 1.0, 2.0]),
}
"""Numbers at which gradients are infinite or NaN."""


def drawn(low: float, high: float, seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape or (1, 1, 32, 64), generator=generator) * (high - low) + low


def slopes(function: Function, grad: torch.Tensor, *operands: torch.Tensor) -> list[torch.Tensor]:
    leaves = [each.clone().requires_grad_() for each in operands]
    return list(torch.autograd.grad(function(*leaves), leaves, grad))


def near(result: Any, expected: torch.Tensor) -> None:
    torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-3, equal_nan=True)


def test_of_numbers_of_both_signs(card: Card) -> None:
    grad, x = drawn(-2, 2, 1), drawn(-8, 8, 2)
    for name, function in SIGNED.items():
        (result,) = card(f"{name}_bw", grad, x)
        near(result, slopes(function, grad, x)[0])


@pytest.mark.parametrize(("name", "function", "options"), WITH_OPTIONS)
def test_with_options(card: Card, name: str, function: Function, options: dict[str, Any]) -> None:
    grad, x = drawn(-2, 2, 1), drawn(-4, 4, 2)
    near(card(f"{name}_bw", grad, x, **options)[0], slopes(function, grad, x)[0])


@pytest.mark.parametrize(("name", "function", "options"), POSITIVE)
def test_of_large_numbers(card: Card, name: str, function: Function, options: dict[str, Any]) -> None:
    grad, x = drawn(-2, 2, 1), drawn(1.6, 4, 2)
    near(card(f"{name}_bw", grad, x, **options)[0], slopes(function, grad, x)[0])


@pytest.mark.parametrize("name", AT_BORDERS)
def test_at_borders(card: Card, name: str) -> None:
    function, numbers = AT_BORDERS[name]
    x = torch.tensor([numbers] * 2)
    grad = torch.tensor([[3.0] * len(numbers), [-3.0] * len(numbers)])
    near(card(f"{name}_bw", grad, x)[0], slopes(function, grad, x)[0])


def test_of_an_approximated_gelu(card: Card) -> None:
    grad, x, bias = drawn(-2, 2, 1), drawn(-4, 4, 2), drawn(-1, 1, 3)
    variant = card.ttnn.GeluVariant.Tanh
    expected = slopes(lambda x: F.gelu(x, approximate="tanh"), grad, x)[0]
    near(card("gelu_bw", grad, x, variant=variant)[0], expected)
    assert not torch.equal(expected, slopes(F.gelu, grad, x)[0])
    expected = slopes(lambda x, bias: F.gelu(x + bias, approximate="tanh"), grad, x, bias)
    for result, right in zip(card("bias_gelu_bw", grad, x, bias, variant=variant), expected, strict=True):
        near(result, right)
    (alone,) = card("bias_gelu_bw", grad, x, 0.5)
    near(alone, slopes(lambda x: F.gelu(x + 0.5), grad, x)[0])


ARITHMETIC: dict[str, Function] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_of_arithmetic_with_a_number(card: Card, name: str) -> None:
    grad, x = drawn(-2, 2, 1), drawn(-4, 4, 2)
    expected = slopes(lambda x: ARITHMETIC[name](x, -0.25), grad, x)[0]
    target = card.put(torch.zeros_like(x))
    (result,) = getattr(card.ttnn, f"{name}_bw")(card.put(grad), card.put(x), -0.25, input_grad=target)
    assert result is target
    near(card.back(target), expected)


def test_of_division_by_zero(card: Card) -> None:
    grad, x = torch.tensor([[3.0, -3.0, 0.0]]), torch.ones(1, 3)
    near(card("div_bw", grad, x, 0.0)[0], torch.tensor([[torch.inf, -torch.inf, torch.nan]]))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_of_rounded_quotients(card: Card, mode: str) -> None:
    grad, a, b = drawn(-2, 2, 1), drawn(-4, 4, 2), drawn(1, 4, 3)
    for results in (card("div_bw", grad, a, 3.0, mode), card("div_bw", grad, a, b, rounding_mode=mode)):
        for each in results:
            near(each, torch.zeros_like(grad))
    name, function = ("remainder", torch.remainder) if mode == "floor" else ("fmod", torch.fmod)
    for result, expected in zip(card(f"{name}_bw", grad, a, b), slopes(function, grad, a, b), strict=True):
        near(result, expected)
    near(card(f"{name}_bw", grad, a, 3.0)[0], grad)
    with pytest.raises(RuntimeError, match="Incorrect rounding mode"):
        card("div_bw", grad, a, 3.0, "up")


def test_of_products_whose_operands_are_expanded(card: Card) -> None:
    grad, a, row = drawn(-2, 2, 1, 2, 3, 32, 64), drawn(-4, 4, 2, 2, 3, 32, 64), drawn(-4, 4, 3, 1, 3, 1, 64)
    for result, expected in zip(card("mul_bw", grad, a, row), slopes(torch.mul, grad, a, row), strict=True):
        near(result, expected)
    short = drawn(-4, 4, 3, 32, 64)
    near(card("mul_bw", grad, a, short)[1], slopes(torch.mul, grad, a, short)[1])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("addalpha", lambda a, b: a + -0.75 * b),
        ("subalpha", lambda a, b: a - -0.75 * b),
        ("rsub", lambda a, b: b - a),
        ("concat", lambda a, b: torch.cat([a, b], -1)),
    ],
)
@pytest.mark.parametrize("wanted", [[True, True], [True, False], [False, True]])
def test_of_two_tensors_with_options(card: Card, name: str, function: Function, wanted: list[bool]) -> None:
    options = {"concat": {"dim": -1}, "rsub": {}}.get(name, {"alpha": -0.75})
    a, b = drawn(-4, 4, 2), drawn(-4, 4, 3, 1, 1, 32, 32 if name == "concat" else 64)
    grad = drawn(-2, 2, 1, *function(a, b).shape)
    results = card(f"{name}_bw", grad, a, b, are_required_outputs=wanted, **options)
    assert [each is not None for each in results] == wanted
    for result, expected in zip(results, slopes(function, grad, a, b), strict=True):
        if result is not None:
            near(result, expected)


def test_of_extremes(card: Card) -> None:
    grad, a, b = drawn(-2, 2, 1), drawn(-4, 4, 2), drawn(-4, 4, 3)
    b[..., :8] = a[..., :8]  # each takes half of the gradient where both are equal
    for name, function in (("max", torch.maximum), ("min", torch.minimum)):
        for result, expected in zip(card(f"{name}_bw", grad, a, b), slopes(function, grad, a, b), strict=True):
            near(result, expected)


def test_of_an_angle_and_a_logarithm_of_zero(card: Card) -> None:
    grad, zero = torch.full((1, 2), 3.0), torch.zeros(1, 2)
    assert all(each.isnan().all() for each in card("atan2_bw", grad, zero, zero))
    near(card("xlogy_bw", grad, zero, zero)[0], torch.zeros(1, 2))
    assert card("xlogy_bw", grad, torch.ones(1, 2), -torch.ones(1, 2))[0].isnan().all()


def test_of_three_tensors(card: Card) -> None:
    grad, a, b, c = drawn(-2, 2, 1), drawn(-4, 4, 2), drawn(-4, 4, 3), drawn(1, 4, 4)
    functions: dict[str, Function] = {
        "addcmul": lambda a, b, c: a + -0.75 * b * c,
        "addcdiv": lambda a, b, c: a + -0.75 * b / c,
        "lerp": torch.lerp,
    }
    for name, function in functions.items():
        options = {} if name == "lerp" else {"alpha": -0.75}
        results = card(f"{name}_bw", grad, a, b, c, **options)
        for result, expected in zip(results, slopes(function, grad, a, b, c), strict=True):
            near(result, expected)
    for result, expected in zip(
        card("lerp_bw", grad, a, b, 0.75), slopes(lambda a, b: a.lerp(b, 0.75), grad, a, b), strict=True
    ):
        near(result, expected)
    _, first, second = card("addcdiv_bw", torch.tensor([[3.0, 0.0]]), *torch.ones(2, 1, 2), torch.zeros(1, 2), 1.0)
    near(first, torch.tensor([[torch.inf, torch.nan]]))
    near(second, torch.tensor([[-torch.inf, torch.nan]]))


def test_of_a_choice(card: Card) -> None:
    grad, a, b = drawn(-2, 2, 1), drawn(-4, 4, 2), drawn(-4, 4, 3)
    condition = (drawn(-1, 1, 4) > 0).float()
    expected = slopes(lambda a, b: torch.where(condition > 0, a, b), grad, a, b)
    for wanted in ([True, True], [False, True]):
        results = card("where_bw", grad, condition, a, b, are_required_outputs=wanted)
        assert [each is not None for each in results] == wanted
        near(results[1], expected[1])
    near(card("where_bw", grad, condition, a, b)[0], expected[0])


def test_of_copies(card: Card) -> None:
    grad, x, other = drawn(-2, 2, 1), drawn(-4, 4, 2), drawn(-4, 4, 3)
    near(card("assign_bw", grad, x)[0], grad)
    for result in card("assign_bw", grad, x, other):
        near(result, grad)
    first, second = card("assign_bw", grad, x, other, are_required_outputs=[False, True])
    assert first is None
    near(second, grad)


def test_of_repeats_and_products_along_dimensions(card: Card) -> None:
    one, copies = drawn(0.5, 2, 1, 1, 3, 1, 64), drawn(-2, 2, 2, 2, 3, 32, 64)
    near(card("repeat_bw", copies, one, [2, 1, 32, 1])[0], slopes(lambda x: x.repeat(2, 1, 32, 1), copies, one)[0])
    near(card("repeat_bw", one, one, [1, 1, 1, 1])[0], one)
    near(card("repeat_bw", copies, one, [0, 1, 1, 1])[0], torch.zeros_like(one))
    x = drawn(0.5, 2, 1, 2, 3, 32, 64)
    grad = drawn(-2, 2, 3, 2, 1, 32, 64)
    near(card("prod_bw", grad, x, dim=1)[0], slopes(lambda x: x.prod(1, keepdim=True), grad, x)[0])
    small, one = drawn(0.9, 1.1, 1, 1, 1, 3, 5), drawn(-2, 2, 3, 1, 1, 1, 1)
    near(card("prod_bw", one, small)[0], slopes(lambda x: x.prod().reshape(1, 1, 1, 1), one, small)[0])
