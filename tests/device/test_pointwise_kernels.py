"""Functions of hand-written TT-NN at a few points each, with the results of Python's own functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import find

pytestmark = pytest.mark.quick

Tensor = torch.Tensor
POINTS = (-3.25, -0.625, 0.0, 0.375, 2.5)
POSITIVE = (1.125, 1.5, 2.75, 7.0)
BETWEEN = (-0.75, -0.125, 0.5, 0.875)


def call(op: str, *operands: Any, **attributes: Any) -> Any:
    return find(f"ttnn.{op}").function(Context(f"ttnn.{op}", "silicon", {}, ()), *operands, **attributes)


def close(actual: Tensor, expected: list[float]) -> None:
    torch.testing.assert_close(actual.double(), torch.tensor(expected, dtype=torch.float64), rtol=3e-6, atol=1e-6)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def digamma(x: float) -> float:
    """Differences of the logarithm of the gamma function."""
    return (math.lgamma(x + 1e-4) - math.lgamma(x - 1e-4)) / 2e-4


def bessel(order: int) -> Callable[[float], float]:
    """Sums the series of a modified Bessel function."""
    return lambda x: sum((x / 2) ** (2 * k + order) / math.factorial(k) / math.factorial(k + order) for k in range(40))


def softplus(x: float, beta: float = 1.0, limit: float = 20.0) -> float:
    return x if x * beta > limit else math.log1p(math.exp(beta * x)) / beta


def normal(x: float) -> float:
    """Inverts the error function by halving."""
    low, high = -6.0, 6.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < x else (low, middle)
    return low


@pytest.mark.parametrize(
    ("op", "params", "points", "expected"),
    [
        ("acosh", (), POSITIVE, math.acosh),
        ("celu", (0.5,), POINTS, lambda x: x if x > 0 else 0.5 * math.expm1(x / 0.5)),
        ("cosh", (), POINTS, math.cosh),
        ("deg2rad", (), POINTS, math.radians),
        ("digamma", (), POSITIVE, digamma),
        ("elu", (0.5,), POINTS, lambda x: x if x > 0 else 0.5 * math.expm1(x)),
        ("erfinv", (), BETWEEN, normal),
        ("exp2", (), POINTS, lambda x: 2**x),
        ("frac", (), POINTS, lambda x: math.modf(x)[0]),
        ("gelu_tanh", (), POINTS, lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
        ("hardmish", (), POINTS, lambda x: x * min(max(x / 2 + 1, 0), 1)),
        ("hardshrink", (0.5,), POINTS, lambda x: x if abs(x) > 0.5 else 0),
        ("hardswish", (), POINTS, lambda x: x * min(max(x + 3, 0), 6) / 6),
        ("hardtanh", (-0.5, 2.0), POINTS, lambda x: min(max(x, -0.5), 2)),
        ("heaviside", (0.25,), POINTS, lambda x: 0.25 if x == 0 else float(x > 0)),
        ("i0", (), POINTS, bessel(0)),
        ("i1", (), POINTS, bessel(1)),
        ("isinf", (), (-math.inf, math.nan, math.inf, 1.0), math.isinf),
        ("isnan", (), (-math.inf, math.nan, math.inf, 1.0), math.isnan),
        ("isneginf", (), (-math.inf, math.nan, math.inf, 1.0), lambda x: x == -math.inf),
        ("isposinf", (), (-math.inf, math.nan, math.inf, 1.0), lambda x: x == math.inf),
        ("lgamma", (), POSITIVE, math.lgamma),
        ("log10", (), POSITIVE, math.log10),
        ("log10_approx", (), POSITIVE, math.log10),
        ("log2", (), POSITIVE, math.log2),
        ("log2_approx", (), POSITIVE, math.log2),
        ("log_sigmoid", (), POINTS, lambda x: math.log(sigmoid(x))),
        ("logit", (), (0.125, 0.75), lambda x: math.log(x / (1 - x))),
        ("logit", (0.25,), (0.0, 0.5, 1.0), lambda x: {0.0: -math.log(3), 0.5: 0, 1.0: math.log(3)}[x]),
        ("polygamma", (1.0,), (1.0, 2.0), lambda x: math.pi**2 / 6 - (x - 1)),
        ("rad2deg", (), POINTS, math.degrees),
        ("rdiv", (3.0,), (-2.0, 0.5), lambda x: 3 / x),
        ("rdiv", (3.0, "floor"), (-2.0, 0.75), lambda x: 3 // x),
        ("round_decimals", (1,), (-0.26, 0.34, 1.0), lambda x: round(x, 1)),
        ("rpow", (3.0,), POINTS, lambda x: 3**x),
        ("selu", (2.0, 0.5), POINTS, lambda x: 2 * x if x > 0 else math.expm1(x)),
        ("signbit", (), (-2.0, -0.0, 0.0, 1.0), lambda x: math.copysign(1, x) < 0),
        ("sinh", (), POINTS, math.sinh),
        ("softcap", (2.0,), POINTS, lambda x: 2 * math.tanh(x / 2)),
        ("softplus", (), POINTS, softplus),
        ("softplus", (2.0, 1.0), POINTS, lambda x: softplus(x, 2, 1)),
        ("softshrink", (0.5,), POINTS, lambda x: math.copysign(max(abs(x) - 0.5, 0), x)),
        ("softsign", (), POINTS, lambda x: x / (1 + abs(x))),
        ("tanhshrink", (), POINTS, lambda x: x - math.tanh(x)),
        ("threshold", (0.375, 9.0), POINTS, lambda x: x if x > 0.375 else 9),
        ("trunc", (), POINTS, math.trunc),
        ("xielu", (0.75, 0.25), POINTS, lambda x: 0.75 * x * x + x / 2 if x > 0 else (math.expm1(x) - x) / 4 + x / 2),
        ("eqz", (), POINTS, lambda x: x == 0),
        ("gez", (), POINTS, lambda x: x >= 0),
        ("gtz", (), POINTS, lambda x: x > 0),
        ("lez", (), POINTS, lambda x: x <= 0),
        ("ltz", (), POINTS, lambda x: x < 0),
        ("nez", (), POINTS, lambda x: x != 0),
        ("fill", (1.5,), POINTS, lambda x: 1.5),
        ("relu_max", (2.0,), POINTS, lambda x: min(max(x, 0), 2)),
        ("relu_min", (0.25,), POINTS, lambda x: max(x, 0.25)),
        ("square", (), POINTS, lambda x: x * x),
        ("erf_approx", (), POINTS, math.erf),
        ("exp_approx", (), POINTS, math.exp),
        ("log_approx", (), POSITIVE, math.log),
        ("mish_approx", (), POINTS, lambda x: x * math.tanh(softplus(x))),
        ("rsqrt_approx", (), POSITIVE, lambda x: x**-0.5),
        ("sigmoid_approx", (), POINTS, sigmoid),
        ("sqrt_approx", (), POSITIVE, math.sqrt),
        ("tanh_approx", (), POINTS, math.tanh),
    ],
)
def test_functions_of_one_number(op: str, params: Any, points: tuple[float, ...], expected: Any) -> None:
    x = torch.tensor(points)
    exact = [float(expected(point)) for point in points]
    tolerance = 1e-5 if op in ("digamma", "erfinv") else 0.0
    if tolerance:
        torch.testing.assert_close(call(op, x, params), torch.tensor(exact), rtol=tolerance, atol=tolerance)
    else:
        close(call(op, x, params), exact)


@pytest.mark.parametrize(
    ("op", "pairs", "expected"),
    [
        ("div_no_nan", [(3.0, 2.0), (3.0, 0.0), (-1.0, -4.0)], [1.5, 0.0, 0.25]),
        ("floor_div", [(7.0, 2.0), (-7.0, 2.0)], [3.0, -4.0]),
        ("hypot", [(3.0, 4.0), (5.0, -12.0)], [5.0, 13.0]),
        ("ldexp", [(3.0, 2.0), (5.0, -1.0)], [12.0, 2.5]),
        ("logaddexp", [(1.0, 2.0)], [math.log(math.e + math.e**2)]),
        ("logaddexp2", [(1.0, 2.0)], [math.log2(6)]),
        ("nextafter", [(1.0, 2.0), (1.0, 0.0)], [1 + 2**-23, 1 - 2**-24]),
        ("prelu", [(-2.0, 0.25), (2.0, 0.25)], [-0.5, 2.0]),
        ("xlogy", [(2.0, 3.0), (0.0, 0.0)], [2 * math.log(3), 0.0]),
        ("bitwise_right_shift", [(-9, 1), (9, 2)], [-5, 2]),
        ("gcd", [(12, 18), (7, 5)], [6, 1]),
        ("lcm", [(4, 6), (3, 5)], [12, 15]),
        ("modulo", [(7, 3), (-7, 3)], [1, 2]),
        ("modulo", [(7.5, 2.0), (-7.5, 2.0)], [1.5, 0.5]),
        ("squared_difference", [(2**12 + 1, -(2**12))], [2**26 + 2**14 + 1]),
        ("squared_difference", [(1.5, 4.0)], [6.25]),
    ],
)
def test_functions_of_two_numbers(op: str, pairs: Any, expected: Any) -> None:
    lhs, rhs = torch.tensor(pairs).unbind(-1)
    assert call(op, lhs, rhs).is_floating_point() == lhs.is_floating_point()
    close(call(op, lhs, rhs), expected)


def test_functions_of_operands_and_of_the_result() -> None:
    named = {
        "input_tensor_a_activations": [{"op_type": "abs", "params": []}],
        "input_tensor_b_activations": [{"op_type": "square", "params": []}],
        "activations": [{"op_type": "neg", "params": []}],
    }
    assert call("hypot", torch.tensor([-3.0]), torch.tensor([2.0]), **named).tolist() == [-5.0]
    assert call("gcd", torch.tensor([-12]), torch.tensor([18]), activations=named["activations"]).tolist() == [-6]


A, B, C = (torch.tensor(row) for row in ([2.0, -3.0, 0.5], [4.0, 0.25, -1.0], [0.5, 8.0, 2.0]))


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("isclose", [A, A + 0.125, 0.0, 0.125, False], {}, [1, 1, 1]),
        ("isclose", [A, A * 1.25, 0.2, 0.0, False], {}, [1, 1, 1]),
        ("isclose", [A, A * 1.25, 0.1, 0.0, False], {}, [0, 0, 0]),
        ("isclose", [A * math.nan, A * math.nan, 0.0, 0.0, True], {}, [1, 1, 1]),
        ("isclose", [A * math.nan, A * math.nan, 0.0, 0.0, False], {}, [0, 0, 0]),
        ("addcmul", [A, B, C], {}, [4.0, -1.0, -1.5]),
        ("addcmul", [A, B, C, 3.0], {}, [8.0, 3.0, -5.5]),
        ("addcdiv", [A, B, C], {}, [10.0, -2.96875, 0.0]),
        ("addcdiv", [A, B, C, 2.0], {}, [18.0, -2.9375, -0.5]),
        ("lerp", [A, B, C], {}, [3.0, 23.0, -2.5]),
        ("mac", [A, B, C], {}, [8.5, 7.25, 1.5]),
        ("bcast", [A, B, "add"], {}, [6.0, -2.75, -0.5]),
        ("bcast", [A, B, "multiply"], {}, [8.0, -0.75, -0.5]),
        ("bcast", [A, B, "subtract"], {}, [-2.0, -3.25, 1.5]),
        ("tril", [A], {}, [2.0, 0.0, 0.0]),
        ("tril", [A, 1], {}, [2.0, -3.0, 0.0]),
        ("triu", [A], {}, [2.0, -3.0, 0.5]),
        ("triu", [A, 2], {}, [0.0, 0.0, 0.5]),
        ("var", [A, [0], False, True], {}, A.var().item()),
        ("var", [A, [0], True, False, -2.0], {}, [4 * A.var(correction=0).item()]),
        ("var", [A[:1], [0], False, True], {}, 0.0),
        ("std", [A, [0], False, True, -2.0], {}, 2 * A.std().item()),
        ("alt_complex_rotate90", [torch.tensor([1.0, 2.0, 3.0, 4.0])], {}, [-2.0, 1.0, -4.0, 3.0]),
        (
            "snake_beta",
            [A, B, C],
            {},
            [x + math.sin(y * x) ** 2 / z for x, y, z in zip(A.tolist(), B.tolist(), C.tolist(), strict=True)],
        ),
        (
            "situ_glu",
            [A, B, 3.0, 0.5],
            {},
            [
                3 * math.tanh(x / 3) * sigmoid(x) * 0.5 * math.tanh(y / 0.5)
                for x, y in zip(A.tolist(), B.tolist(), strict=True)
            ],
        ),
        (
            "clamped_silu_glu",
            [A, B, 0.75],
            {},
            [0.75 * sigmoid(0.75) * 0.75, -3 * sigmoid(-3) * 0.25, 0.5 * sigmoid(0.5) * -0.75],
        ),
    ],
)
def test_functions_of_several_tensors(op: str, operands: Any, attributes: Any, expected: Any) -> None:
    close(call(op, *operands, **attributes), expected)


def test_random_numbers() -> None:
    """One seed draws the same numbers again; 0 goes on with torch's own generator."""
    assert torch.equal(call("rand", [64], -2.0, 6.0, 5), torch.rand(64, generator=seeded(5)) * 8 - 2)
    assert torch.equal(call("randn", [64], 7), torch.randn(64, generator=seeded(7)))
    drawn = call("uniform", torch.zeros(256), 2.0, 3.0, 4)
    assert torch.equal(drawn, torch.empty(256).uniform_(2, 3, generator=seeded(4)))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        pair = [call("rand", [4]), call("rand", [4])]
        torch.manual_seed(3)
        expected = [torch.rand(4), torch.rand(4)]
        assert all(map(torch.equal, pair, expected))
    chance = torch.linspace(0, 1, 64)
    assert torch.equal(call("bernoulli", chance, 9), (torch.rand(64, generator=seeded(9)) <= chance).float())
    kept = torch.rand(64, generator=seeded(9)) >= 0.375
    assert torch.equal(call("experimental.dropout", chance, 0.375, 2.5, 9), torch.where(kept, chance * 2.5, 0.0))
    meta = chance.to("meta")
    assert call("bernoulli", meta).shape == call("experimental.dropout", meta, 0.5, 1.0, 1).shape == (64,)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn_names(k: int, p: float, temperature: float) -> set[int]:
    """Returns which of the names 10 to 13, of falling probability, are drawn in 200 rows."""
    values = torch.tensor([1.0, 3.0, 2.0, 0.0]).expand(1, 1, 200, 4)
    names = torch.tensor([12, 10, 11, 13]).expand(1, 1, 200, 4)
    settings = (torch.full((200,), each) for each in (float(k), p, temperature))
    result = call("sampling", values, names, *settings, seed=5)
    assert result.shape == (1, 1, 1, 200)
    return set(result.flatten().tolist())


@pytest.mark.parametrize(
    ("k", "p", "temperature", "expected"),
    [
        (1, 1.0, 1.0, {10}),
        (2, 1.0, 1.0, {10, 11}),
        (4, 1.0, 0.25, {10, 11, 12, 13}),
        (4, 1.0, 100.0, {10}),
        (4, 0.0, 1.0, {10}),
        (4, 0.8, 1.0, {10, 11}),
        (4, 0.6, 1.0, {10}),
    ],
)
def test_samples(k: int, p: float, temperature: float, expected: set[int]) -> None:
    assert drawn_names(k, p, temperature) == expected


def test_shapes_of_samples() -> None:
    meta = torch.empty(1, 1, 32, 8, device="meta")
    assert call("sampling", meta, meta, None, None, None).shape == (1, 1, 1, 32)
