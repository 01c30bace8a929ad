"""Gradients of ``ttnn`` beside torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.quick

UNARY: dict[str, Callable[..., torch.Tensor]] = {
    "abs": torch.abs,
    "acos": torch.acos,
    "asin": torch.asin,
    "atanh": torch.atanh,
    "cosh": torch.cosh,
    "digamma": torch.digamma,
    "erf": torch.erf,
    "erfinv": torch.erfinv,
    "exp2": torch.exp2,
    "frac": torch.frac,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "i0": torch.i0,
    "lgamma": torch.lgamma,
    "log": torch.log,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "log_sigmoid": F.logsigmoid,
    "logit": torch.logit,
    "reciprocal": torch.reciprocal,
    "relu6": F.relu6,
    "round": torch.round,
    "rsqrt": torch.rsqrt,
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "softsign": F.softsign,
    "sqrt": torch.sqrt,
    "tan": torch.tan,
    "tanhshrink": F.tanhshrink,
}

WITH_PARAMETERS: dict[str, tuple[Callable[..., torch.Tensor], dict[str, Any]]] = {
    "celu": (lambda x: F.celu(x, 0.5), {"alpha": 0.5}),
    "clamp": (lambda x: x.clamp(0.3, 0.6), {"min": 0.3, "max": 0.6}),
    "gelu": (F.gelu, {}),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 0.5), {"min": -0.5, "max": 0.5}),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), {"negative_slope": 0.25}),
    "pow": (lambda x: x**3, {"exponent": 3.0}),
    "rdiv": (lambda x: 2.0 / x, {"scalar": 2.0}),
    "softplus": (lambda x: F.softplus(x, 2.0), {"beta": 2.0}),
    "softshrink": (lambda x: F.softshrink(x, 0.4), {"lambd": 0.4}),
}

BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "atan2": torch.atan2,
    "div": torch.div,
    "hypot": torch.hypot,
    "ldexp": torch.ldexp,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "max": torch.maximum,
    "mul": torch.mul,
    "rsub": torch.rsub,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "sub": torch.sub,
    "xlogy": torch.xlogy,
}


def drawn(seed: int) -> torch.Tensor:
    """Returns numbers from 0.1 to 0.9, for which every function has a gradient."""
    return torch.rand(1, 1, 32, 64, generator=torch.Generator().manual_seed(seed)) * 0.8 + 0.1


def expected(function: Callable[..., torch.Tensor], grad: torch.Tensor, *operands: torch.Tensor) -> list[torch.Tensor]:
    leaves = [each.clone().requires_grad_() for each in operands]
    return list(torch.autograd.grad(function(*leaves), leaves, grad))


def put(ttnn: Any, device: Any, tensor: torch.Tensor) -> Any:
    return ttnn.from_torch(tensor, layout=ttnn.TILE_LAYOUT, device=device)


@pytest.mark.parametrize("name", [*UNARY, *WITH_PARAMETERS])
def test_of_one_tensor(name: str, ttnn: Any, device: Any) -> None:
    function, options = (UNARY[name], {}) if name in UNARY else WITH_PARAMETERS[name]
    grad, x = drawn(1), drawn(2)
    (result,) = getattr(ttnn, f"{name}_bw")(put(ttnn, device, grad), put(ttnn, device, x), **options)
    torch.testing.assert_close(ttnn.to_torch(result), expected(function, grad, x)[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", BINARY)
def test_of_two_tensors(name: str, ttnn: Any, device: Any) -> None:
    grad, a, b = drawn(1), drawn(2), drawn(3)
    results = getattr(ttnn, f"{name}_bw")(*(put(ttnn, device, each) for each in (grad, a, b)))
    for result, right in zip(results, expected(BINARY[name], grad, a, b), strict=True):
        torch.testing.assert_close(ttnn.to_torch(result), right, rtol=1e-3, atol=1e-4)


def test_only_required_gradients_are_computed_and_written(ttnn: Any, device: Any) -> None:
    grad, a, b = (put(ttnn, device, drawn(seed)) for seed in range(3))
    target = ttnn.zeros_like(a)
    first, second = ttnn.mul_bw(grad, a, b, are_required_outputs=[True, False], input_grad=target)
    assert (first is target, second) == (True, None)
    torch.testing.assert_close(ttnn.to_torch(target), drawn(0) * drawn(2))
    with pytest.raises(RuntimeError, match="Atleast one gradient"):
        ttnn.mul_bw(grad, a, b, are_required_outputs=[False, False])


def test_of_products_repeats_and_concatenations(ttnn: Any, device: Any) -> None:
    x, grad = drawn(1), drawn(2)[..., :1]
    (result,) = ttnn.prod_bw(put(ttnn, device, grad), put(ttnn, device, x), dim=-1)
    torch.testing.assert_close(ttnn.to_torch(result), expected(lambda x: x.prod(-1, keepdim=True), grad, x)[0])
    (result,) = ttnn.repeat_bw(put(ttnn, device, drawn(3).repeat(2, 1, 1, 1)), put(ttnn, device, x), [2, 1, 1, 1])
    torch.testing.assert_close(ttnn.to_torch(result), 2 * drawn(3))
    parts = ttnn.concat_bw(put(ttnn, device, torch.cat([x, drawn(3)], 2)), *[put(ttnn, device, x)] * 2, 2)
    assert [torch.equal(ttnn.to_torch(part), each) for part, each in zip(parts, (x, drawn(3)), strict=True)] == [
        True
    ] * 2


def test_of_complex_tensors(ttnn: Any, device: Any) -> None:
    numbers = [torch.complex(drawn(seed), drawn(seed + 10)) for seed in range(3)]
    grad, a, b = (ttnn.complex_tensor(put(ttnn, device, x.real), put(ttnn, device, x.imag)) for x in numbers)

    def close(result: Any, right: torch.Tensor) -> None:
        torch.testing.assert_close(torch.complex(*map(ttnn.to_torch, (result.real, result.imag))), right)

    close(ttnn.multiply(a, b), numbers[1] * numbers[2])
    close(ttnn.divide(a, b), numbers[1] / numbers[2])
    torch.testing.assert_close(ttnn.to_torch(ttnn.abs(a, memory_config=None)), numbers[1].abs())
    for result, right in zip(ttnn.div_bw(grad, a, b), expected(torch.div, *numbers), strict=True):
        close(result, right)
    close(ttnn.reciprocal_bw(grad, a, memory_config=None)[0], expected(torch.reciprocal, *numbers[:2])[0])
