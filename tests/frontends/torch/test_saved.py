"""Gradients of convolutional networks: indices of pooling, and activations that stay channels last between passes."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from tt_xla.frontends.torch.backend import clear_programs, compiled_programs


@pytest.fixture(autouse=True)
def _fresh():
    torch.compiler.reset()
    clear_programs()
    yield
    torch.compiler.reset()


def gradients(model, x, where):
    model, x = copy.deepcopy(model).to(where), x.detach().to(where, copy=True)
    call = torch.compile(model, backend="tt") if where == "tt" else model
    x.requires_grad_()
    result = call(x)
    result.float().square().mean().backward()
    return [result.detach().cpu(), *(tensor.grad.cpu() for tensor in (x, *model.parameters()))]


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3, bias=False), nn.GELU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3)
    )


@pytest.mark.parametrize("where", ["tt", "cpu"])
def test_gradients_are_the_cpus(where):
    model, x = network(), torch.randn(2, 2, 16, 18)
    expected = gradients(model, x, "cpu")
    if where == "cpu":  # CPU tensors, compiled for tt
        call = torch.compile(model, backend="tt", options={"numerics": "exact"})
        leaf = x.clone().requires_grad_()
        result = call(leaf)
        result.square().mean().backward()
        got = [result.detach(), *(tensor.grad for tensor in (leaf, *model.parameters()))]
        tolerance = 1e-4
    else:
        got, tolerance = gradients(model, x, "tt"), 0.05
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance * float(other.abs().max()))


def test_activations_between_forward_and_backward_stay_channels_last():
    gradients(network().bfloat16(), torch.randn(2, 2, 16, 18).bfloat16(), "tt")
    programs = compiled_programs()
    (forward,) = [p for p in programs if any(step.op == "ttnn.max_pool2d_with_indices" for step in p.functions[0].body)]
    (backward,) = [p for p in programs if "tangents_1" in [argument.name for argument in p.arguments]]
    permutes = [step for step in forward.functions[0].body if step.op == "ttnn.permute"]
    assert len(permutes) <= 2  # the image, and the user's result
    saved_shapes = [result.shape for result in forward.results if len(result.shape) == 4]
    assert (2, 14, 16, 8) in saved_shapes
    assert (2, 8, 14, 16) not in saved_shapes
    argument_shapes = [tuple(argument.shape) for argument in backward.arguments]
    assert (2, 14, 16, 8) in argument_shapes


def test_an_activation_that_the_user_gets_too_keeps_its_strides():
    class Shown(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(2, 8, 3), nn.Conv2d(8, 4, 3)

        def forward(self, x):
            middle = torch.relu(self.first(x))
            return self.second(middle), middle

    model, x = Shown().to("tt"), torch.randn(2, 2, 8, 8).to("tt")
    result, middle = torch.compile(model, backend="tt")(x)
    assert middle.stride() == (288, 36, 6, 1)
    (result.sum() + middle.sum()).backward()
    torch.testing.assert_close(model.first.bias.grad.cpu(), _bias_gradient(model, x), rtol=0.02, atol=0.02)


def _bias_gradient(model, x):
    other = copy.deepcopy(model).cpu()
    result, middle = other(x.cpu())
    other.zero_grad()
    (result.sum() + middle.sum()).backward()
    return other.first.bias.grad


def test_channels_last_inputs_go_in_as_they_lie():
    conv = nn.Conv2d(3, 4, 3).to("tt")
    x = torch.randn(2, 3, 8, 6).to(memory_format=torch.channels_last).to("tt")
    with torch.no_grad():
        got = torch.compile(conv, backend="tt")(x)
    torch.testing.assert_close(got.cpu(), F.conv2d(x.cpu(), conv.weight.cpu(), conv.bias.cpu()), rtol=0.01, atol=0.01)
    (program,) = compiled_programs()
    assert (2, 8, 6, 3) in [tuple(argument.shape) for argument in program.arguments]
    permutes = [step for step in program.functions[0].body if step.op == "ttnn.permute"]
    assert [program.functions[0].values[step.results[0]].shape for step in permutes] == [
        (2, 4, 6, 4)
    ]  # the user's result


POOLINGS = {
    "apart": {"kernel_size": 2},
    "rows": {"kernel_size": (2, 1)},
    "overlapping": {"kernel_size": 3, "stride": 2, "padding": 1},
    "ceil": {"kernel_size": 2, "ceil_mode": True},
    "edge": {"kernel_size": 3},
    "dilated": {"kernel_size": 2, "stride": 1, "dilation": 2},
    "large": {"kernel_size": 5},
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", POOLINGS)
@pytest.mark.parametrize("width", [11, 300])
def test_pooling_gives_its_gradient_to_the_first_greatest(name, width):
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 4, (2, 3, 9, width), generator=generator).bfloat16()  # many elements are equal
    weight = torch.randn(x.shape, generator=generator).bfloat16()

    def both(tensor):
        values, positions = F.max_pool2d(tensor, return_indices=True, **POOLINGS[name])
        loss = (values * weight.to(values.device)[..., : values.shape[-2], : values.shape[-1]]).sum()
        return values, positions, loss

    results = []
    for where, function in (("cpu", both), ("tt", torch.compile(both, backend="tt"))):
        leaf = x.to(where, copy=True).requires_grad_()
        values, positions, loss = function(leaf)
        loss.backward()
        results.append([values.detach().cpu(), positions.cpu(), leaf.grad.cpu()])
    for got, expected in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(got, expected, rtol=0.02, atol=0.02)
    ops = {step.op for program in compiled_programs() for step in program.functions[0].body}
    assert "ttnn.max_pool2d_with_indices" in ops
