"""Elementwise functions of ``ttnn`` beside torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Context, Weighted
from tt_xla.ttnn_api.operation import unrefused

pytestmark = pytest.mark.quick

UNARY: dict[str, tuple[Callable[..., torch.Tensor], dict[str, float]]] = {
    "acosh": (torch.acosh, {}),
    "celu": (F.celu, {"alpha": 0.5}),
    "elu": (F.elu, {"alpha": 0.5}),
    "exp2": (torch.exp2, {}),
    "eqz": (lambda x: (x == 0).float(), {}),
    "fill": (lambda x, fill_value: torch.full_like(x, fill_value), {"fill_value": 3.0}),
    "gtz": (lambda x: (x > 0).float(), {}),
    "hardtanh": (F.hardtanh, {"min_val": -0.5, "max_val": 0.25}),
    "heaviside": (lambda x, value: torch.heaviside(x, torch.tensor(value)), {"value": 0.5}),
    "isnan": (lambda x: x.isnan().float(), {}),
    "log10": (torch.log10, {}),
    "log_sigmoid": (F.logsigmoid, {}),
    "rdiv": (lambda x, value: value / x, {"value": 2.0}),
    "relu_max": (lambda x, upper_limit: x.clamp(0, upper_limit), {"upper_limit": 0.5}),
    "round": (torch.round, {"decimals": 1}),
    "rpow": (lambda x, exponent: exponent**x, {"exponent": 2.0}),
    "selu": (F.selu, {}),
    "signbit": (lambda x: x.signbit().float(), {}),
    "softcap": (lambda x, beta: beta * torch.tanh(x / beta), {"beta": 0.5}),
    "softplus": (F.softplus, {"beta": 2.0, "threshold": 1.0}),
    "square": (torch.square, {}),
    "swish": (F.silu, {}),
    "tanhshrink": (F.tanhshrink, {}),
    "threshold": (F.threshold, {"threshold": 0.5, "value": 7.0}),
    "trunc": (torch.trunc, {}),
}

BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "div_no_nan": lambda a, b: torch.where(b == 0, 0, a / b),
    "floor_div": lambda a, b: torch.floor(a / b),
    "fmod": torch.fmod,
    "hypot": torch.hypot,
    "ldexp": torch.ldexp,
    "logaddexp": torch.logaddexp,
    "remainder": torch.remainder,
    "rsub": torch.rsub,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "xlogy": torch.xlogy,
}


@pytest.fixture
def values() -> torch.Tensor:
    """Returns numbers of both signs, with zero and NaN."""
    x = torch.randn(40, 33, generator=torch.Generator().manual_seed(1))
    x[0, :2] = torch.tensor([0.0, float("nan")])
    return x


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str, values: torch.Tensor, ttnn: Any, device: Any) -> None:
    function, options = UNARY[name]
    t = ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device)
    with unrefused():  # softcap takes bfloat16 alone
        result = ttnn.to_torch(getattr(ttnn, name)(t, **options))
    torch.testing.assert_close(result, function(values, **options), equal_nan=True)


def test_functions_without_a_measurement_have_the_time_of_a_similar_one(ttnn: Any, device: Any) -> None:
    x = ttnn.from_torch(torch.rand(256, 256), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

    def predicted(function: Any) -> float:
        before = device.predicted_us
        function(x)
        return device.predicted_us - before

    assert predicted(ttnn.cosh) == predicted(ttnn.exp)
    assert predicted(lambda tensor: ttnn.softcap(tensor, 2.0)) == predicted(ttnn.tanh)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str, values: torch.Tensor, ttnn: Any, device: Any) -> None:
    row = torch.rand(1, 33, generator=torch.Generator().manual_seed(2)) + 0.5
    a, b = (ttnn.from_torch(each, layout=ttnn.TILE_LAYOUT, device=device) for each in (values, row))
    result = ttnn.to_torch(getattr(ttnn, name)(a, b))
    torch.testing.assert_close(result, BINARY[name](values, row), equal_nan=True)


def test_functions_of_three_tensors(values: torch.Tensor, ttnn: Any, device: Any) -> None:
    t = ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device)
    pairs = [
        (ttnn.addcmul(t, t, t, value=2.0), values + 2 * values * values),
        (ttnn.addcdiv(t, t, t, value=0.5), values + 0.5 * values / values),
        (ttnn.mac(t, t, 1.0), values * values + 1),
        (ttnn.lerp(t, t, 0.25), values),
    ]
    for result, expected in pairs:
        torch.testing.assert_close(ttnn.to_torch(result), expected, equal_nan=True)


def test_functions_that_change_their_operand(ttnn: Any, device: Any) -> None:
    x = torch.randn(32, 32)
    t = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, device=device)
    address = t.buffer_address()
    assert ttnn.multiply_(ttnn.add_(t, 1.0), t) is t
    assert t.buffer_address() == address
    torch.testing.assert_close(ttnn.to_torch(t), (x + 1) ** 2)


def test_parts_of_a_tensor(ttnn: Any, device: Any) -> None:
    x = torch.randn(64, 96)
    t = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, device=device)
    for parts, expected in ((ttnn.split(t, 40, dim=1), x.split(40, 1)), (ttnn.chunk(t, 3, 1), x.chunk(3, 1))):
        assert all(torch.equal(ttnn.to_torch(a), b) for a, b in zip(parts, expected, strict=True))
    assert torch.equal(ttnn.to_torch(ttnn.stack([t, t], -1)), torch.stack([x, x], -1))
    assert torch.equal(ttnn.to_torch(ttnn.triu(t, diagonal=1)), x.triu(1))
    torch.testing.assert_close(ttnn.to_torch(ttnn.std(t, dim=1)), x.std(1))
    torch.testing.assert_close(ttnn.to_torch(ttnn.swiglu(t, -1)), x[:, :48] * F.silu(x[:, 48:]))
    rows = ttnn.untilize(t)
    assert (rows.layout, ttnn.tilize(rows).layout) == (ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT)


def test_variants_of_gelu(ttnn: Any, device: Any) -> None:
    x = torch.full((32, 32), 0.75)
    t = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, device=device)
    exact, coarse = F.gelu(x)[0, 0].item(), 0.58502197265625
    fast = ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, True)
    zero = ttnn.from_torch(torch.zeros(32, 32), layout=ttnn.TILE_LAYOUT, device=device)
    results = {
        ttnn.gelu(t): exact,
        ttnn.gelu(t, fast_and_approximate_mode=True): coarse,
        ttnn.gelu(t, variant=ttnn.GeluVariant.FastLut): coarse,
        ttnn.gelu(t, variant=ttnn.GeluVariant.Accurate): exact,
        ttnn.add(t, zero, activations=[fast]): coarse,
        ttnn.add(t, zero, activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, False)]): exact,
    }
    for result, expected in results.items():
        assert ttnn.to_torch(result)[0, 0].item() == pytest.approx(expected, rel=1e-6)


def test_composed_functions(ttnn: Any, device: Any) -> None:
    x, y = torch.rand(32, 64) + 2, torch.rand(32, 64)
    a, b = (ttnn.from_torch(each, layout=ttnn.TILE_LAYOUT, device=device) for each in (x, y))
    pairs = [
        (ttnn.addalpha(a, b, 3.0), x + 3 * y),
        (ttnn.bias_gelu(a, b), F.gelu(x + y)),
        (ttnn.polyval(a, [1.0, 2.0, 3.0]), x * x + 2 * x + 3),
        (ttnn.multigammaln(a), torch.special.multigammaln(x, 4)),
        (ttnn.polygamma(a, 2), torch.special.polygamma(2, x)),
        (ttnn.unary_chain(a, [ttnn.UnaryOpType.SQUARE, (ttnn.UnaryOpType.ADD_UNARY_SFPU, 1.0)]), x * x + 1),
        (ttnn.bcast(a, b[:, :1], ttnn.BcastOpMath.SUB, ttnn.BcastOpDim.W), x - y[:, :1]),
        (ttnn.mse_loss(a, b, reduction=ttnn.LossReductionMode.MEAN), F.mse_loss(x, y)),
        (ttnn.l1_loss(a, b), (x - y).abs()),
        (ttnn.situ_glu(a, b, 2.0, 3.0), 2 * torch.tanh(x / 2) * x.sigmoid() * 3 * torch.tanh(y / 3)),
        (ttnn.rsub_(a, b), y - x),
    ]
    for result, expected in pairs:
        torch.testing.assert_close(ttnn.to_torch(result), expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(ttnn.to_torch(a), y - x)


def test_functions_of_integers(ttnn: Any, device: Any) -> None:
    x, y = torch.arange(1, 65, dtype=torch.int32).reshape(2, 32), torch.full((2, 32), 6, dtype=torch.int32)
    a, b = (ttnn.from_torch(each, layout=ttnn.TILE_LAYOUT, device=device) for each in (x, y))
    for name, function in (("gcd", torch.gcd), ("lcm", torch.lcm), ("bitwise_left_shift", torch.bitwise_left_shift)):
        assert torch.equal(ttnn.to_torch(getattr(ttnn, name)(a, b)), function(x, y))
    assert torch.equal(ttnn.to_torch(ttnn.bitwise_right_shift(ttnn.neg(a), 2)), -x >> 2)


@pytest.mark.parametrize("numerics", ["silicon", "bit_exact"])
def test_a_quotient_of_integers_keeps_its_fraction(numerics: str) -> None:
    """The expected numbers are those of Tenstorrent's functional simulator."""
    spec = TensorSpec((1, 4), TensorLayout.of((1, 4), DataType.SI32))
    result = TensorSpec((1, 4), TensorLayout.of((1, 4), DataType.F32))
    call = bind(Context("ttnn.divide", numerics, {"lhs": spec, "rhs": spec}, (result,)), {})
    assert not isinstance(call, Weighted)
    quotients = call(torch.tensor([[-6, 51, -94, 89]]), torch.tensor([[25, 4, 13, 3]]))
    assert quotients.tolist() == torch.tensor([[-0.24, 12.75, -7.230769, 29.666666]]).tolist()
