"""Fused optimizers and the gradient scaler compared with the CPU; none of their ops runs on the host."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn, optim

from tt_xla.frontends.torch import host_ops

aten = torch.ops.aten

CASES = [
    (optim.Adam, {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    (optim.AdamW, {"lr": 0.01, "maximize": True}),
    (optim.SGD, {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.SGD, {"lr": 0.01}),
    (optim.Adagrad, {"lr": 0.01, "lr_decay": 0.1, "weight_decay": 0.1}),
]


@pytest.fixture(autouse=True)
def _nothing_on_the_host(exact):
    torch.compiler.reset()
    before = host_ops.counts()
    yield
    assert host_ops.counts() == before


def _trained(model, device, kind, options, *, compiled=False):
    model = copy.deepcopy(model).to(device)
    optimizer = kind(model.parameters(), fused=True, **options)
    step = torch.compile(optimizer.step, backend="tt") if compiled else optimizer.step
    x = torch.linspace(-1, 1, 8).view(2, 4).to(device)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_fused_optimizers_step_as_on_the_cpu(kind, options):
    model = nn.Linear(4, 4)
    expected = _trained(model, "cpu", kind, options)
    for result, reference in zip(_trained(model, "tt", kind, options), expected, strict=True):
        torch.testing.assert_close(result, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # dynamo reads attributes of torch.jit
def test_a_fused_optimizer_in_a_compiled_step():
    model, options = nn.Linear(4, 4), {"lr": 0.01}
    expected = _trained(model, "cpu", optim.AdamW, options)
    for result, reference in zip(_trained(model, "tt", optim.AdamW, options, compiled=True), expected, strict=True):
        torch.testing.assert_close(result, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("infinite", [False, True])
def test_a_step_with_infinite_gradients_changes_nothing(infinite):
    results = []
    for device in ("cpu", "tt"):
        param, average, square = (torch.full((3,), value, device=device) for value in (1.0, 0.5, 0.25))
        grad = torch.tensor([2.0, 4.0, 8.0], device=device)
        aten._fused_adam_(
            [param], [grad], [average], [square], [], [torch.tensor(2.0, device=device)],
            lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
            grad_scale=torch.tensor(2.0, device=device), found_inf=torch.tensor(float(infinite), device=device),
        )  # fmt: skip
        results.append([tensor.cpu() for tensor in (param, average, square)])
    for result, reference in zip(*results, strict=True):
        torch.testing.assert_close(result, reference, rtol=1e-5, atol=1e-6)
    assert torch.equal(results[1][0], torch.ones(3)) == infinite


@pytest.mark.parametrize(("found_inf", "tracker"), [(0.0, 0), (0.0, 1), (1.0, 1)])
def test_the_scale_grows_and_falls(found_inf, tracker):
    results = []
    for device in ("cpu", "tt"):
        scale, count = torch.tensor(8.0, device=device), torch.tensor(tracker, dtype=torch.int32, device=device)
        returned = aten._amp_update_scale_(scale, count, torch.tensor(found_inf, device=device), 2.0, 0.5, 2)
        assert returned is scale
        results.append((scale.item(), count.item()))
    assert results[0] == results[1]


@pytest.mark.parametrize("value", [3.0, float("inf"), float("nan")])
def test_unscaling_finds_what_is_not_finite(value):
    gradients = [torch.tensor([2.0, value], device="tt"), torch.ones(2, device="tt")]
    found_inf = torch.zeros(1, device="tt")
    aten._amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, torch.tensor([0.5], device="tt"))
    assert found_inf.item() == float(value != 3.0)
    assert gradients[0][0].item() == 1.0
    assert gradients[1].tolist() == [0.5, 0.5]
