"""Element types of single weights, from a model's parameters to the device's copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_xla
from torch import nn

import tt_torch
from tests.closeness import relative_error
from tt_xla.errors import OptionError
from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.runtime.emulator.formats import quantize
from tt_xla.testing import pcc


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 32, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net().to(torch.bfloat16).eval()


X = torch.randn(32, 64, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)


def run(net: nn.Module, options: dict[str, Any] | None = None) -> tuple[torch.Tensor, list[str]]:
    """Returns the result, and the element type of the right operand of each product, in order."""
    torch._dynamo.reset()
    with torch.no_grad():
        result = torch.compile(net, backend="tt", options={"numerics": "exact", **(options or {})})(X)
    (function, *_) = compiled_programs()[-1].functions
    products = [step for step in function.body if step.op in ("ttnn.matmul", "ttnn.linear")]
    return result, [str(function.values[step.operands["b"]].layout.dtype) for step in products]


def test_a_weight_has_the_type_that_was_said(net: Net):
    expected = net(X)
    assert tt_torch.apply_weight_dtype_overrides(net, {"first.weight": "bfp_bf4"}) == [("first.weight", "bfp_bf4")]
    result, types = run(net)
    assert types == ["bfp_bf4", "bf16"]
    rounded = quantize(net.first.parametrizations.weight.original.detach(), "bfp_bf4")  # the product transposes it
    with torch.no_grad():
        reference = net.second(torch.relu(X @ rounded.to(torch.bfloat16).T + net.first.bias))
    assert relative_error(result, reference) < 2**-8  # three roundings to 8 significant bits; bfp_bf4 alone errs by 8 %
    assert (result - expected).abs().max() > 0.02


def test_what_a_weight_says_goes_before_the_option(net: Net):
    tt_torch.apply_weight_dtype_overrides(net, {"default": "bfp_bf4", "second.*": "bf16"})
    assert run(net, {"experimental_weight_dtype": "bfp_bf8"})[1] == ["bfp_bf4", "bf16"]
    assert tt_torch.remove_weight_dtype_overrides(net) == 2
    assert run(net, {"experimental_weight_dtype": "bfp_bf8"})[1] == ["bfp_bf8", "bfp_bf8"]
    assert run(net)[1] == ["bf16", "bf16"]


def test_weights_that_are_joined_have_the_most_precise_type():
    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key = nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.query(x) * self.key(x)

    heads = Heads().to(torch.bfloat16).eval()
    tt_torch.apply_weight_dtype_overrides(heads, {"query.weight": "bfp_bf4", "key.weight": "bfp_bf8"})
    types = run(heads, {"optimization_level": 1})[1]
    assert types in (["bfp_bf8"], ["bfp_bf4", "bfp_bf8"])


def test_training_goes_through_the_override(net: Net):
    tt_torch.apply_weight_dtype_overrides(net, "bfp_bf8")
    torch._dynamo.reset()
    torch.compile(net, backend="tt")(X).float().square().mean().backward()
    gradient = net.first.parametrizations.weight.original.grad
    assert gradient is not None
    assert gradient.abs().max() > 0


def test_on_the_device_without_compile(net: Net):
    expected = net(X)
    tt_torch.apply_weight_dtype_overrides(net, "bfp_bf8")
    with torch.no_grad():
        result = net.to("tt")(X.to("tt")).cpu()
    assert pcc(result, expected) > 0.999


def test_configs(net: Net, tmp_path: Path):
    template = tt_torch.dump_weight_names(net, "maker/net", str(tmp_path), "bfp_bf4")
    assert template == {"first.weight": "bfp_bf4", "second.weight": "bfp_bf4"}
    assert json.loads((tmp_path / "net.json").read_text()) == template
    assert tt_torch.apply_weight_dtype_overrides(net, tmp_path / "net.json") == list(template.items())
    with pytest.warns(UserWarning, match=r"'frist.weight' did not match.*first.weight"):
        assert tt_torch.apply_weight_dtype_overrides(Net(), {"frist.weight": "bf16"}) == []
    with pytest.raises(OptionError, match=r"'second.weight' was given the weight element type 'int4'"):
        tt_torch.apply_weight_dtype_overrides(Net(), {"second.weight": "int4"})
    with pytest.raises(ValueError, match="config must be a dict"):
        tt_torch.apply_weight_dtype_overrides(Net(), "int4")


class Upscaled(nn.Module):
    """A network of bfloat16 whose image is resized by float32 matrices that are no weights of it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.interpolate(self.layer(x), scale_factor=2, mode="bilinear")


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("dtype", ["bfp_bf8", "bfp_bf4"])
def test_matrices_that_resize_are_no_weights(dtype: str, compiled: bool):
    torch.manual_seed(0)
    model = Upscaled().to(torch.bfloat16).eval()
    image = torch.randn(1, 3, 16, 16).to(torch.bfloat16)
    with torch.no_grad():
        expected = model(image)
    model.to("tt")
    torch_xla.set_custom_compile_options({"experimental_weight_dtype": dtype})
    try:
        torch._dynamo.reset()
        with torch.no_grad():
            result = (torch.compile(model, backend="tt") if compiled else model)(image.to("tt")).cpu()
    finally:
        torch_xla.set_custom_compile_options({})
    assert relative_error(result, expected) < 0.1  # bfp_bf4 has 3 bits of magnitude


def test_a_product_that_a_bfloat16_model_computes_in_float32_keeps_its_weight():
    class Router(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.up = nn.Linear(64, 8, bias=False), nn.Linear(64, 64, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(self.up(x).float(), self.gate.weight.float())

    types = run(Router().to(torch.bfloat16).eval(), {"experimental_weight_dtype": "bfp_bf8"})[1]
    assert types == ["bfp_bf8", "f32"]
