"""Functions of tensors whose sizes are symbols: one program serves all sizes, with the CPU's values and gradients."""

from __future__ import annotations

import logging

import pytest
import torch
import torch.nn.functional as F

from tt_xla.frontends.torch import symbolic
from tt_xla.frontends.torch.backend import clear_programs, compiled_programs
from tt_xla.frontends.torch.private.fake import new_symbol, symbolic_mode

KERNEL = torch.nn.Parameter(torch.linspace(-1, 1, 108).view(4, 3, 3, 3), requires_grad=False)
TABLE = torch.nn.Parameter(torch.linspace(-1, 1, 400).view(40, 10), requires_grad=False)


def _rotated(x):
    angles = torch.arange(x.shape[1], device=x.device)[:, None] * torch.tensor([1.0, 0.1, 0.01], device=x.device)
    left, right = x.chunk(2, -1)
    return torch.cat([left * angles.cos() - right * angles.sin(), left * angles.sin() + right * angles.cos()], -1)


def _blocks(x):
    return F.pad(x, (0, 0, 0, -x.shape[1] % 8)).unflatten(1, (-1, 8)).mean(2)


def _unshuffled(x):
    return F.pixel_unshuffle(F.pad(x, (0, x.shape[-1] % 2, 0, x.shape[-2] % 2)), 2)


def _unpooled(x):
    maxima, positions = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(maxima, positions, 2, output_size=x.shape[-2:])


def _written(x):
    result = x.clone()
    result[:, :, 1:3] = 0
    result[:, 0] = x[:, 1]
    result[..., -1] = 5
    return result


IMAGES = {
    "nearest pixels": lambda x: F.interpolate(x, scale_factor=2),
    "linear between corners": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True),
    "areas": lambda x: F.interpolate(x, scale_factor=0.5, mode="area"),
    "back to its size": lambda x: F.interpolate(F.max_pool2d(x, 2), size=x.shape[-2:], mode="bilinear"),
    "averages of unequal windows": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "the greatest of all": lambda x: F.adaptive_max_pool2d(x, 1),
    "maxima and positions": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "maxima with ceil_mode": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    "averages with ceil_mode": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "averages without padding": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "unpooling": _unpooled,
    "circular padding": lambda x: F.pad(x, (1, 2, 1, 1), mode="circular"),
    "dilated convolution": lambda x: F.conv2d(x, KERNEL.to(x.device), padding=2, dilation=2),
    "depthwise convolution": lambda x: F.conv2d(x, KERNEL[:3, :1].to(x.device), padding=1, groups=3),
    "pixels to channels": _unshuffled,
    "rolled": lambda x: x.roll((-2, -1), (2, 3)),
    "variances": lambda x: torch.var_mean(x, dim=(2, 3)),
    "sorted": lambda x: x.flatten(2).sort(-1, descending=True)[0],
    "running sums": lambda x: x.cumsum(-1),
    "running products": lambda x: (1 + x * 0.1).cumprod(2),
    "running maxima": lambda x: x.cummax(-1)[0],
    "assigned slices": _written,
    "a slice of the last": lambda x: x[:, :, -1:, 1::3] * 2,
}
SEQUENCES = {
    "rotated": _rotated,
    "blocks of eight": _blocks,
    "positions": lambda x: (x[..., 0] > 0).long().cumsum(-1),
    "signs of zeros": lambda x: torch.copysign(x, (x * 0).flip(1)),
    "rows of a table": lambda x: x.transpose(1, 2) @ TABLE.to(x.device)[40 - x.shape[1] :, : x.shape[1] // 3],
    "two parts": lambda x: x.chunk(2, 1),
}


def _tensors(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def _values(function, x, device):
    return [value.cpu() for value in _tensors(function(x.to(device)))]


def _gradient(function, x, device):
    there = x.to(device).requires_grad_()
    results = [value for value in _tensors(function(there)) if value.requires_grad]
    if not results:
        return []
    weights = [torch.linspace(-1, 1, value.numel()).view(value.shape).to(device) for value in results]
    return [gradient.cpu() for gradient in torch.autograd.grad(results, [there], weights)]


@pytest.mark.parametrize("judged", [_values, _gradient], ids=["values", "gradients"])
@pytest.mark.parametrize("name", [*IMAGES, *SEQUENCES])
def test_one_program_serves_all_sizes(name, judged, monkeypatch, caplog):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    monkeypatch.setenv("TTXLA_NUMERICS", "exact")
    caplog.set_level(logging.INFO, "tt_xla")
    torch.manual_seed(0)
    function = IMAGES.get(name) or SEQUENCES[name]
    shapes = [(2, 3, 12, 14), (2, 3, 10, 20), (2, 3, 9, 11)] if name in IMAGES else [(2, 24, 6), (2, 30, 6), (2, 21, 6)]
    torch.compiler.reset()
    compiled = torch.compile(function, backend="tt", dynamic=True)
    clear_programs()
    for shape in shapes:
        x = torch.randn(shape)
        torch.testing.assert_close(judged(compiled, x, "tt"), judged(function, x, "cpu"), rtol=2e-3, atol=2e-3)
    assert "for each of them" not in caplog.text
    assert len(compiled_programs()) <= 6  # several for a gradient that reads a value


def test_outputs_that_are_views_have_the_strides_and_the_memory_of_eager_mode(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")

    def function(x):
        doubled = x * 2
        return x.expand(3, *x.shape), *x.chunk(2), x.t()[1:], doubled, doubled.t(), doubled.view(-1)[3:]

    torch.compiler.reset()
    compiled = torch.compile(function, backend="tt", dynamic=True)
    for shape in (5, 10), (7, 4), (2, 33):
        x = torch.randn(shape)
        there = x.to("tt")
        expected, results = function(x), compiled(there)
        for result, value in zip(results, expected, strict=True):
            assert torch.equal(result.cpu(), value)
            assert (result.stride(), result.storage_offset()) == (value.stride(), value.storage_offset())
        results[1].zero_()
        assert not there[: -(-shape[0] // 2)].any()
        results[6].fill_(7)
        assert (results[4].flatten()[3:] == 7).all()


def test_an_output_may_have_a_size_that_the_program_does_not_know(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    torch.compiler.reset()
    compiled = torch.compile(lambda x, count: x.narrow(1, 2, count), backend="tt", dynamic=True)
    x = torch.randn(3, 40)
    for count in 5, 9, 30:
        assert torch.equal(compiled(x.to("tt"), count).cpu(), x[:, 2 : 2 + count])
    x = torch.randn(7, 3, 10, dtype=torch.complex64)[1:, :, ::2]
    assert torch.equal(compiled(x.to("tt"), 1).cpu(), x[:, 2:3])


def test_a_condition_that_a_size_does_not_fulfil_compiles_again(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")

    def function(x):
        return x.unflatten(0, (-1, 4)).sum(1) if x.shape[0] % 4 == 0 else x[:3] * x[-3:]

    torch.compiler.reset()
    compiled = torch.compile(function, backend="tt", dynamic=True)
    for size in (8, 12, 9, 3, 20, 16, 7):
        x = torch.randn(size, 5)
        torch.testing.assert_close(compiled(x.to("tt")).cpu(), function(x), rtol=2e-2, atol=2e-2)


def test_a_host_op_between_symbolic_sizes_has_gradients(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    monkeypatch.setenv("TTXLA_NUMERICS", "exact")

    def function(x):
        return torch.linalg.solve(x @ x.transpose(1, 2) + 30 * torch.eye(x.shape[1], device=x.device), x)

    torch.compiler.reset()
    compiled = torch.compile(function, backend="tt", dynamic=True)
    for shape in (2, 5, 3), (3, 7, 4):
        x = torch.randn(shape)
        torch.testing.assert_close(_gradient(compiled, x, "tt"), _gradient(function, x, "cpu"), rtol=1e-3, atol=1e-3)


def test_a_fact_that_holds_for_the_traced_size_alone_becomes_a_guard():
    mode = symbolic_mode()
    size = new_symbol(mode, 8)
    facts, name = symbolic.Facts([size]), str(size.node.expr)
    assert not facts.settle(symbolic.UndecidedError("", name, ">=", 9))
    assert not mode.shape_env.guards
    assert facts.settle(symbolic.UndecidedError("", name, ">", 5))
    assert [str(guard.expr) for guard in mode.shape_env.guards] in ([f"{name} > 5"], [f"5 < {name}"])
    assert facts.constraints == [f"{name} >= 5 + 1"]
    assert not facts.settle(symbolic.UndecidedError("", name, ">", 5))  # it did not help
    assert not facts.settle(symbolic.UndecidedError("", "unknown", ">", 5))
    mode.shape_env.freeze()
    assert not facts.settle(symbolic.UndecidedError("", name, ">", 6))
