"""Control flow on the device, and random ops that a checkpoint runs twice."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.scan import scan
from torch.utils.checkpoint import checkpoint

from tt_xla.frontends.torch import host_ops


@pytest.fixture(autouse=True)
def _nothing_on_the_host():
    torch.compiler.reset()
    before = host_ops.counts()
    yield
    assert host_ops.counts() == before


def test_a_branch_is_chosen_on_the_device():
    def f(x, y):
        return torch.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x * 2 - y, (x, y))

    compiled = torch.compile(f, backend="tt", fullgraph=True)
    for sign in (1.0, -1.0):
        x, y = torch.full((3,), sign), torch.arange(3.0)
        assert torch.equal(compiled(x.to("tt"), y.to("tt")).cpu(), f(x, y))


def test_a_loop_runs_until_its_condition_fails():
    def f(i, x, step):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + step), (i, x))

    i, x, step = torch.tensor(2), torch.ones(3), torch.arange(3.0)
    expected = f(i, x, step)
    results = torch.compile(f, backend="tt", fullgraph=True)(i.to("tt"), x.to("tt"), step.to("tt"))
    assert [value.cpu().tolist() for value in results] == [value.tolist() for value in expected]


def test_a_scan_carries_and_stacks():
    def f(x):
        return scan(lambda carry, row: (carry + row, carry * row), torch.ones(3, device=x.device), x)

    x = torch.arange(12.0).view(4, 3)
    expected = [torch.ones(3) + x.sum(0), torch.stack([(1 + x[:i].sum(0)) * x[i] for i in range(4)])]
    results = torch.compile(f, backend="tt", fullgraph=True)(x.to("tt"))
    for result, value in zip(results, expected, strict=True):
        torch.testing.assert_close(result.cpu(), value)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_checkpoint_drops_the_same_elements_again(compiled):
    torch.manual_seed(0)
    linear = nn.Linear(8, 16, bias=False).to("tt")

    def f(x):
        return checkpoint(lambda x: torch.relu(torch.dropout(linear(x), 0.5, True)), x, use_reentrant=False)

    x = torch.randn(4, 8).to("tt").requires_grad_()
    y = (torch.compile(f, backend="tt") if compiled else f)(x)
    y.sum().backward()
    passed = (y.detach().cpu() > 0).float() * 2
    assert 0 < passed.count_nonzero() < passed.numel()
    torch.testing.assert_close(x.grad.cpu(), passed @ linear.weight.detach().cpu(), rtol=2e-2, atol=2e-2)


def test_control_flow_under_autocast():
    def f(x):
        with torch.autocast("tt", dtype=torch.bfloat16):
            return torch.cond(x.sum() > 0, lambda t: t @ t, lambda t: t @ -t, (x,))

    x = torch.eye(4)
    result = torch.compile(f, backend="tt")(x.to("tt"))
    torch.testing.assert_close(result.cpu().float(), x)
