"""Ops without a lowering run on the host between programs, and are counted."""

from __future__ import annotations

import pytest
import torch

from tt_xla.frontends.torch import backend, host_ops
from tt_xla.frontends.torch.device import buffer_of
from tt_xla.frontends.torch.stages import Inputs, on_host
from tt_xla.log import logger


@pytest.fixture(autouse=True)
def fresh_counts():
    host_ops.reset()
    yield
    host_ops.reset()


def test_counts_by_name_and_logs_the_first_run(monkeypatch):
    messages = []
    monkeypatch.setattr(logger(), "warning", lambda text, *values: messages.append(text % values))
    for _ in range(3):
        host_ops.record("aten.linalg_qr.default", location="model.py:7")
    host_ops.record("aten.nonzero.default")
    assert host_ops.counts() == {"aten.linalg_qr.default": 3, "aten.nonzero.default": 1}
    assert messages == [
        "aten.linalg_qr.default has no lowering to the device and runs on the host (called at model.py:7).",
        "aten.nonzero.default has no lowering to the device and runs on the host.",
    ]


def orthogonal(x):
    q, r = torch.linalg.qr(x.sin() @ x)
    return (2 * q).relu(), x.cos(), r + x.sin(), x.view(-1)


@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_a_host_op_between_two_programs(on_jax, device):
    x = torch.randn(4, 4)
    for _ in range(2):
        results = torch.compile(orthogonal, backend="tt")(x.to(device))
        for got, expected in zip(results, orthogonal(x), strict=True):
            assert got.device.type == device
            torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-5)
    assert len(on_jax) == 2
    assert host_ops.counts() == {"aten.linalg_qr.default": 2}


def test_gradients_through_a_host_op(on_jax):
    def loss(x):
        return (torch.linalg.qr(x @ x.T + 3).Q ** 2 * torch.arange(4)).sum()

    x = torch.randn(4, 4, requires_grad=True)
    (expected,) = torch.autograd.grad(loss(x), x)
    (got,) = torch.autograd.grad(torch.compile(loss, backend="tt")(x), x)
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)


def test_a_rule_that_refuses_leaves_its_op_to_the_host(on_jax):
    def function(x):
        return torch.nn.functional.adaptive_max_pool2d(x + 1, 3) * 2

    x = torch.randn(1, 2, 7, 7)
    torch.testing.assert_close(torch.compile(function, backend="tt")(x), function(x))
    assert len(on_jax) == 2
    assert list(host_ops.counts()) == ["aten.adaptive_max_pool2d.default"]


def test_one_lowering_finds_all_refused_uses(on_jax, monkeypatch):
    def function(x):
        for _ in range(4):
            x = torch.nn.functional.adaptive_max_pool2d(x + 1, 3).repeat(1, 1, 3, 3)[..., :7, :7]
        return x * 2

    lowerings = []
    lower = backend.lower_to_stablehlo
    monkeypatch.setattr(backend, "lower_to_stablehlo", lambda *args: lowerings.append(args) or lower(*args))
    x = torch.randn(1, 2, 7, 7)
    torch.testing.assert_close(torch.compile(function, backend="tt")(x), function(x))
    assert host_ops.counts() == {"aten.adaptive_max_pool2d.default": 4}
    assert len(lowerings) == 1 + len(on_jax)


def test_an_error_of_a_host_op_says_which_and_where(on_jax):
    def function(x):
        return torch.linalg.cholesky(x.abs() - 9)  # the line that the note names

    with pytest.raises(torch.linalg.LinAlgError) as caught:
        torch.compile(function, backend="tt")(torch.ones(2, 2))
    (note,) = caught.value.__notes__
    assert "_linalg_check_errors" in note
    assert f"test_host_ops.py:{function.__code__.co_firstlineno + 1}" in note


def test_an_op_that_pytorch_refuses_has_not_run_on_the_host():
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.ones(2, device="tt").flip(1)
    assert host_ops.counts() == {}


def test_a_composite_that_a_host_op_falls_into_becomes_plain_ops(on_jax):
    from tt_xla.frontends.torch.graph.marks import StableHLOCompositeBuilder

    def function(x):
        builder = StableHLOCompositeBuilder("mine.op")
        x = builder.mark_inputs(x)
        return builder.mark_outputs(torch.linalg.qr(x * 2).R + 1)

    x = torch.randn(3, 3)
    torch.testing.assert_close(torch.compile(function, backend="tt")(x), torch.linalg.qr(x * 2).R + 1)
    assert not any("composite" in str(module) for module, _ in on_jax)


def test_sizes_that_values_decide_stay_on_the_host(on_jax):
    def function(x):
        return torch.nonzero(x * 2 > 2).sum() + 1

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        got = torch.compile(function, backend="tt", fullgraph=True)(torch.arange(5))
    assert got == 10
    assert "aten.nonzero.default" in host_ops.counts()


def test_results_that_lie_in_inputs_are_found_without_a_look_at_their_bytes():
    pending, on_cpu = torch.ones(4).to("tt") + 1, torch.ones(4)
    inputs = Inputs([pending, on_cpu, 3])
    assert buffer_of(pending).pending
    assert not inputs.own(torch.ones(4))
    assert [inputs.own(on_cpu[2:]), inputs.own(on_host(pending)[1:])] == [True, True]
    assert not buffer_of(pending).pending


def test_shapes_that_pytorch_infers_by_a_run_are_inferred_on_the_device():
    """PyTorch has no rule for this op's shapes, and runs it on zeros made like the fake tensors."""
    x = torch.randn(1, 1, 4, 4, 4, device="tt")
    results, positions = torch.nn.functional.fractional_max_pool3d_with_indices(
        x, 2, output_size=2, _random_samples=torch.full((1, 1, 3), 0.5, device="tt")
    )
    with torch._subclasses.FakeTensorMode() as mode:
        grad, fake, indices = (mode.from_tensor(tensor) for tensor in (results, x, positions))
        got = torch.ops.aten.fractional_max_pool3d_backward(grad, fake, [2, 2, 2], [2, 2, 2], indices)
    assert (got.shape, got.dtype, got.device) == (x.shape, x.dtype, x.device)


def test_an_op_whose_shapes_pytorch_cannot_infer_is_run_once(on_jax, monkeypatch):
    """PyTorch would run it on the device to see its results, which would ask for them again."""
    asked = []
    record = host_ops.record
    monkeypatch.setattr(host_ops, "record", lambda *args, **kwargs: asked.append(args[0]) or record(*args, **kwargs))
    scores, labels = torch.arange(12.0).sin().reshape(3, 4), torch.tensor([[2, 0, -1, 1]] * 3)
    gradients = []
    for device in ("cpu", "tt"):
        x = scores.to(device).detach().requires_grad_()
        torch.nn.functional.multilabel_margin_loss(x, labels.to(device)).backward()
        gradients.append(x.grad.cpu())
    torch.testing.assert_close(*gradients)
    assert asked == ["aten.multilabel_margin_loss_backward.default"]
